import pg from 'pg'

export interface EventKey {
  source: string
  id: string
}

/** What the database says of some events and the account they credit. */
export interface LedgerPage {
  claims: number
  credits: number
  balance: number
}

/** Reads the database by a connection of its own, so that neither the library nor Prisma stands between. */
export class Ledger {
  private readonly pool: pg.Pool

  constructor(databaseUrl: string) {
    this.pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
  }

  async openAccount(id: string): Promise<void> {
    await this.pool.query('INSERT INTO accounts (id) VALUES ($1)', [id])
  }

  async read(account: string, events: readonly EventKey[]): Promise<LedgerPage> {
    const [balance, credits, claims] = [
      await this.number('SELECT credits FROM accounts WHERE id = $1', [account]),
      await this.number('SELECT count(*) FROM credits WHERE account_id = $1', [account]),
      await this.number(
        `SELECT count(*) FROM processed_events WHERE (source, event_id) IN (${EVENTS})`,
        columns(events),
      ),
    ]
    return { claims, credits, balance }
  }

  /** Those of the events that have no effect. */
  async lost(due: readonly EventKey[]): Promise<number> {
    return this.number(`SELECT count(*) FROM (${EVENTS} EXCEPT SELECT source, event_id FROM credits)`, columns(due))
  }

  /** All events that had their effect more than once. */
  async double(): Promise<number> {
    return this.number('SELECT count(*) FROM (SELECT 1 FROM credits GROUP BY source, event_id HAVING count(*) > 1)')
  }

  async processed(): Promise<number> {
    return this.number('SELECT count(*) FROM processed_events')
  }

  /** Resolves when a transaction of another connection waits for one that has not ended. */
  async blocked(signal: AbortSignal): Promise<void> {
    const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    while ((await this.number(waiting)) === 0) signal.throwIfAborted()
  }

  close(): Promise<void> {
    return this.pool.end()
  }

  private async number(sql: string, values: unknown[] = []): Promise<number> {
    const { rows } = await this.pool.query<unknown[]>({ text: sql, values, rowMode: 'array' })
    return Number(rows[0]![0])
  }
}

const EVENTS = 'SELECT * FROM unnest($1::text[], $2::text[])'

function columns(events: readonly EventKey[]): [string[], string[]] {
  return [events.map(({ source }) => source), events.map(({ id }) => id)]
}
