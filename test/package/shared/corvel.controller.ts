import { Body, Controller, Inject, Post } from '@nestjs/common'
import {
  IdempotentWebhook,
  PermanentWebhookError,
  WebhookContext,
  WebhookIdempotencyService,
  WebhookTransaction,
} from 'nestjs-webhook-idempotency'
import type { CreditEvent, Hold } from './credits.js'
import { credit, HOLD } from './credits.js'
import type { Transaction } from './prisma.service.js'

@Controller('corvel')
export class CorvelController {
  constructor(
    @Inject(HOLD) private readonly hold: Hold,
    // By its type alone, as most applications inject.
    private readonly webhooks: WebhookIdempotencyService,
  ) {}

  @Post()
  @IdempotentWebhook({ source: 'corvel' })
  async receive(@Body() event: CreditEvent, @WebhookTransaction() tx: Transaction) {
    await credit(tx, 'corvel', event)
    await this.hold(event.id)
    if (event.fails) throw new Error('the handler fails')
    return { credited: event.amount }
  }

  @Post('permanent')
  @IdempotentWebhook({ source: 'permanent' })
  async refuse(@Body() event: CreditEvent, @WebhookContext() { tx }: WebhookContext<Transaction>) {
    await credit(tx, 'permanent', event)
    throw new PermanentWebhookError('the account was closed')
  }

  @Post('service')
  async process(@Body() event: CreditEvent) {
    return this.webhooks.process({ source: 'service', id: event.id, type: event.type }, async (tx: Transaction) => {
      await credit(tx, 'service', event)
      return event.amount
    })
  }
}
