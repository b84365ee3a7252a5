import { applyDecorators, HttpCode, SetMetadata, UseGuards, UseInterceptors } from '@nestjs/common'
import type { InjectionToken } from '@nestjs/common'
import type { EventIdentity } from './event-identity.js'
import { IdempotentWebhookInterceptor } from './idempotent-webhook.interceptor.js'
import { HANDLER_METADATA, HTTP_CODE } from './nest-metadata.js'
import type { PrismaClientLike, TransactionOptions } from './prisma-client-like.js'
import type { WebhookDelivery } from './webhook-delivery.js'
import { WebhookSignatureGuard } from './webhook-signature.guard.js'

/** Options of {@link IdempotentWebhook}. */
export interface IdempotentWebhookOptions {
  /**
   * The scope of the IDs: a sender as this application sees it. The name of one of the module's `sources` brings its way to
   * verify and identify; a function of the delivery serves several tenants with one endpoint.
   */
  source: string | ((delivery: WebhookDelivery) => string)
  /** Where the event's ID is. @default `body.id` */
  id?: (delivery: WebhookDelivery) => string | number
  /** Where the event's type is. @default `body.type` */
  type?: (delivery: WebhookDelivery) => string | undefined
  /** For deliveries that carry several events; instead of `id` and `type`. */
  events?: (delivery: WebhookDelivery) => EventIdentity[]
  /**
   * Calls the method once for each new event of a batch, in the sender's order and in the same transaction, instead of once
   * for all of them. The answer is then `{ "outcome": "processed" }`.
   * @default false
   */
  each?: boolean
  /** Laid over the module's `transaction`. */
  transaction?: TransactionOptions
  /** Another Prisma client than the module's, or its injection token. */
  prisma?: PrismaClientLike | InjectionToken
  /** The body of the answer to a duplicate. @default `{ "outcome": "duplicate" }` */
  duplicateReply?: unknown
}

/** The options of a handler, or the name of a source that the module must know. */
export type HandlerMetadata = IdempotentWebhookOptions | string

/**
 * Makes the effects of each event that a controller method receives happen once: the event is claimed and the method runs in
 * one transaction, which is committed before the answer leaves. Duplicates are answered with 200 without running the method.
 *
 * @param options - options, or the name of one of the module's `sources`; the source is `default` when nothing is given, which
 * is enough for an application with one sender
 *
 * @example
 * \@Post('corvel')
 * \@IdempotentWebhook({ source: 'corvel' }) // id = body.id, type = body.type
 * async invoicePaid(@Body() event: CorvelEvent, @WebhookTransaction() tx: Prisma.TransactionClient) {
 *   await tx.account.update({ where: { id: event.account }, data: { credits: { increment: event.credits } } })
 * }
 */
export function IdempotentWebhook(options: HandlerMetadata = { source: 'default' }): MethodDecorator {
  return applyDecorators(
    SetMetadata(HANDLER_METADATA, options),
    UseGuards(WebhookSignatureGuard),
    UseInterceptors(IdempotentWebhookInterceptor),
    answerOk,
  )
}

/** Nest answers a POST with 201, which some senders take for a failure; an `@HttpCode()` of the user's own stays. */
const answerOk: MethodDecorator = (target, key, descriptor) => {
  if (!Reflect.hasMetadata(HTTP_CODE, descriptor.value as object)) HttpCode(200)(target, key, descriptor)
}
