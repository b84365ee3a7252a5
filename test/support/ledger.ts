import type { Prisma } from '../../prisma/generated/client.js'
import type { TestDatabase } from './database.js'

/** What the handlers of these tests are sent. */
export interface CreditEvent {
  id: string
  type?: string
  /** @default 'acme' */
  account?: string
}

export type Tx = Prisma.TransactionClient

export async function openAccount(database: TestDatabase, id = 'acme'): Promise<void> {
  await database.query('INSERT INTO accounts (id) VALUES ($1)', [id])
}

/** The effect of an event: a row of its own, so that a second time shows. */
export async function credit(tx: Tx, { id, account = 'acme' }: CreditEvent, source = 'corvel'): Promise<void> {
  await tx.credit.create({ data: { accountId: account, source, eventId: id, amount: 10 } })
}

/** How often an event was credited, and how often it is claimed. */
export async function recordsOf(database: TestDatabase, id: string, source = 'corvel') {
  const [records] = await database.query<{ credits: number; claims: number }>(
    `SELECT (SELECT count(*)::int FROM credits WHERE source = $1 AND event_id = $2) AS credits,
            (SELECT count(*)::int FROM processed_events WHERE source = $1 AND event_id = $2) AS claims`,
    [source, id],
  )
  return records!
}

export const ONCE = { credits: 1, claims: 1 }
export const NEVER = { credits: 0, claims: 0 }

/** How many there are of each. */
export function tally(outcomes: readonly (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}
