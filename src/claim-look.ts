import { claimTableOf } from './claim-table.js'
import type { EventKey } from './event-key.js'
import type { PrismaClientLike } from './prisma-client-like.js'

/** Whether the claim of an event is committed; `false` also when that cannot be told for sure. */
export type ClaimLook = (event: EventKey) => Promise<boolean>

/**
 * A look into the table in one statement, outside of any transaction.
 *
 * Something between us and the server may send reads elsewhere, where a claim that was forgotten meanwhile may still be there.
 * So only a server that takes writes is believed
 * (https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-RECOVERY-INFO), and the statement is a raw one,
 * which no cache of model reads knows.
 *
 * @returns nothing when the client does not say how its model is mapped
 */
export function lookBySql(client: PrismaClientLike, model: string): ClaimLook | undefined {
  const { $queryRawUnsafe } = client as { $queryRawUnsafe?: unknown }
  const table = claimTableOf(client, model)
  if (!table || typeof $queryRawUnsafe !== 'function') return undefined
  const { name, source, eventId } = table
  const statement = `SELECT 1 AS one FROM ${name} WHERE ${source} = $1 AND ${eventId} = $2 AND NOT pg_is_in_recovery()`
  return async (event) => {
    const rows: unknown[] = await (client as any).$queryRawUnsafe(statement, event.source, event.id)
    return rows.length === 1
  }
}
