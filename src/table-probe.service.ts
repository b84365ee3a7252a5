import { randomUUID } from 'node:crypto'
import type { OnApplicationBootstrap } from '@nestjs/common'
import { Inject, Injectable } from '@nestjs/common'
import { ConfigurationError } from './errors.js'
import type { EventKey } from './event-key.js'
import { EventProcessors } from './event-processors.service.js'
import { kindOf } from './prisma-errors.js'
import type { ProcessedEventsStore } from './processed-events.store.js'
import type { ResolvedOptions } from './resolved-options.js'
import { RESOLVED_OPTIONS } from './resolved-options.js'
import { WebhookIdempotencyError } from './webhook-idempotency.error.js'
import { WebhookLog } from './webhook-log.js'

/** IDs that a table must keep apart: some collations take them for equal, and short columns cut them to one. */
const ALIKE = ['evt', 'EVT', 'évt', 'e\u0301vt', 'evt_😀', 'evt_😁', 'x'.repeat(219), 'x'.repeat(218) + 'y']

/** Checks at start-up, in a transaction that is rolled back, that different events stay different in the table. */
@Injectable()
export class TableProbe implements OnApplicationBootstrap {
  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(EventProcessors) private readonly processors: EventProcessors,
    @Inject(WebhookLog) private readonly log: WebhookLog,
  ) {}

  /** @throws {ConfigurationError | MissingTableError} when the table cannot keep the promises */
  async onApplicationBootstrap(): Promise<void> {
    if (!this.options.probe) return
    for (const { store } of this.processors.all()) await this.probe(store)
  }

  private async probe(store: ProcessedEventsStore): Promise<void> {
    const run = randomUUID()
    try {
      await store.transaction(async (tx) => {
        await this.assertKeptApart(tx, store, run)
        throw new ProbeEnded(run)
      }, this.options.transaction)
    } catch (error) {
      if (error instanceof ProbeEnded) return this.assertRolledBack(store, error)
      if (error instanceof WebhookIdempotencyError) throw error
      if (kindOf(error) === 'other') throw this.unfit('refuse events', lastLineOf(error), error)
      this.log.notProbed(error)
    }
  }

  /** All rows of one transaction have the same time, so that even a unique key on `received_at` shows. */
  private async assertKeptApart(tx: unknown, store: ProcessedEventsStore, run: string): Promise<void> {
    const source = `probe ${run}`
    const first = { source, id: `${run}${ALIKE[0]}` }
    for (const id of ALIKE) {
      if (await claims(tx, store, { source, id: `${run}${id}` })) continue
      throw this.unfit('lose events', `it takes the ID "${abridge(id)}" for another one`)
    }
    if (!(await claims(tx, store, { ...first, source: `${source} 2` }))) {
      throw this.unfit('lose events', 'it takes equal IDs of two sources for one')
    }
    if (await claims(tx, store, first)) throw this.unfit('process events twice', 'it takes an event that it has')
  }

  /** A query extension that runs each statement in a transaction of its own takes the claims out of ours. */
  private async assertRolledBack(store: ProcessedEventsStore, { run }: ProbeEnded): Promise<void> {
    if (!(await store.forget({ source: `probe ${run}`, id: `${run}${ALIKE[0]}` }))) return
    for (const id of ALIKE) await store.forget({ source: `probe ${run}`, id: `${run}${id}` })
    await store.forget({ source: `probe ${run} 2`, id: `${run}${ALIKE[0]}` })
    throw new ConfigurationError(
      `The Prisma client commits statements of a transaction outside of it, so that claims would stay when handlers fail. Look ` +
        `for a query extension that opens transactions of its own, and give this library a client without it.`,
    )
  }

  private unfit(consequence: string, found: string, cause?: unknown): Error {
    return new ConfigurationError(
      `The table of the model "${this.options.model}" would ${consequence}: ${found}. Its only unique key must be ` +
        `(source, event_id), with columns and collations as in nestjs-webhook-idempotency/prisma/models/. ` +
        `Compare its constraints and indexes with those, and mend it with a migration.`,
      { cause },
    )
  }
}

async function claims(tx: unknown, store: ProcessedEventsStore, key: EventKey): Promise<boolean> {
  const claimed = await store.claim(tx, [{ ...key, type: 'probe', payload: undefined }])
  return claimed.length > 0
}

class ProbeEnded extends Error {
  constructor(readonly run: string) {
    super()
  }
}

function abridge(id: string): string {
  return id.length > 20 ? `${id.slice(0, 10)}…${id.slice(-1)}` : id
}

/** Prisma puts what happened on the last line of its messages. */
function lastLineOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.trim().split('\n').at(-1)!
}
