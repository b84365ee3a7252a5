import { setTimeout as sleep } from 'node:timers/promises'
import type { OnModuleDestroy } from '@nestjs/common'
import { Inject, Injectable } from '@nestjs/common'
import { ShuttingDownError } from './errors.js'
import type { ResolvedOptions } from './resolved-options.js'
import { RESOLVED_OPTIONS } from './resolved-options.js'
import { WebhookLog } from './webhook-log.js'

export const EVENTS_IN_FLIGHT = Symbol.for('nestjs-webhook-idempotency:events-in-flight')

/** Knows which deliveries are in progress, and lets them end before the application does. */
@Injectable()
export class EventsInFlight implements OnModuleDestroy {
  private readonly inFlight = new Set<Promise<unknown>>()
  private draining: Promise<void> | undefined
  private disconnecting = 0
  /** A delivery's own bounds, one after the other (`maxWait` for a look too), and some time for COMMIT. */
  private readonly bound: number

  constructor(
    @Inject(RESOLVED_OPTIONS) { transaction, waitTimeout }: ResolvedOptions,
    @Inject(WebhookLog) private readonly log: WebhookLog,
  ) {
    this.bound = waitTimeout + 2 * transaction.maxWait + transaction.timeout + 1000
  }

  /** Whether the application has begun to shut down. */
  get isDraining(): boolean {
    return this.draining !== undefined
  }

  /** @throws {ShuttingDownError} when the application has begun to shut down */
  track<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.isDraining || this.disconnecting > 0) throw new ShuttingDownError()
    return this.follow(work())
  }

  /** Waits for this at shutdown too, though it began earlier. */
  follow<Value>(work: Promise<Value>): Promise<Value> {
    this.inFlight.add(work)
    const done = () => this.inFlight.delete(work)
    work.then(done, done)
    return work
  }

  /**
   * Disconnects a client when nothing is in progress any more, or at the bound, and takes no new deliveries meanwhile. At
   * shutdown Nest may ask for it before it calls our own hook; a shutdown has one bound, however many wait for it.
   */
  async disconnect(disconnect: () => Promise<void>): Promise<void> {
    this.disconnecting++
    try {
      await (this.draining ?? this.untilIdle())
      await disconnect()
    } finally {
      this.disconnecting--
    }
  }

  /** Takes no new deliveries and waits for those in progress. */
  drain(): Promise<void> {
    return (this.draining ??= this.untilIdle())
  }

  onModuleDestroy(): Promise<void> {
    return this.drain()
  }

  private async untilIdle(): Promise<void> {
    const bound = new AbortController()
    const tooLong = sleep(this.bound, true, { signal: bound.signal }).catch(() => false)
    while (this.inFlight.size > 0) {
      if ((await Promise.race([Promise.allSettled(this.inFlight), tooLong])) === true) {
        this.log.drainTimedOut(this.inFlight.size, this.bound)
        break
      }
    }
    bound.abort()
  }
}
