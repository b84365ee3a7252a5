export { IdempotentWebhook } from './idempotent-webhook.decorator.js'
export type { IdempotentWebhookOptions } from './idempotent-webhook-options.js'
export { IdempotentWebhookInterceptor } from './idempotent-webhook.interceptor.js'
export { WebhookIdempotencyModule } from './webhook-idempotency.module.js'
export type { Provider, RetentionOptions, WebhookIdempotencyOptions } from './webhook-idempotency-options.js'
export { WebhookIdempotencyService } from './webhook-idempotency.service.js'
export type { ProcessedIdentity } from './webhook-idempotency.service.js'
export { joinWebhookTransaction } from './transactional-adapter.js'
export type { TransactionalAdapterLike } from './transactional-adapter.js'
export { WebhookTransaction } from './webhook-transaction.decorator.js'
export { WebhookContext } from './webhook-context.decorator.js'
export type { Outcome } from './outcome.js'
export type { EventIdentity, WebhookEvent } from './event-identity.js'
export type { DeliveryHeaders, WebhookDelivery } from './webhook-delivery.js'
export type { HandshakeReply, WebhookSource } from './sources/webhook-source.js'
export type { PrismaClientLike, TransactionOptions } from './prisma-client-like.js'
export { NoContextError, UnknownContextError } from './context.errors.js'
export {
  ClaimConflictError,
  ConfigurationError,
  EventInProgressError,
  EventTimeoutError,
  InvalidEventError,
  InvalidSignatureError,
  MissingBodyError,
  MissingRawBodyError,
  MissingTableError,
  NestedEventError,
  PermanentWebhookError,
  ShuttingDownError,
  TooManyEventsError,
  TransactionAbortedError,
  TransactionClosedError,
  TransactionNotStartedError,
  UnsupportedReplyError,
} from './errors.js'
export { WebhookIdempotencyError } from './webhook-idempotency.error.js'
export type { WebhookIdempotencyErrorCode } from './webhook-idempotency.error.js'
