import { Deadline } from './deadline.js'
import type { WebhookEvent } from './event-identity.js'
import { inKeyOrder, keyOf } from './event-key.js'

/** Events that one delivery alone works on in this process, until it lets them go. */
export interface HeldEvents {
  /** Without those that another delivery committed while this one waited. */
  readonly events: readonly WebhookEvent[]
  readonly waited: boolean
  /** Lets the next delivery of each event go on: as a duplicate if it is committed, else in our place. */
  release(committed: boolean): void
}

/**
 * Makes deliveries of one event in this process take turns, so that a waiting duplicate holds no connection.
 * It decides nothing: the unique key does. It holds one entry for each event in flight.
 */
export class InProgressEvents {
  private readonly inProgress = new Map<string, Promise<boolean>>()

  /**
   * @param events - each once
   * @param bound - how long to wait in all, in ms
   * @param reason - what to throw then
   */
  async hold(events: readonly WebhookEvent[], bound: number, reason: () => Error): Promise<HeldEvents> {
    const held = new Set<WebhookEvent>()
    let leave!: (committed: boolean) => void
    const left = new Promise<boolean>((resolve) => (leave = resolve))
    const release = (committed: boolean) => {
      for (const event of held) this.inProgress.delete(keyOf(event))
      leave(committed)
    }
    let deadline: Deadline | undefined
    try {
      for (const event of inKeyOrder(events)) {
        let committed = false
        let ahead: Promise<boolean> | undefined
        // From the last look to the entry nothing is awaited: no other delivery can come between.
        while (!committed && (ahead = this.inProgress.get(keyOf(event)))) {
          deadline ??= new Deadline(bound, reason)
          committed = await deadline.race(ahead)
        }
        if (committed) continue
        this.inProgress.set(keyOf(event), left)
        held.add(event)
      }
    } catch (error) {
      release(false)
      throw error
    } finally {
      deadline?.clear()
    }
    return { events: events.filter((event) => held.has(event)), waited: deadline !== undefined, release }
  }
}
