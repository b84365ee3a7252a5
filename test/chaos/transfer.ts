import { setTimeout as sleep } from 'node:timers/promises'
import type { Prisma } from '../../prisma/generated/client.js'

/** What the sender delivers: credits go from one account to another. */
export interface Transfer {
  id: string
  type: 'transfer'
  from: string
  to: string
  amount: number
}

/** How a handler is to behave in one delivery; the payload is the same in all of them. */
export interface Behaviour {
  kind: keyof typeof BEHAVIOURS
  /** How long it is to take, in ms. */
  ms: number
}

/** How often each is wanted. */
export const BEHAVIOURS = { plain: 50, slow: 14, failing: 10, swallowing: 12, nesting: 6, outliving: 8 }
export const BEHAVIOUR_HEADER = 'chaos-behaviour'
export const SOURCE = 'chaos'
/** How long a handler may take, in ms. */
export const TIMEOUT = 1000

/** Few enough that transfers meet, and sometimes deadlock. */
export const ACCOUNTS = Array.from({ length: 100 }, (_, index) => `acct_${index}`)

/** Applies an event as the worst of handlers would. */
export async function applyTransfer(tx: Prisma.TransactionClient, event: Transfer, how: Behaviour): Promise<void> {
  switch (how.kind) {
    case 'plain':
      return transfer(tx, event, async () => {})
    case 'slow':
      return transfer(tx, event, () => sleep(how.ms))
    case 'failing':
      return transfer(tx, event, () => Promise.reject(new Error('this handler fails halfway')))
    case 'swallowing':
      await transfer(tx, event, async () => {}).catch(() => {})
      await openExistingAccount(tx, event).catch(() => {})
      return
    case 'nesting':
      await transfer(tx, event, async () => {})
      await tx.$transaction((nested) => openExistingAccount(nested, event)).catch(() => {})
      return
    case 'outliving':
      return transfer(tx, event, () => sleep(TIMEOUT + how.ms)).catch(() => {})
  }
}

/** Two entries, and the balances of both accounts; never one without the other. */
async function transfer(
  tx: Prisma.TransactionClient,
  { id, from, to, amount }: Transfer,
  halfway: () => Promise<void>,
): Promise<void> {
  await credit(tx, id, from, -amount)
  await halfway()
  await credit(tx, id, to, amount)
}

async function credit(tx: Prisma.TransactionClient, eventId: string, accountId: string, amount: number): Promise<void> {
  await tx.account.update({ where: { id: accountId }, data: { credits: { increment: amount } } })
  await tx.credit.create({ data: { accountId, source: SOURCE, eventId, amount } })
}

/** A unique violation, after which PostgreSQL does nothing more in the transaction or, when nested, in the savepoint. */
async function openExistingAccount(tx: Prisma.TransactionClient, { from }: Transfer): Promise<void> {
  await tx.account.create({ data: { id: from } })
}
