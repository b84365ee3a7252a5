import pg from 'pg'
import type { TestDatabase } from './database.js'
import { until } from './until.js'

/** How many sessions of the database answer to a condition over `pg_stat_activity`. */
export async function sessions(database: TestDatabase, condition: string): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND ${condition}`,
  )
  return row!.count
}

/** Resolves when as many statements as said wait for a lock in the database. */
export function untilBlocked(database: TestDatabase, count = 1): Promise<void> {
  return until(
    `${count} statements wait for a lock`,
    async () => (await sessions(database, `wait_event_type = 'Lock'`)) >= count,
  )
}

/** Runs work with a session outside of every pool, such as one that holds a lock. */
export async function withSession<Value>(database: TestDatabase, work: (session: pg.Client) => Promise<Value>) {
  const session = new pg.Client(database.url)
  await session.connect()
  try {
    return await work(session)
  } finally {
    await session.end()
  }
}
