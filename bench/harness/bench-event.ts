import { randomUUID } from 'node:crypto'

/** What the senders of all benches deliver. */
export interface BenchEvent {
  id: string
  type: string
  account: string
  amount: number
  /** How long the handler keeps its transaction open after the effect, as if it called somebody, in ms. */
  holdMs?: number
}

export interface BenchBatch {
  events: BenchEvent[]
}

export const SOURCE = 'corvel'
/** The effect of all events; it is inserted beside the others, so that no two events wait for one another. */
export const ACCOUNT = 'acct_1'

export function newEvent(holdMs?: number): BenchEvent {
  return { id: `evt_${randomUUID()}`, type: 'invoice.paid', account: ACCOUNT, amount: 100, holdMs }
}

export function newBatch(size: number): BenchBatch {
  return { events: Array.from({ length: size }, () => newEvent()) }
}

/** A delivery of an event that nobody has seen. */
export function newDelivery(): { body: BenchEvent; id: string } {
  const body = newEvent()
  return { body, id: body.id }
}
