import { AsyncLocalStorage } from 'node:async_hooks'
import { UnknownContextError } from './context.errors.js'
import { onePerProcess } from './one-per-process.js'
import type { WebhookContext } from './webhook-context.js'

/** An event that is being handled. */
export interface ActiveEvent {
  readonly context: WebhookContext
  /** The request it came with, if it came with one. */
  readonly request?: object
  /** Whether its deadline has passed: it is answered, but its handler may still be running. */
  readonly expired: boolean
  /** Code that a handler left running still finds its event after the end. */
  ended: boolean
}

/** Where a request carries its event. */
const EVENT = Symbol.for('nestjs-webhook-idempotency:event')

/**
 * The events that are being handled, to be found by all code below their handlers once somebody has use of it: on Node.js 20
 * and 22 every promise of a process costs more as soon as an AsyncLocalStorage is used in it.
 */
interface ActiveEvents {
  readonly storage: AsyncLocalStorage<ActiveEvent>
  areFollowed: boolean
  /** How many are being handled that cannot be found in the storage. */
  unfollowed: number
}

const events = onePerProcess<ActiveEvents>('active-events', () => ({
  storage: new AsyncLocalStorage(),
  areFollowed: false,
  unfollowed: 0,
}))

/** Makes every event that begins from now on known to the code below its handler. */
export function followEvents(): void {
  events.areFollowed = true
}

/** Runs the handler of an event. */
export async function handle<Value>(active: ActiveEvent, handler: () => Promise<Value>): Promise<Value> {
  if (active.request) (active.request as { [EVENT]?: ActiveEvent })[EVENT] = active
  if (events.areFollowed) return events.storage.run(active, handler)
  events.unfollowed++
  try {
    return await handler()
  } finally {
    events.unfollowed--
  }
}

/** The event that came with a request, while it is being handled. */
export function eventOfRequest(request: object): ActiveEvent | undefined {
  return unlessEnded((request as { [EVENT]?: ActiveEvent })[EVENT])
}

/** The event that the running code handles, if it handles one and events are followed. */
export function activeEvent(): ActiveEvent | undefined {
  return unlessEnded(events.storage.getStore())
}

/**
 * As `activeEvent()`, for code that nobody knew of before it asked.
 *
 * @throws {UnknownContextError} when it may be handling an event that was not followed
 */
export function activeEventOfCaller(): ActiveEvent | undefined {
  followEvents()
  if (!events.storage.getStore() && events.unfollowed > 0) throw new UnknownContextError()
  return activeEvent()
}

export function runWithoutActiveEvent<Value>(work: () => Value): Value {
  return events.storage.exit(work)
}

function unlessEnded(active: ActiveEvent | undefined): ActiveEvent | undefined {
  return active?.ended ? undefined : active
}
