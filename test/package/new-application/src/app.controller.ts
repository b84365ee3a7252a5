import { Body, Controller, Post } from '@nestjs/common'
import { IdempotentWebhook, WebhookTransaction } from 'nestjs-webhook-idempotency'
import type { Prisma } from './generated/prisma/client.js'

@Controller()
export class AppController {
  @Post('webhooks')
  @IdempotentWebhook({ source: 'corvel' })
  async receive(@Body() event: { id: string }, @WebhookTransaction() tx: Prisma.TransactionClient) {
    await tx.payment.create({ data: { eventId: event.id } })
    return { payments: await tx.payment.count() }
  }
}
