import type { ClaimStrategy } from './claim.strategy.js'
import { ConfigurationError, MissingTableError } from './errors.js'
import type { WebhookEvent } from './event-identity.js'
import type { EventKey } from './event-key.js'
import { inKeyOrder, keyOf } from './event-key.js'
import type { ClaimKey, PrismaClientLike, ProcessedEventDelegate, TransactionOptions } from './prisma-client-like.js'
import type { DatabaseTraits } from './database-traits.js'
import { traitsOf } from './database-traits.js'
import { kindOf } from './prisma-errors.js'
import type { ResolvedOptions } from './resolved-options.js'
import { insertOrNothingBySql } from './sql-claim.strategy.js'

/** How Prisma keeps the extensions of a client. */
interface ExtensionNode {
  extension?: { query?: unknown }
  previous?: ExtensionNode
}

/** The table of claims; the only place that knows its model. */
export class ProcessedEventsStore {
  readonly traits: DatabaseTraits
  private readonly model: string
  private readonly insert: ClaimStrategy

  /** @throws {ConfigurationError | MissingTableError} when the client cannot hold claims */
  constructor(
    private readonly client: PrismaClientLike,
    { model, provider, claim }: Pick<ResolvedOptions, 'model' | 'provider' | 'claim'>,
  ) {
    this.model = model
    if (typeof client?.$transaction !== 'function') {
      throw new ConfigurationError(
        `The option prisma is not a Prisma client with interactive transactions: it has no $transaction(). ` +
          `Give a client of Prisma 6.16 or newer, or the injection token of one.`,
      )
    }
    if (typeof this.delegate(client)?.createMany !== 'function') {
      throw new MissingTableError(model, `The Prisma client has no model "${model}"`)
    }
    this.traits = traitsOf(client, provider)
    if (claim === 'sql' && !this.traits.sqlClaim) {
      throw new ConfigurationError(`The option claim is 'sql', which is for PostgreSQL only. Leave it out.`)
    }
    const { encodeKey } = this.traits
    this.insert = claim === 'sql' ? insertOrNothingBySql(client, model) : this.traits.claim({ name: model, encodeKey })
  }

  transaction<Value>(work: (tx: any) => Promise<Value>, options: TransactionOptions): Promise<Value> {
    return this.client.$transaction(work, options)
  }

  /**
   * Claims events within a transaction; waits while another transaction holds one of them.
   *
   * @param events - each once
   * @returns those that were not claimed before, in the order given
   * @throws {MissingTableError} when the table is not there; anything else as Prisma throws it
   */
  async claim(tx: unknown, events: readonly WebhookEvent[]): Promise<WebhookEvent[]> {
    try {
      const claimed = new Set(await this.insert(tx, inKeyOrder(events)))
      return events.filter((event) => claimed.has(keyOf(event)))
    } catch (error) {
      throw this.explain(error)
    }
  }

  /** Whether claims made in this transaction are still there: not when the database gave the transaction up. */
  async holds(tx: unknown, events: readonly WebhookEvent[]): Promise<boolean> {
    const claims = await this.delegate(tx).count({ where: { OR: events.map((event) => this.whereIs(event)) } })
    return claims === events.length
  }

  /**
   * Whether a failed statement may stay unseen by whoever watches the client: an extension of its queries may swallow it.
   * Prisma keeps the list of extensions for itself; without it the answer is no.
   */
  get mayHideFailures(): boolean {
    const { _extensions: extensions } = this.client as { _extensions?: { head?: ExtensionNode } }
    for (let node = extensions?.head; node; node = node.previous) if (node.extension?.query) return true
    return false
  }

  /**
   * Whether an event is claimed, told by one statement outside of any transaction.
   *
   * @returns `false` also when the statement fails: the claim will tell
   */
  async isClaimed(event: EventKey): Promise<boolean> {
    try {
      const claims = this.delegate(this.client)
      return (await claims.findFirst({ where: this.whereIs(event), select: { eventId: true } })) !== null
    } catch {
      return false
    }
  }

  /** Whether such a look is worth its while, and may be believed: an extension may answer it from a replica or a cache. */
  get canLook(): boolean {
    return this.traits.worthLooking && !this.mayHideFailures
  }

  /** Whether the transaction is still what it was, told without a read of the model, which an extension may send elsewhere. */
  async answers(tx: any, events: readonly WebhookEvent[]): Promise<boolean> {
    if (this.traits.conflictEndsTransaction) return this.holds(tx, events)
    const rows: { one?: unknown }[] | undefined = await tx.$queryRawUnsafe('SELECT 1 AS one')
    return Number(rows?.[0]?.one) === 1
  }

  /** @returns whether there was a claim to forget */
  async forget(event: EventKey): Promise<boolean> {
    const { count } = await this.delegate(this.client).deleteMany({ where: this.whereIs(event) })
    return count > 0
  }

  /** Deletes at most `limit` claims that were made before a time, and says how many. */
  async deleteBefore(time: Date, limit: number): Promise<number> {
    const { count } = await this.delegate(this.client).deleteMany({ where: { receivedAt: { lt: time } }, limit })
    return count
  }

  /** The clock that stamps the claims. */
  async now(): Promise<Date> {
    const { clock } = this.traits
    if (!clock) return new Date()
    const [row] = await this.client.$transaction<[{ now: string | Date }]>((tx) => tx.$queryRawUnsafe(clock))
    return new Date(row.now)
  }

  private whereIs({ source, id }: EventKey): ClaimKey {
    return { source: this.traits.encodeKey(source), eventId: this.traits.encodeKey(id) }
  }

  private delegate(client: unknown): ProcessedEventDelegate {
    return (client as Record<string, ProcessedEventDelegate>)[this.model]!
  }

  private explain(error: unknown): unknown {
    if (kindOf(error) !== 'missingTable') return error
    return new MissingTableError(this.model, `The table of the model "${this.model}" is not in the database`, {
      cause: error,
    })
  }
}
