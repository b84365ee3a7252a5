import type { EventIdentity } from '../event-identity.js'
import type { WebhookDelivery } from '../webhook-delivery.js'

/** Stands where an ID should be: the check that every identity goes through refuses it, and says of which source. */
const MISSING_ID = undefined as never

/** The ID in a header. */
export function headerId(delivery: WebhookDelivery, name: string): string {
  return delivery.headers.get(name) ?? MISSING_ID
}

/**
 * One identity for each item of a batch. A body that has no list is not taken for an empty batch, which would be
 * answered with 200 and lost: it is refused like an event without ID.
 */
export function identifyEach(items: unknown, identify: (item: any) => EventIdentity): EventIdentity | EventIdentity[] {
  if (!Array.isArray(items)) return { id: MISSING_ID }
  return items.map((item) => ({ ...identify(item), payload: item }))
}

/**
 * Makes one ID of several fields. Other fields never make the same ID, as the separator is escaped within them,
 * and no ID is made when one of them is missing.
 */
export function compositeId(fields: unknown[]): string {
  if (!fields.every(isFilled)) return MISSING_ID
  return fields.map((field) => String(field).replaceAll('%', '%25').replaceAll(':', '%3A')).join(':')
}

function isFilled(field: unknown): boolean {
  if (typeof field === 'string') return field !== ''
  return typeof field === 'boolean' || Number.isSafeInteger(field)
}

/** Joins the parts of a type that are there. */
export function typeOf(...parts: unknown[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join('.')
}
