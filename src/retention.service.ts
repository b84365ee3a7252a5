import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common'
import { Inject, Injectable } from '@nestjs/common'
import { EventProcessors } from './event-processors.service.js'
import { EventsInFlight } from './events-in-flight.service.js'
import type { ProcessedEventsStore } from './processed-events.store.js'
import type { ResolvedOptions } from './resolved-options.js'
import { RESOLVED_OPTIONS } from './resolved-options.js'
import { WebhookHandlers } from './webhook-handlers.service.js'
import { WebhookLog } from './webhook-log.js'

const DAY = 24 * 60 * 60_000
const MINUTE = 60_000

type Retention = NonNullable<ResolvedOptions['retention']>

/** Deletes old claims from time to time, if the application asks for it. */
@Injectable()
export class RetentionService implements OnApplicationBootstrap, OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined

  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(EventProcessors) private readonly processors: EventProcessors,
    @Inject(WebhookHandlers) private readonly handlers: WebhookHandlers,
    @Inject(EventsInFlight) private readonly inFlight: EventsInFlight,
    @Inject(WebhookLog) private readonly log: WebhookLog,
  ) {}

  onApplicationBootstrap(): void {
    const { retention } = this.options
    if (!retention) return
    for (const { name, source } of this.handlers.all()) {
      const days = source.redeliveryDays ?? 0
      if (days > retention.days) this.log.keptTooShort(name, days, retention.days)
    }
    this.schedule(retention)
  }

  onModuleDestroy(): void {
    clearTimeout(this.timer)
  }

  /** Between half the interval and one and a half, so that replicas that start together do not prune together. */
  private schedule(retention: Retention): void {
    if (this.inFlight.isDraining) return
    const pause = retention.everyMinutes * MINUTE * (0.5 + Math.random())
    this.timer = setTimeout(() => void this.inFlight.follow(this.run(retention)), pause).unref()
  }

  private async run(retention: Retention): Promise<void> {
    const { days, batchSize } = retention
    try {
      for (const { store } of this.processors.all()) {
        const olderThan = new Date((await store.now()).getTime() - days * DAY)
        const count = await prune(store, olderThan, batchSize, () => this.inFlight.isDraining)
        if (count > 0) this.log.pruned(count, days)
      }
    } catch (error) {
      this.log.pruneFailed(error)
    }
    this.schedule(retention)
  }
}

/** Deletes batch after batch, each in a transaction of its own, until none is left that is older. */
export async function prune(
  store: ProcessedEventsStore,
  olderThan: Date,
  batchSize: number,
  isStopped: () => boolean = () => false,
): Promise<number> {
  let pruned = 0
  while (!isStopped()) {
    const count = await store.deleteBefore(olderThan, batchSize)
    pruned += count
    if (count < batchSize) break
  }
  return pruned
}
