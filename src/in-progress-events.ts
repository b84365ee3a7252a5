import { Deadline } from './deadline.js'
import type { WebhookEvent } from './event-identity.js'
import { inKeyOrder, keyOf } from './event-key.js'

/** Events that one delivery alone works on in this process, until it lets them go. */
export class HeldEvents {
  /** Whether other deliveries had to end first. */
  waited = false
  private readonly held = new Map<string, WebhookEvent>()
  private left: Promise<boolean> | undefined
  private leave: ((committed: boolean) => void) | undefined

  constructor(
    private readonly delivered: readonly WebhookEvent[],
    private readonly inProgress: Map<string, HeldEvents>,
  ) {}

  /** Without those that another delivery committed while this one waited; in the order delivered. */
  get events(): readonly WebhookEvent[] {
    if (this.held.size === this.delivered.length) return this.delivered
    return this.delivered.filter((event) => this.held.has(keyOf(event)))
  }

  add(key: string, event: WebhookEvent): void {
    this.inProgress.set(key, this)
    this.held.set(key, event)
  }

  /** Lets the next delivery of each event go on: as a duplicate if it is committed, else in our place. */
  release(committed: boolean): void {
    for (const key of this.held.keys()) this.inProgress.delete(key)
    this.leave?.(committed)
  }

  /** Ends with the release, and says whether the events are committed. */
  get released(): Promise<boolean> {
    return (this.left ??= new Promise((resolve) => (this.leave = resolve)))
  }
}

/**
 * Makes deliveries of one event in this process take turns, so that a waiting duplicate holds no connection.
 * It decides nothing: the unique key does. It holds one entry for each event in flight.
 */
export class InProgressEvents {
  private readonly inProgress = new Map<string, HeldEvents>()

  /**
   * @param events - each once
   * @param bound - how long to wait in all, in ms
   * @param reason - what to throw then
   */
  async hold(events: readonly WebhookEvent[], bound: number, reason: () => Error): Promise<HeldEvents> {
    const held = new HeldEvents(events, this.inProgress)
    let deadline: Deadline | undefined
    try {
      for (const event of inKeyOrder(events)) {
        const key = keyOf(event)
        let committed = false
        let ahead: HeldEvents | undefined
        // From the last look to the entry nothing is awaited: no other delivery can come between.
        while (!committed && (ahead = this.inProgress.get(key))) {
          held.waited = true
          deadline ??= new Deadline(bound, reason)
          committed = await deadline.race(ahead.released)
        }
        if (!committed) held.add(key, event)
      }
      return held
    } catch (error) {
      held.release(false)
      throw error
    } finally {
      deadline?.clear()
    }
  }
}
