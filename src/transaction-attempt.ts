import { type ActiveEvent, handle } from './active-event.js'
import { Deadline } from './deadline.js'
import {
  EventInProgressError,
  EventTimeoutError,
  TransactionAbortedError,
  TransactionClosedError,
  TransactionNotStartedError,
} from './errors.js'
import type { WebhookEvent } from './event-identity.js'
import { GuardedTransaction } from './guarded-transaction.js'
import type { TransactionOptions } from './prisma-client-like.js'
import type { ProcessedEventsStore } from './processed-events.store.js'
import type { WebhookContext } from './webhook-context.js'

/** What is done with new events; its value becomes the answer. */
export type Apply<Value> = (context: WebhookContext) => Promise<Value>

/** What a committed transaction did: claimed events and applied them, or found that there was nothing to claim. */
export type Committed<Value> = { claimed: readonly WebhookEvent[]; value: Value } | { claimed: readonly [] }

export interface AttemptOptions {
  transaction: Required<Omit<TransactionOptions, 'isolationLevel'>> & Pick<TransactionOptions, 'isolationLevel'>
  /** How long the claim may wait for a transaction of another process, in ms. */
  claimTimeout: number
  /** The request the events came with. */
  request?: object
}

/** Time that is kept for COMMIT beyond `timeout`, so that Prisma's own rollback timer never meets it, in ms. */
const COMMIT_RESERVE = 2_000
/** Prisma should say first that no connection came, in ms. */
const START_GRACE = 250

/** One transaction: claim, apply, commit; each step within its bound. */
export class TransactionAttempt<Value> {
  /** How far it came: what an error means depends on it. */
  step: 'start' | 'claim' | 'apply' | 'commit' = 'start'
  /** Ends when the transaction has, which may be later than the result. */
  readonly settled: Promise<Committed<Value>>
  /** Ends with the transaction, or with the bound of the step that took too long. */
  readonly result: Promise<Committed<Value>>
  readonly afterCommit: (() => unknown)[] = []
  /** How long the transaction was open when the handler had ended, in ms. */
  took = 0
  /** How long it might have been, in ms. */
  readonly timeout: number

  private readonly deadline: Deadline
  private readonly source: string
  private guarded: GuardedTransaction | undefined

  constructor(
    private readonly store: ProcessedEventsStore,
    private readonly events: readonly WebhookEvent[],
    private readonly apply: Apply<Value>,
    private readonly options: AttemptOptions,
  ) {
    const { timeout, maxWait } = options.transaction
    this.timeout = timeout
    this.source = events[0]!.source
    this.deadline = new Deadline(maxWait + START_GRACE, () => this.notStarted())
    this.settled = this.run()
    this.result = this.deadline.race(this.settled)
  }

  private async run(): Promise<Committed<Value>> {
    try {
      return await this.store.transaction((tx) => this.workWithinDeadline(tx), {
        ...this.options.transaction,
        timeout: this.timeout + COMMIT_RESERVE,
      })
    } catch (error) {
      throw this.step === 'start' ? this.notStarted(error) : error
    } finally {
      this.deadline.clear()
    }
  }

  /** ROLLBACK must not overtake a statement under way, which would then be committed alone (prisma/prisma#29762). */
  private async workWithinDeadline(tx: any): Promise<Committed<Value>> {
    const work = this.work(tx)
    try {
      return await this.deadline.race(work)
    } catch (error) {
      await (this.guarded ? this.guarded.close() : Promise.allSettled([work]))
      throw error
    }
  }

  private async work(tx: any): Promise<Committed<Value>> {
    this.afterCommit.length = 0 // a client may try its transactions again by itself
    const startedAt = performance.now()
    const claimed = await this.claim(tx)
    if (claimed.length === 0) return { claimed: [] }
    const guarded = (this.guarded = new GuardedTransaction(tx, this.deadline, this.store.traits))
    this.deadline.move(startedAt + this.timeout - performance.now(), () => this.timedOut(guarded))
    this.step = 'apply'
    const value = await this.applyTo(claimed, guarded)
    if (guarded.failedStatement) await this.assertIntact(this.store.holds(tx, claimed), guarded.failedStatement.error)
    else if (this.store.mayHideFailures) await this.assertIntact(this.store.answers(tx, claimed))
    if (guarded.undoneStatements) {
      const found = 'a nested transaction that was rolled back undid statements that were sent beside it'
      throw new TransactionAbortedError(this.source, found, { cause: guarded.undoneStatements.error })
    }
    this.took = performance.now() - startedAt
    this.deadline.move(COMMIT_RESERVE, () => this.commitUnanswered())
    this.step = 'commit'
    return { claimed, value }
  }

  private async claim(tx: any): Promise<WebhookEvent[]> {
    const bound = Math.min(this.options.claimTimeout, this.timeout)
    this.deadline.move(bound, () => new EventInProgressError(this.source, Math.round(bound)))
    this.step = 'claim'
    return this.store.claim(tx, this.events)
  }

  private async applyTo(events: readonly WebhookEvent[], guarded: GuardedTransaction): Promise<Value> {
    const { deadline } = this
    const active: ActiveEvent = {
      context: this.contextOf(events, guarded),
      request: this.options.request,
      get expired() {
        return deadline.error !== undefined
      },
      ended: false,
    }
    try {
      return await handle(active, () => this.apply(active.context))
    } finally {
      await guarded.close()
      active.ended = true
    }
  }

  private contextOf(events: readonly WebhookEvent[], guarded: GuardedTransaction): WebhookContext {
    const { deadline } = this
    return {
      source: this.source,
      event: events[0]!,
      events,
      tx: guarded.client,
      get signal() {
        return deadline.signal
      },
      afterCommit: (hook) => {
        if (this.step !== 'apply' || deadline.error) {
          throw new TransactionClosedError('A handler called afterCommit() too late')
        }
        this.afterCommit.push(hook)
      },
    }
  }

  /**
   * COMMIT of a transaction that PostgreSQL has aborted answers ROLLBACK without an error, and Prisma does not look at it
   * (prisma/prisma#20496); after a deadlock MySQL has rolled everything back and commits nothing.
   */
  private async assertIntact(look: Promise<boolean>, cause?: unknown): Promise<void> {
    const found = 'the database had already given its transaction up'
    if (!(await look.catch(() => false))) throw new TransactionAbortedError(this.source, found, { cause })
  }

  private notStarted(cause?: unknown): Error {
    return new TransactionNotStartedError(this.source, this.options.transaction.maxWait, { cause })
  }

  private timedOut(guarded: GuardedTransaction): Error {
    const found = guarded.used
      ? 'the handler had not ended'
      : 'the handler had not ended, and had sent nothing through its tx; if it uses the base client instead, it may be ' +
        'waiting for the connection that its own transaction holds'
    return new EventTimeoutError(this.source, this.timeout, found)
  }

  private commitUnanswered(): Error {
    const found = 'the database did not answer COMMIT, so the outcome is known only to the next delivery'
    return new EventTimeoutError(this.source, this.timeout, found)
  }
}
