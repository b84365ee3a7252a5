import { AsyncLocalStorage } from 'node:async_hooks'
import type { WebhookEvent } from './event-identity.js'
import { onePerProcess } from './one-per-process.js'

/**
 * What a handler knows of the event it handles.
 *
 * @typeParam Tx - the transaction client, such as `Prisma.TransactionClient`
 * @typeParam Payload - what the event carries
 */
export interface WebhookContext<Tx = any, Payload = any> {
  readonly source: string
  /** The event at hand; of a batch the first new one. */
  readonly event: WebhookEvent<Payload>
  /** The events of this delivery that were not processed before. */
  readonly events: readonly WebhookEvent<Payload>[]
  /** The transaction that claimed the event: what is written through it is committed with the claim or not at all. */
  readonly tx: Tx
  /** Aborted when the deadline passes; give it to whatever can be cancelled. */
  readonly signal: AbortSignal
  /**
   * Runs something after COMMIT, and after the answer was released; never when the event is rolled back. It runs at most
   * once: when the process dies in between, not at all. For what must not be lost, write a row with `tx`.
   *
   * @param hook - its failure is logged and changes no answer
   * @throws {TransactionClosedError} when the event has ended
   */
  afterCommit(hook: () => unknown): void
}

/** An event that is being handled, as the code below its handler sees it. */
export interface ActiveEvent {
  readonly context: WebhookContext
  /** The request it came with, if it came with one. */
  readonly request?: unknown
  /** Code that a handler left running still sees its event after the end. */
  ended: boolean
}

const storage = onePerProcess('active-event', () => new AsyncLocalStorage<ActiveEvent>())

/** The event that the running code handles, if it handles one. */
export function activeEvent(): ActiveEvent | undefined {
  const active = storage.getStore()
  return active?.ended ? undefined : active
}

export function runWithActiveEvent<Value>(active: ActiveEvent, work: () => Value): Value {
  return storage.run(active, work)
}

/** Runs a part of a batch's work that sees one event; it inherits from the batch, so that it ends with it. */
export function runWithEvent<Value>(event: WebhookEvent, work: () => Value): Value {
  const batch = storage.getStore()!
  return storage.run(Object.create(batch, { context: { value: { ...batch.context, event, events: [event] } } }), work)
}

export function runWithoutActiveEvent<Value>(work: () => Value): Value {
  return storage.exit(work)
}
