import { Controller, Post } from '@nestjs/common'
import { IdempotentWebhook, WebhookContext } from 'nestjs-webhook-idempotency'
import type { CreditEvent } from './credits.js'
import { credit } from './credits.js'
import type { Transaction } from './prisma.service.js'

@Controller('batch')
export class BatchController {
  @Post()
  @IdempotentWebhook({
    source: 'batch',
    events: ({ body }) => body.map((event: CreditEvent) => ({ id: event.id, type: event.type, payload: event })),
  })
  async receive(@WebhookContext() { events, tx }: WebhookContext<Transaction, CreditEvent>) {
    for (const event of events) await credit(tx, 'batch', event.payload)
    return { applied: events.map(({ id }) => id) }
  }
}
