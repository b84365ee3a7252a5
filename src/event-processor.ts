import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { activeEvent, runWithoutActiveEvent } from './active-event.js'
import { Deadline } from './deadline.js'
import { ClaimConflictError, EventInProgressError, NestedEventError, TransactionNotStartedError } from './errors.js'
import { eachOnce } from './event-key.js'
import type { WebhookEvent } from './event-identity.js'
import type { EventsInFlight } from './events-in-flight.service.js'
import type { HeldEvents } from './in-progress-events.js'
import { InProgressEvents } from './in-progress-events.js'
import type { Outcome } from './outcome.js'
import { rejectionReason } from './outcome.js'
import { kindOf } from './prisma-errors.js'
import type { ProcessedEventsStore } from './processed-events.store.js'
import { RecentEvents } from './recent-events.js'
import type { ResolvedOptions, ResolvedTransactionOptions } from './resolved-options.js'
import type { Apply } from './transaction-attempt.js'
import { TransactionAttempt } from './transaction-attempt.js'
import type { Telemetry } from './telemetry.service.js'
import type { WebhookLog } from './webhook-log.js'

/** What one caller wants otherwise than the module. */
export interface ProcessingOptions {
  transaction?: ResolvedTransactionOptions
  /** The request the events came with. */
  request?: object
}

/** How long events stay closed to others here when the database does not say how their transaction ended, in ms. */
const UNSETTLED_BOUND = 30_000
/** The mean pause before the first new try after a conflict, in ms; it doubles from try to try. */
const RETRY_PAUSE = 10
const LONGEST_RETRY_PAUSE = 250

/** Makes the effects of events in one database happen once: waits its turn, claims and applies, commits. */
export class EventProcessor {
  private readonly inProgress = new InProgressEvents()
  private readonly recent = new RecentEvents()

  constructor(
    readonly store: ProcessedEventsStore,
    private readonly options: ResolvedOptions,
    private readonly inFlight: EventsInFlight,
    private readonly log: WebhookLog,
    private readonly telemetry: Telemetry,
  ) {}

  /**
   * @param delivered - the events of one delivery, at least one, all of one source
   * @param apply - gets those that are new; it is not called when none is
   * @throws whatever `apply` throws, unchanged, and the errors of this library
   */
  async process<Value>(
    delivered: readonly WebhookEvent[],
    apply: Apply<Value>,
    options: ProcessingOptions = {},
  ): Promise<Outcome<Value>> {
    const active = activeEvent()
    if (active) throw new NestedEventError(delivered[0]!.source, active.context.source)
    const events = eachOnce(delivered)
    return this.inFlight.track(() => this.telemetry.observe(events, () => this.takeTurn(events, apply, options)))
  }

  private async takeTurn<Value>(
    events: readonly WebhookEvent[],
    apply: Apply<Value>,
    options: ProcessingOptions,
  ): Promise<Outcome<Value>> {
    const { waitTimeout } = this.options
    const began = performance.now()
    const held = await this.inProgress.hold(events, waitTimeout, () => this.stillInProgress(events))
    if (held.waited) this.telemetry.waited(events)
    if (held.events.length === 0) return this.duplicate(events)
    const turn = new Turn(held)
    const waited = performance.now() - began
    try {
      if (await this.isKnown(turn, options)) return this.duplicate(events)
      const waitEnds = performance.now() + waitTimeout - waited
      const attempt = await this.commit(turn, apply, options, waitEnds)
      return await this.conclude(events, attempt)
    } catch (error) {
      const reason = rejectionReason(error)
      if (reason === undefined) throw error
      return await this.reject(turn, reason, options)
    } finally {
      turn.end()
    }
  }

  /** Spares late duplicates their transaction: only a yes counts, all else is left to the claim. */
  private async isKnown(turn: Turn, { transaction = this.options.transaction }: ProcessingOptions): Promise<boolean> {
    const [event, ...more] = turn.events as [WebhookEvent, ...WebhookEvent[]]
    if (more.length > 0 || !this.recent.has(event) || !this.store.canLook) return false
    const { maxWait } = transaction
    const deadline = new Deadline(maxWait, () => new TransactionNotStartedError(event.source, maxWait))
    try {
      const isClaimed = await deadline.race(this.store.isClaimed(event))
      if (isClaimed) turn.markCommitted()
      return isClaimed
    } finally {
      deadline.clear()
    }
  }

  /** Tries until a transaction commits; again only after conflicts, and with a started handler only when asked for. */
  private async commit<Value>(
    turn: Turn,
    apply: Apply<Value>,
    { transaction = this.options.transaction, request }: ProcessingOptions,
    waitEnds: number,
  ): Promise<TransactionAttempt<Value>> {
    const { claimRetries, handlerRetries, waitTimeout } = this.options
    let claimConflicts = 0
    let handlerConflicts = 0
    for (;;) {
      const claimTimeout = Math.max(1, waitEnds - performance.now())
      const attempt = new TransactionAttempt(this.store, turn.events, apply, { transaction, claimTimeout, request })
      turn.follow(attempt.settled)
      try {
        await attempt.result
        for (const event of turn.events) this.recent.add(event)
        return attempt
      } catch (error) {
        if (kindOf(error) !== 'conflict' || attempt.step === 'start') throw error
        const isClaim = attempt.step === 'claim'
        if (!isClaim && handlerConflicts++ >= handlerRetries) throw error
        if (isClaim && claimConflicts++ >= claimRetries) {
          throw new ClaimConflictError(turn.source, claimConflicts, { cause: error })
        }
        // What the handler took was no waiting.
        if (!isClaim) waitEnds = performance.now() + waitTimeout
      }
      this.telemetry.retried(turn.events)
      await pauseAfter(claimConflicts + handlerConflicts)
    }
  }

  private async conclude<Value>(
    events: readonly WebhookEvent[],
    attempt: TransactionAttempt<Value>,
  ): Promise<Outcome<Value>> {
    const committed = await attempt.result
    if (!('value' in committed)) return this.duplicate(events)
    this.log.processed(committed.claimed)
    if (attempt.took > attempt.timeout / 2) this.log.slow(committed.claimed, attempt.took, attempt.timeout)
    this.runLater(attempt.afterCommit, committed.claimed)
    return { outcome: 'processed', value: committed.value }
  }

  /** The effects are rolled back by now; the claim alone is committed, so that further deliveries are duplicates. */
  private async reject(turn: Turn, reason: string, options: ProcessingOptions): Promise<Outcome<never>> {
    // What the handler took was no waiting.
    const waitEnds = performance.now() + this.options.waitTimeout
    const attempt = await this.commit(turn, async () => undefined, options, waitEnds)
    const { claimed } = await attempt.result
    if (claimed.length === 0) return this.duplicate(turn.events)
    this.log.rejected(claimed, reason)
    return { outcome: 'rejected', reason }
  }

  private duplicate(events: readonly WebhookEvent[]): Outcome<never> {
    this.log.duplicate(events)
    return { outcome: 'duplicate' }
  }

  private stillInProgress(events: readonly WebhookEvent[]): Error {
    return new EventInProgressError(events[0]!.source, this.options.waitTimeout)
  }

  /** Only after the answer had its chance to leave, and outside the event, so that a hook may start another one. */
  private runLater(hooks: readonly (() => unknown)[], events: readonly WebhookEvent[]): void {
    if (hooks.length === 0) return
    void this.inFlight.follow(
      runWithoutActiveEvent(async () => {
        await setImmediate()
        for (const hook of hooks) {
          try {
            await hook()
          } catch (error) {
            this.log.hookFailed(events, error)
          }
        }
      }),
    )
  }
}

/** The time during which one delivery has its events to itself. */
class Turn {
  private settled: Promise<boolean> = Promise.resolve(false)
  /** Whether it committed, once it has ended. */
  private committed: boolean | undefined = false

  constructor(private readonly held: HeldEvents) {}

  get events(): readonly WebhookEvent[] {
    return this.held.events
  }

  get source(): string {
    return this.held.events[0]!.source
  }

  /** They were committed before this turn. */
  markCommitted(): void {
    this.committed = true
  }

  follow(transaction: Promise<unknown>): void {
    this.committed = undefined
    this.settled = transaction.then(
      () => (this.committed = true),
      () => (this.committed = false),
    )
  }

  /** The answer may have left before the transaction ended; the next delivery must not meet it in the database. */
  end(): void {
    if (this.committed !== undefined) return this.held.release(this.committed)
    let timer: NodeJS.Timeout | undefined
    const bound = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, UNSETTLED_BOUND, false).unref()
    })
    void Promise.race([this.settled, bound]).then((committed) => {
      clearTimeout(timer)
      this.held.release(committed)
    })
  }
}

/** Long enough that the same transactions do not meet again. */
function pauseAfter(conflicts: number): Promise<void> {
  return sleep(Math.random() * 2 * Math.min(RETRY_PAUSE * 2 ** (conflicts - 1), LONGEST_RETRY_PAUSE))
}
