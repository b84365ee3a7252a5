import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Sender } from './sender.js'
import { ACCOUNTS, SOURCE } from './transfer.js'

/** What must not be, and how often it was. */
export interface Audit {
  /** Acknowledged events without their whole effect. */
  lost: string[]
  /** Events with more effect than one. */
  double: string[]
  /** Events with half an effect. */
  torn: string[]
  claimWithoutEffect: string[]
  effectWithoutClaim: string[]
  /** Events that were not acknowledged when nothing was broken any more. */
  undelivered: string[]
  wrongBalances: string[]
  openTransactions: string[]
}

interface Account {
  id: string
  claimed: boolean
  entries: number
  sum: number
}

const RESIDUE_BOUND = 15_000

/** The truth: what the tables say in the end. */
export class Ledger {
  constructor(private readonly url: string) {}

  /** @param root - where the migrations are found */
  async open(root: string): Promise<void> {
    const migrations = join(root, 'prisma/migrations')
    for (const entry of readdirSync(migrations, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
      await this.query(readFileSync(join(migrations, entry.name, 'migration.sql'), 'utf8'))
    }
    await this.query('INSERT INTO accounts (id) SELECT unnest($1::text[])', [ACCOUNTS])
  }

  async audit({ events, acknowledged }: Sender): Promise<Audit> {
    const openTransactions = await this.openTransactions()
    const entries = await this.entries(events.map(({ id }) => id))
    const isAcknowledged = new Set(acknowledged.map(({ id }) => id))
    const those = (found: (account: Account) => boolean) => entries.filter(found).map(({ id }) => id)
    return {
      lost: those(({ id, entries }) => isAcknowledged.has(id) && entries < 2),
      double: those(({ entries }) => entries > 2),
      torn: those(({ entries, sum }) => entries % 2 !== 0 || sum !== 0),
      claimWithoutEffect: those(({ claimed, entries }) => claimed && entries === 0),
      effectWithoutClaim: those(({ claimed, entries }) => !claimed && entries > 0),
      undelivered: those(({ id }) => !isAcknowledged.has(id)),
      wrongBalances: await this.wrongBalances(),
      openTransactions,
    }
  }

  /** Each event that was sent, or left anything behind. */
  private entries(ids: string[]): Promise<Account[]> {
    return this.query(
      `WITH sent AS (SELECT unnest($1::text[]) AS id),
            claims AS (SELECT event_id AS id, true AS claimed FROM processed_events WHERE source = $2),
            effects AS (SELECT event_id AS id, count(*)::int AS entries, sum(amount)::int AS sum
                        FROM credits WHERE source = $2 GROUP BY event_id)
       SELECT id, claims.claimed IS TRUE AS claimed, coalesce(entries, 0) AS entries, coalesce(sum, 0) AS sum
       FROM sent FULL JOIN claims USING (id) FULL JOIN effects USING (id)`,
      [ids, SOURCE],
    )
  }

  private async wrongBalances(): Promise<string[]> {
    const rows = await this.query<{ id: string }>(
      `SELECT id FROM accounts
       WHERE credits <> (SELECT coalesce(sum(amount), 0) FROM credits WHERE account_id = accounts.id)`,
    )
    return rows.map(({ id }) => id)
  }

  /** What is open when everything is answered may have to end yet, but it has to. */
  private async openTransactions(): Promise<string[]> {
    const ends = performance.now() + RESIDUE_BOUND
    for (;;) {
      const rows = await this.query<{ found: string }>(
        `SELECT DISTINCT format('%s since %s: %s', state, xact_start, query) AS found
         FROM pg_stat_activity LEFT JOIN pg_locks USING (pid)
         WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
           AND (xact_start IS NOT NULL OR pg_locks.pid IS NOT NULL)`,
      )
      if (rows.length === 0 || performance.now() > ends) return rows.map(({ found }) => found)
      await sleep(100)
    }
  }

  /** Each on a connection of its own, since none lives long here. */
  async query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]> {
    const client = new pg.Client(this.url)
    client.on('error', () => {}) // it also rejects the query
    await client.connect()
    try {
      return (await client.query<Row>(sql, values)).rows
    } finally {
      await client.end()
    }
  }
}
