import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from './databases.js'

/** Older than any transaction of an event whose handler does not dawdle. */
const LONG = '500 ms'
const PAUSE = 25

/** Looks at the database's own list until it is told to stop; the most connections that were in a long transaction at once. */
export function watchLongTransactions(database: Database): { stop(): Promise<number> } {
  const stopped = new AbortController()
  const watching = watch()
  return {
    stop() {
      stopped.abort()
      return watching
    },
  }

  async function watch(): Promise<number> {
    let most = 0
    while (!stopped.signal.aborted) {
      most = Math.max(most, await longTransactions(database))
      await sleep(PAUSE)
    }
    return most
  }
}

function longTransactions(database: Database): Promise<number> {
  return database.number(
    `SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND clock_timestamp() - xact_start > $1::interval`,
    [LONG],
  )
}
