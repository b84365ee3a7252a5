import { applyDecorators, HttpCode, SetMetadata, UseGuards, UseInterceptors } from '@nestjs/common'
import type { HandlerMetadata } from './idempotent-webhook-options.js'
import { IdempotentWebhookInterceptor } from './idempotent-webhook.interceptor.js'
import { HANDLER_METADATA, HANDLER_NAMES, HTTP_CODE } from './nest-metadata.js'
import { WebhookSignatureGuard } from './webhook-signature.guard.js'

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
    rememberName,
  )
}

/** Another decorator may replace the method, and what is written on it goes with it; what is written on the class stays. */
const rememberName: MethodDecorator = ({ constructor }, key) => {
  const names: unknown[] = Reflect.getOwnMetadata(HANDLER_NAMES, constructor) ?? []
  Reflect.defineMetadata(HANDLER_NAMES, [...names, key], constructor)
}

/** Nest answers a POST with 201, which some senders take for a failure; an `@HttpCode()` of the user's own stays. */
const answerOk: MethodDecorator = (target, key, descriptor) => {
  if (!Reflect.hasMetadata(HTTP_CODE, descriptor.value as object)) HttpCode(200)(target, key, descriptor)
}
