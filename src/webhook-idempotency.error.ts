/** What went wrong, for programs: the `code` of every {@link WebhookIdempotencyError}. */
export type WebhookIdempotencyErrorCode =
  | 'INVALID_CONFIGURATION'
  | 'INVALID_SIGNATURE'
  | 'MISSING_RAW_BODY'
  | 'MISSING_BODY'
  | 'INVALID_EVENT'
  | 'TOO_MANY_EVENTS'
  | 'EVENT_IN_PROGRESS'
  | 'EVENT_TIMEOUT'
  | 'TRANSACTION_NOT_STARTED'
  | 'TRANSACTION_CLOSED'
  | 'TRANSACTION_ABORTED'
  | 'CLAIM_CONFLICT'
  | 'MISSING_TABLE'
  | 'NESTED_EVENT'
  | 'NO_CONTEXT'
  | 'UNKNOWN_CONTEXT'
  | 'UNSUPPORTED_REPLY'
  | 'SHUTTING_DOWN'
  | 'PERMANENT'

/** On every error of this library, whichever copy of it is loaded; `instanceof` is false across two. */
const MARK = Symbol.for('nestjs-webhook-idempotency:error')

/** Base of every error that this library throws. */
export abstract class WebhookIdempotencyError extends Error {
  static {
    Object.defineProperty(this.prototype, MARK, { value: true })
  }

  abstract readonly code: WebhookIdempotencyErrorCode

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** Says whether an error is one of this library; its `code` says which. */
export function isWebhookIdempotencyError(error: unknown): error is WebhookIdempotencyError {
  return typeof error === 'object' && error !== null && MARK in error
}
