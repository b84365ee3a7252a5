import { HttpException, HttpStatus } from '@nestjs/common'
import { kindOf } from './prisma-errors.js'
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
  UNKNOWN_CONTEXT: HttpStatus.SERVICE_UNAVAILABLE,
  SHUTTING_DOWN: HttpStatus.SERVICE_UNAVAILABLE,
}

/** What a sender that is turned away should wait, in seconds. */
export const RETRY_AFTER = '5'

/**
 * Says how an error of this library is answered, and a deadlock or a serialization failure that a handler or COMMIT met.
 *
 * @returns `undefined` for every other error: those are passed on unchanged
 */
export function httpAnswer(error: unknown): HttpException | undefined {
  if (isWebhookIdempotencyError(error)) {
    const status = STATUS[error.code]
    const message = error.code === 'INVALID_SIGNATURE' ? 'The signature was refused.' : error.message
    return status && answer(status, error.code, message, error)
  }
  if (error instanceof HttpException || kindOf(error) !== 'conflict') return undefined
  const message = 'The transaction of the event conflicted with another one; deliver the event again later.'
  return answer(HttpStatus.SERVICE_UNAVAILABLE, 'TRANSACTION_CONFLICT', message, error)
}

function answer(status: HttpStatus, code: string, message: string, cause: unknown): HttpException {
  return new HttpException({ statusCode: status, error: code, message }, status, { cause })
}
