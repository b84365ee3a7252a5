import { Inject, Injectable } from '@nestjs/common'
import { activeEventOfCaller, followEvents } from './active-event.js'
import { ConfigurationError, TooManyEventsError } from './errors.js'
import type { EventIdentity, WebhookEvent } from './event-identity.js'
import { checkId, checkSource, toEvent } from './event-identity.js'
import type { EventProcessor } from './event-processor.js'
import type { EventProcessors } from './event-processors.service.js'
import { EVENT_PROCESSORS } from './event-processors.service.js'
import { onePerProcess } from './one-per-process.js'
import type { Outcome } from './outcome.js'
import type { ResolvedOptions } from './resolved-options.js'
import { RESOLVED_OPTIONS, wholeNumber } from './resolved-options.js'
import { prune } from './retention.service.js'
import type { WebhookContext } from './webhook-context.js'
import type { WebhookHandlers } from './webhook-handlers.service.js'
import { WEBHOOK_HANDLERS } from './webhook-handlers.service.js'

/** An event that comes by another way than HTTP: a retry job, a queue. */
export interface ProcessedIdentity extends EventIdentity {
  /** The scope of the ID: the same as that of the handler when the event may come by HTTP too. */
  source: string
}

/** The same mechanism as behind `@IdempotentWebhook()`, for code that is called by something else than a sender. */
@Injectable()
class WebhookIdempotencyService {
  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(EVENT_PROCESSORS) private readonly processors: EventProcessors,
    @Inject(WEBHOOK_HANDLERS) private readonly handlers: WebhookHandlers,
  ) {}

  /**
   * The context of the event that the calling code handles, or `undefined` when it handles none.
   *
   * @throws {UnknownContextError} when the service was not injected, but taken from `ModuleRef.get()` or `app.get()`: once, for
   * an event that was in progress at its first use
   */
  get context(): WebhookContext | undefined {
    return activeEventOfCaller()?.context
  }

  /**
   * Applies an event once: claims it and runs `apply` in one transaction.
   *
   * @param event - its source, its ID, and for people its type
   * @param apply - gets the transaction client and the context; what it returns becomes the `value`
   * @returns `processed` with the value, `duplicate`, or `rejected` when `apply` threw a `PermanentWebhookError`
   * @throws {InvalidEventError} when the source or the ID cannot be stored as given
   * @throws {EventInProgressError | EventTimeoutError | TransactionNotStartedError | ClaimConflictError | ShuttingDownError}
   * when the event should be processed again later
   * @throws whatever `apply` throws, unchanged; everything is rolled back
   *
   * @example
   * const { outcome } = await webhooks.process({ source: 'corvel', id: event.id, type: event.type }, (tx) =>
   *   billing.credit(tx, event),
   * )
   */
  async process<Value, Tx = any>(
    event: ProcessedIdentity,
    apply: (tx: Tx, context: WebhookContext<Tx>) => Promise<Value>,
  ): Promise<Outcome<Value>> {
    followEvents()
    const checked = toEvent(event?.source, event)
    return this.handlers.processorOf(checked.source).process([checked], (context) => apply(context.tx, context))
  }

  /**
   * Applies those of many events that are new, all or none, in one transaction.
   *
   * @param events - at most `maxEvents`, of any sources; an event that is given twice counts once
   * @param apply - gets the new ones in `context.events`; not called when none is new
   * @returns as {@link process}; `duplicate` when none is new
   * @throws {TooManyEventsError} when there are more than `maxEvents`; else as {@link process}
   *
   * @example
   * await webhooks.processBatch(messages.map(({ id }) => ({ source: 'queue', id })), async (tx, { events }) => {
   *   for (const event of events) await apply(tx, event)
   * })
   */
  async processBatch<Value, Tx = any>(
    events: readonly ProcessedIdentity[],
    apply: (tx: Tx, context: WebhookContext<Tx>) => Promise<Value>,
  ): Promise<Outcome<Value>> {
    followEvents()
    const { maxEvents } = this.options
    if (events.length === 0) return { outcome: 'duplicate' }
    if (events.length > maxEvents) throw new TooManyEventsError(events[0]!.source, events.length, maxEvents)
    const checked = events.map((event) => toEvent(event?.source, event))
    return this.processorOf(checked).process(checked, (context) => apply(context.tx, context))
  }

  /**
   * Forgets an event, so that its next delivery is processed again. Where a proxy between client and database sends reads to
   * replicas, that holds once the replicas have heard of it.
   *
   * @returns whether there was something to forget
   * @throws {InvalidEventError} when the source or the ID cannot be one
   */
  async forget({ source, id }: Pick<ProcessedIdentity, 'source' | 'id'>): Promise<boolean> {
    return this.handlers.processorOf(checkSource(source)).store.forget({ source, id: checkId(source, id) })
  }

  /**
   * Deletes old claims in batches, from the tables of all clients in use. An event that is delivered again after its claim is gone is processed again.
   *
   * @param options.olderThan - claims made before this time are deleted
   * @param options.batchSize - how many one statement deletes; default 1000
   * @returns how many were deleted
   * @throws {ConfigurationError} when the time is no valid date, or the batch size no whole number above 0
   */
  async prune({ olderThan, batchSize = 1000 }: { olderThan: Date; batchSize?: number }): Promise<number> {
    if (!(olderThan instanceof Date) || Number.isNaN(olderThan.getTime())) {
      throw new ConfigurationError(`prune() was given ${String(olderThan)} as olderThan. Give a valid Date.`)
    }
    wholeNumber('batchSize', batchSize, 1)
    let pruned = 0
    for (const { store } of this.processors.all()) pruned += await prune(store, olderThan, batchSize)
    return pruned
  }

  private processorOf(events: readonly WebhookEvent[]): EventProcessor {
    const processors = new Set(events.map(({ source }) => this.handlers.processorOf(source)))
    if (processors.size === 1) return [...processors][0]!
    throw new ConfigurationError(
      `The sources of this batch (${[...new Set(events.map(({ source }) => source))].join(', ')}) belong to different Prisma ` +
        `clients, which cannot share a transaction. Make one batch for each client.`,
    )
  }
}

/** The class is its own injection token, so that it has to be the same one in every copy of this library. */
const Shared = onePerProcess('service', () => WebhookIdempotencyService)
type Shared = WebhookIdempotencyService

export { Shared as WebhookIdempotencyService }
