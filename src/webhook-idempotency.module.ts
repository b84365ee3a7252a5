import { Module } from '@nestjs/common'
import { DiscoveryModule } from '@nestjs/core'
import { EventProcessors } from './event-processors.service.js'
import { EventsInFlight } from './events-in-flight.service.js'
import { RESOLVED_OPTIONS, resolveOptions } from './resolved-options.js'
import { RetentionService } from './retention.service.js'
import { TableProbe } from './table-probe.service.js'
import { Telemetry } from './telemetry.service.js'
import { WebhookHandlers } from './webhook-handlers.service.js'
import { ConfigurableModuleClass, GIVEN_OPTIONS } from './webhook-idempotency.module-definition.js'
import { WebhookIdempotencyService } from './webhook-idempotency.service.js'
import { WebhookLog } from './webhook-log.js'

/**
 * Makes the effects of webhooks happen exactly once in an application that uses Prisma.
 *
 * @example
 * \@Module({ imports: [WebhookIdempotencyModule.forRoot({ prisma: PrismaService, retention: { days: 30 } })] })
 * export class AppModule {}
 */
@Module({
  imports: [DiscoveryModule],
  providers: [
    { provide: RESOLVED_OPTIONS, inject: [GIVEN_OPTIONS], useFactory: resolveOptions },
    WebhookLog,
    Telemetry,
    EventsInFlight,
    EventProcessors,
    WebhookHandlers,
    TableProbe,
    RetentionService,
    WebhookIdempotencyService,
  ],
  exports: [RESOLVED_OPTIONS, WebhookLog, EventsInFlight, WebhookHandlers, WebhookIdempotencyService],
})
export class WebhookIdempotencyModule extends ConfigurableModuleClass {}
