import type { CanActivate, ExecutionContext } from '@nestjs/common'
import { Inject, Injectable } from '@nestjs/common'
import { InvalidSignatureError } from './errors.js'
import { httpAnswer } from './http-answer.js'
import { readDelivery } from './webhook-delivery.js'
import type { WebhookHandler, WebhookHandlers } from './webhook-handlers.service.js'
import { WEBHOOK_HANDLERS } from './webhook-handlers.service.js'
import type { WebhookLog } from './webhook-log.js'
import { WEBHOOK_LOG } from './webhook-log.js'
import { isWebhookIdempotencyError } from './webhook-idempotency.error.js'

/** Lets only deliveries pass whose signature the source has verified; those of a source without `verify` pass as they are. */
@Injectable()
export class WebhookSignatureGuard implements CanActivate {
  constructor(
    @Inject(WEBHOOK_HANDLERS) private readonly handlers: WebhookHandlers,
    @Inject(WEBHOOK_LOG) private readonly log: WebhookLog,
  ) {}

  canActivate(context: ExecutionContext): true | Promise<true> {
    const handler = this.handlers.of(context.getHandler())
    return handler?.source.verify ? this.verify(handler, context) : true
  }

  private async verify({ name, source }: WebhookHandler, context: ExecutionContext): Promise<true> {
    try {
      if (((await source.verify!(readDelivery(context))) as unknown) === false) {
        throw new InvalidSignatureError('verify answered false')
      }
      return true
    } catch (error) {
      if (isWebhookIdempotencyError(error) && error.code === 'INVALID_SIGNATURE') {
        this.log.unverified(name, (error as InvalidSignatureError).reason)
      }
      throw httpAnswer(error) ?? error
    }
  }
}
