import { Body, Controller, Post } from '@nestjs/common'
import { IdempotentWebhook, WebhookTransaction } from 'nestjs-webhook-idempotency'
import type { CreditEvent } from './credits.js'
import { credit } from './credits.js'
import type { Transaction } from './prisma.service.js'

@Controller('stripe')
export class StripeController {
  @Post()
  @IdempotentWebhook('stripe')
  async receive(@Body() event: CreditEvent, @WebhookTransaction() tx: Transaction) {
    await credit(tx, 'stripe', event)
  }
}
