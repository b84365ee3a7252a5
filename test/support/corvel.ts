import type { Type } from '@nestjs/common'
import { Body, Controller, Post } from '@nestjs/common'
import type { IdempotentWebhookOptions } from '../../src/index.js'
import { IdempotentWebhook, WebhookContext, WebhookTransaction } from '../../src/index.js'
import type { CreditEvent, Tx } from './ledger.js'

export type Handler = (tx: Tx, event: CreditEvent & Record<string, any>, context: WebhookContext<Tx>) => unknown

/** Where {@link corvelController} is served. */
export const CORVEL = '/webhooks/corvel'

/** A controller with one decorated method, whose body is the test's own. */
export function corvelController(handle: Handler, options: Partial<IdempotentWebhookOptions> = {}): Type {
  @Controller('webhooks')
  class CorvelController {
    @Post('corvel')
    @IdempotentWebhook({ source: 'corvel', ...options })
    invoicePaid(
      @Body() event: CreditEvent,
      @WebhookTransaction() tx: Tx,
      @WebhookContext() context: WebhookContext<Tx>,
    ) {
      return handle(tx, event, context)
    }
  }
  return CorvelController
}
