import type { WebhookEvent } from './event-identity.js'

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
