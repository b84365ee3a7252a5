import type { DynamicModule } from '@nestjs/common'
import { Body, Controller, Module, Post } from '@nestjs/common'
import {
  IdempotentWebhook,
  WebhookContext,
  WebhookIdempotencyModule,
  WebhookTransaction,
} from 'nestjs-webhook-idempotency'
import type { Prisma } from '../../prisma/generated/client.js'
import type { ApplicationConfig } from '../harness/application-process.js'
import type { BenchBatch, BenchEvent } from '../harness/bench-event.js'
import { SOURCE } from '../harness/bench-event.js'
import { applyEvent, applyEvents, BenchPrisma, prismaOf } from './bench-prisma.js'

@Controller()
class EventsController {
  @Post('events')
  @IdempotentWebhook({ source: SOURCE })
  async event(@Body() event: BenchEvent, @WebhookTransaction() tx: Prisma.TransactionClient): Promise<void> {
    await applyEvent(tx, event)
  }

  @Post('batches')
  @IdempotentWebhook({ source: `${SOURCE}-batches`, events: ({ body }) => eventsOf(body) })
  async batch(@WebhookContext() { tx, events }: WebhookContext<Prisma.TransactionClient>): Promise<void> {
    await applyEvents(
      tx,
      events.map(({ payload }) => payload),
    )
  }

  @Post('batches/each')
  @IdempotentWebhook({ source: `${SOURCE}-each`, each: true, events: ({ body }) => eventsOf(body) })
  async each(@WebhookContext() { tx, event }: WebhookContext<Prisma.TransactionClient>): Promise<void> {
    await applyEvent(tx, event.payload)
  }
}

function eventsOf({ events }: BenchBatch) {
  return events.map((event) => ({ id: event.id, type: event.type, payload: event }))
}

@Module({})
class OursModule {}

export function moduleOf(config: ApplicationConfig): DynamicModule {
  const claim = config.subject === 'ours-sql' ? 'sql' : 'createMany'
  return {
    module: OursModule,
    imports: [WebhookIdempotencyModule.forRoot({ prisma: BenchPrisma, claim })],
    controllers: [EventsController],
    providers: [prismaOf(config)],
  }
}
