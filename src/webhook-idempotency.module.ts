import type { OnModuleInit } from '@nestjs/common'
import { Inject, Module } from '@nestjs/common'
import { DiscoveryModule, ModulesContainer } from '@nestjs/core'
import { followEvents } from './active-event.js'
import { EVENT_PROCESSORS, EventProcessors } from './event-processors.service.js'
import { EVENTS_IN_FLIGHT, EventsInFlight } from './events-in-flight.service.js'
import { isInjected } from './injection.js'
import { RESOLVED_OPTIONS, resolveOptions } from './resolved-options.js'
import { RetentionService } from './retention.service.js'
import { TableProbe } from './table-probe.service.js'
import { Telemetry } from './telemetry.service.js'
import { WEBHOOK_HANDLERS, WebhookHandlers } from './webhook-handlers.service.js'
import { ConfigurableModuleClass, GIVEN_OPTIONS } from './webhook-idempotency.module-definition.js'
import { WebhookIdempotencyService } from './webhook-idempotency.service.js'
import { WEBHOOK_LOG, WebhookLog } from './webhook-log.js'

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
    { provide: EVENT_PROCESSORS, useExisting: EventProcessors },
    { provide: WEBHOOK_LOG, useExisting: WebhookLog },
    { provide: EVENTS_IN_FLIGHT, useExisting: EventsInFlight },
    { provide: WEBHOOK_HANDLERS, useExisting: WebhookHandlers },
  ],
  exports: [RESOLVED_OPTIONS, WEBHOOK_LOG, EVENTS_IN_FLIGHT, WEBHOOK_HANDLERS, WebhookIdempotencyService],
})
export class WebhookIdempotencyModule extends ConfigurableModuleClass implements OnModuleInit {
  constructor(@Inject(ModulesContainer) private readonly modules: ModulesContainer) {
    super()
  }

  /** Whoever has the service may ask it for the event at hand, or process another one. */
  onModuleInit(): void {
    if (isInjected(this.modules, WebhookIdempotencyService)) followEvents()
  }
}
