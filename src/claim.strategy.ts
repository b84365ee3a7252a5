import type { WebhookEvent } from './event-identity.js'
import { keyOf } from './event-key.js'
import type { ClaimRow, ProcessedEventDelegate } from './prisma-client-like.js'
import { kindOf } from './prisma-errors.js'

/**
 * Inserts the claims of events in the order given; waits while another transaction holds one of them.
 *
 * @param tx - the transaction client
 * @returns the keys of those that were not claimed before, as `keyOf` makes them
 */
export type ClaimStrategy = (tx: any, events: readonly WebhookEvent[]) => Promise<Iterable<string>>

/** The model of the claims, as a strategy writes it. */
export interface ClaimModel {
  /** Its name on the client. */
  name: string
  /** How the columns of the key are written. */
  encodeKey: (text: string) => string | Uint8Array
}

/**
 * For databases in which a unique violation would abort the transaction: `INSERT … ON CONFLICT DO NOTHING`, which answers
 * how many rows, or which, are new.
 */
export function insertOrNothing(model: ClaimModel): ClaimStrategy {
  return async (tx, events) => {
    const claims: ProcessedEventDelegate = tx[model.name]
    const data = events.map((event) => rowOf(event, model))
    if (events.length === 1) {
      const { count } = await claims.createMany({ data, skipDuplicates: true })
      return count === 1 ? events.map(keyOf) : []
    }
    const select = { source: true, eventId: true } as const
    const created = await claims.createManyAndReturn({ data, skipDuplicates: true, select })
    return created.map(({ source, eventId }) => keyOf({ source: String(source), id: String(eventId) }))
  }
}

/** Few enough that Prisma never makes two statements of them: SQLite takes 999 values in one. */
const ROWS_OF_A_STATEMENT = 200

/**
 * For databases in which a unique violation leaves the transaction usable. On MySQL `skipDuplicates` would be INSERT IGNORE,
 * which answers "duplicate" for whatever else is wrong with a row; SQLite has none.
 */
export function insertOrUniqueViolation(model: ClaimModel): ClaimStrategy {
  return async (tx, events) => {
    const claims: ProcessedEventDelegate = tx[model.name]
    const insert = async (some: readonly WebhookEvent[]): Promise<boolean> => {
      try {
        await claims.createMany({ data: some.map((event) => rowOf(event, model)) })
        return true
      } catch (error) {
        if (kindOf(error) === 'uniqueViolation') return false
        throw error
      }
    }
    const claimed: string[] = []
    for (let at = 0; at < events.length; at += ROWS_OF_A_STATEMENT) {
      const some = events.slice(at, at + ROWS_OF_A_STATEMENT)
      // All new is what is usual, and one statement; the database undoes the whole statement if one of them is not.
      if (await insert(some)) claimed.push(...some.map(keyOf))
      else if (some.length > 1) for (const event of some) if (await insert([event])) claimed.push(keyOf(event))
    }
    return claimed
  }
}

function rowOf({ source, id, type }: WebhookEvent, { encodeKey }: ClaimModel): ClaimRow {
  return { source: encodeKey(source), eventId: encodeKey(id), eventType: type }
}
