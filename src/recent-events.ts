import type { EventKey } from './event-key.js'
import { keyOf } from './event-key.js'

/** How many are remembered: senders try again soon, most of them within minutes. */
const LIMIT = 10_000

/**
 * The events whose claims this process has lately seen committed. It decides nothing, as their claims may be gone again; it
 * only says where a look into the table is likely to spare a transaction.
 */
export class RecentEvents {
  private readonly keys = new Set<string>()

  /** Drops the oldest beyond the limit. */
  add(events: readonly EventKey[]): void {
    for (const event of events) this.keys.add(keyOf(event))
    for (const key of this.keys) {
      if (this.keys.size <= LIMIT) break
      this.keys.delete(key)
    }
  }

  has(event: EventKey): boolean {
    return this.keys.has(keyOf(event))
  }
}
