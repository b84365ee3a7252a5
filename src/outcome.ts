import type { PermanentWebhookError } from './errors.js'
import { isWebhookIdempotencyError } from './webhook-idempotency.error.js'

/** How a delivery ended. */
export type Outcome<Value> =
  { outcome: 'processed'; value: Value } | { outcome: 'duplicate' } | { outcome: 'rejected'; reason: string }

/** The reason of a `PermanentWebhookError`. */
export function rejectionReason(error: unknown): string | undefined {
  if (!isWebhookIdempotencyError(error) || error.code !== 'PERMANENT') return undefined
  return (error as PermanentWebhookError).reason
}
