import type { EventKey } from './event-key.js'
import { keyOf } from './event-key.js'

/** A power of two. */
const SLOTS = 2 ** 16

/**
 * The events whose claims this process has lately seen committed, as one number each: a later event may take the place of an
 * older one, and two events may have the same number. So it decides nothing; it only says where a look into the table is
 * likely to spare a transaction.
 */
export class RecentEvents {
  private readonly slots = new Uint32Array(SLOTS)

  add(event: EventKey): void {
    const hash = hashOf(keyOf(event))
    this.slots[hash % SLOTS] = hash
  }

  has(event: EventKey): boolean {
    const hash = hashOf(keyOf(event))
    return this.slots[hash % SLOTS] === hash
  }
}

/** FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/), over UTF-16 units instead of bytes. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
