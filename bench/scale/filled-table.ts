import { createHash, randomInt } from 'node:crypto'
import { SOURCE } from '../harness/bench-event.js'
import type { Database } from '../harness/databases.js'

const CHUNK = 500_000

/** Fills the table with claims of random-looking IDs, in the order of their time, as deliveries would. */
export async function fill(database: Database, rows: number, { first = 0, daysAgo = 20 } = {}): Promise<void> {
  for (let from = first; from < first + rows; from += CHUNK) {
    const to = Math.min(from + CHUNK, first + rows) - 1
    await database.query(
      `INSERT INTO processed_events (source, event_id, event_type, received_at)
       SELECT $1, 'evt_' || md5(number::text), 'invoice.paid', now() - make_interval(days => $4) + number * interval '1 ms'
       FROM generate_series($2::bigint, $3::bigint) AS number`,
      [SOURCE, from, to, daysAgo],
    )
  }
}

/** What autovacuum would have done until now. */
export async function settle(database: Database): Promise<void> {
  await database.query('VACUUM (ANALYZE) processed_events')
  await database.query('CHECKPOINT')
}

/** The ID of one of so many filled rows. */
export function filledId(rows: number): string {
  return `evt_${createHash('md5')
    .update(String(randomInt(rows)))
    .digest('hex')}`
}

/** In bytes. */
export interface TableSize {
  table: number
  key: number
  byTime: number
}

export async function sizeOf(database: Database): Promise<TableSize> {
  const [size] = await database.query<Record<keyof TableSize, string>>(
    `SELECT pg_table_size('processed_events') AS table, pg_relation_size('processed_events_pkey') AS key,
            pg_relation_size('processed_events_received_at_idx') AS "byTime"`,
  )
  return { table: Number(size!.table), key: Number(size!.key), byTime: Number(size!.byTime) }
}
