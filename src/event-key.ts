import type { WebhookEvent } from './event-identity.js'

/** What the unique key of the table compares. */
export type EventKey = Pick<WebhookEvent, 'source' | 'id'>

/** One string per key: neither part can hold a control character. */
export function keyOf({ source, id }: EventKey): string {
  return `${source}\n${id}`
}

/** The order in which every delivery waits and claims: none can wait for another in a circle. */
export function inKeyOrder<Key extends EventKey>(events: readonly Key[]): readonly Key[] {
  return events.length === 1 ? events : events.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

/** In the sender's order, without events that the delivery repeats. */
export function eachOnce<Key extends EventKey>(events: readonly Key[]): readonly Key[] {
  if (events.length === 1) return events
  const byKey = new Map<string, Key>()
  for (const event of events) if (!byKey.has(keyOf(event))) byKey.set(keyOf(event), event)
  return [...byKey.values()]
}
