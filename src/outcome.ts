/** How a delivery ended. */
export type Outcome<Value> =
  { outcome: 'processed'; value: Value } | { outcome: 'duplicate' } | { outcome: 'rejected'; reason: string }

/** The reason of a `PermanentWebhookError`, by its code: the class may come from another copy of this library. */
export function rejectionReason(error: unknown): string | undefined {
  const { code, reason } = (error ?? {}) as { code?: unknown; reason?: unknown }
  return code === 'PERMANENT' && typeof reason === 'string' ? reason : undefined
}
