import { HttpException, HttpStatus } from '@nestjs/common'
import type { WebhookIdempotencyErrorCode } from './webhook-idempotency.error.js'
import { isWebhookIdempotencyError } from './webhook-idempotency.error.js'

/** Retryable errors are 503, never a 4xx: some senders give up on those, and 409 is none the better for being true. */
const STATUS: Partial<Record<WebhookIdempotencyErrorCode, HttpStatus>> = {
  INVALID_SIGNATURE: HttpStatus.UNAUTHORIZED,
  MISSING_BODY: HttpStatus.BAD_REQUEST,
  INVALID_EVENT: HttpStatus.BAD_REQUEST,
  TOO_MANY_EVENTS: HttpStatus.BAD_REQUEST,
  EVENT_IN_PROGRESS: HttpStatus.SERVICE_UNAVAILABLE,
  EVENT_TIMEOUT: HttpStatus.SERVICE_UNAVAILABLE,
  TRANSACTION_NOT_STARTED: HttpStatus.SERVICE_UNAVAILABLE,
  TRANSACTION_CLOSED: HttpStatus.SERVICE_UNAVAILABLE,
  CLAIM_CONFLICT: HttpStatus.SERVICE_UNAVAILABLE,
  SHUTTING_DOWN: HttpStatus.SERVICE_UNAVAILABLE,
}

/** What a sender that is turned away should wait, in seconds. */
export const RETRY_AFTER = '5'

/**
 * Says how an error of this library is answered.
 *
 * @returns `undefined` for every other error: those are passed on unchanged
 */
export function httpAnswer(error: unknown): HttpException | undefined {
  if (!isWebhookIdempotencyError(error)) return undefined
  const status = STATUS[error.code]
  if (status === undefined) return undefined
  const message = error.code === 'INVALID_SIGNATURE' ? 'The signature was refused.' : error.message
  return new HttpException({ statusCode: status, error: error.code, message }, status, { cause: error })
}
