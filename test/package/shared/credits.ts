import type { Transaction } from './prisma.service.js'

export interface CreditEvent {
  id: string
  type: string
  amount: number
  fails?: boolean
}

/** Lets the contract stop a handler in the middle of its transaction. */
export type Hold = (id: string) => Promise<void>

export const HOLD = 'HOLD'

export async function credit(tx: Transaction, source: string, event: CreditEvent): Promise<void> {
  await tx.credit.create({ data: { source, eventId: event.id, amount: event.amount } })
}
