import type { Type } from '@nestjs/common'
import { Body, Controller, Inject, Post } from '@nestjs/common'
import type { CreditEvent } from './credits.js'
import { credit } from './credits.js'
import type { Transaction } from './prisma.service.js'

export type Library = typeof import('nestjs-webhook-idempotency')

/** What a package brings that was built for the other module format: its decorators and classes are not the application's. */
export function otherCopyController(library: Library): Type {
  const { IdempotentWebhook, PermanentWebhookError, WebhookIdempotencyService, WebhookTransaction } = library

  @Controller('other-copy')
  class OtherCopyController {
    constructor(
      @Inject(WebhookIdempotencyService) private readonly webhooks: InstanceType<typeof WebhookIdempotencyService>,
    ) {}

    @Post()
    @IdempotentWebhook({ source: 'other-copy' })
    async receive(@Body() event: CreditEvent, @WebhookTransaction() tx: Transaction) {
      await credit(tx, 'other-copy', event)
    }

    @Post('signed')
    @IdempotentWebhook('other')
    async receiveSigned() {}

    @Post('permanent')
    @IdempotentWebhook({ source: 'other-copy-permanent' })
    async refuse() {
      throw new PermanentWebhookError('the account was closed')
    }

    @Post('service')
    async process(@Body() event: CreditEvent) {
      return this.webhooks.process({ source: 'other-copy-service', id: event.id }, async (tx: Transaction) =>
        credit(tx, 'other-copy-service', event),
      )
    }
  }

  return OtherCopyController
}
