import type { CanActivate, ExecutionContext } from '@nestjs/common'
import { Inject, Injectable } from '@nestjs/common'
import { InvalidSignatureError } from './errors.js'
import { httpAnswer } from './http-answer.js'
import { readDelivery } from './webhook-delivery.js'
import { WebhookHandlers } from './webhook-handlers.service.js'
import { WebhookLog } from './webhook-log.js'

/** Lets only deliveries pass whose signature the source has verified; those of a source without `verify` pass as they are. */
@Injectable()
export class WebhookSignatureGuard implements CanActivate {
  constructor(
    @Inject(WebhookHandlers) private readonly handlers: WebhookHandlers,
    @Inject(WebhookLog) private readonly log: WebhookLog,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const handler = this.handlers.of(context.getHandler())
    if (!handler?.source.verify) return true
    try {
      await handler.source.verify(readDelivery(context))
      return true
    } catch (error) {
      if (error instanceof InvalidSignatureError) this.log.unverified(handler.name, error.reason)
      throw httpAnswer(error) ?? error
    }
  }
}
