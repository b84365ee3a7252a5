import { newDelivery } from '../harness/bench-event.js'
import type { Contestant } from '../harness/contestants.js'
import { startContestants } from '../harness/contestants.js'
import type { Databases } from '../harness/databases.js'
import type { LoadResult } from '../harness/load.js'
import { deliverFor, deliverUntilStopped } from '../harness/load.js'
import { fill, settle } from './filled-table.js'

export interface Pruning {
  /** Rows per second. */
  alone: number
  beside: number
  quiet: LoadResult
  busy: LoadResult
  p99Ratio: number
}

const CONNECTIONS = 4
const QUIET_SECONDS = 10
const WARM_UP_SECONDS = 3
const DAY = 24 * 60 * 60_000

/** The application that is delivered to also prunes, as with `retention`. */
export async function measurePruning(databases: Databases, rows: number): Promise<Pruning> {
  const field = await startContestants(['ours'], databases)
  try {
    const [contestant] = field.contestants as [Contestant]
    const { application, database } = contestant
    const load = { url: application.url, path: '/events', connections: CONNECTIONS, next: newDelivery } as const
    await fill(database, rows, { first: 0, daysAgo: 20 })
    await fill(database, rows, { first: rows, daysAgo: 60 })
    await settle(database)
    const alone = await prune(contestant)
    await fill(database, rows, { first: rows * 2, daysAgo: 60 })
    await settle(database)
    await deliverFor(load, WARM_UP_SECONDS)
    const quiet = await deliverFor(load, QUIET_SECONDS)
    const delivering = deliverUntilStopped(load)
    const beside = await prune(contestant)
    const busy = await delivering.stop()
    return { alone, beside, quiet, busy, p99Ratio: busy.p99 / quiet.p99 }
  } finally {
    await field.close()
  }
}

async function prune({ application }: Contestant): Promise<number> {
  const began = performance.now()
  const count = await application.prune(new Date(Date.now() - 30 * DAY))
  return count / ((performance.now() - began) / 1000)
}
