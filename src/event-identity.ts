import { InvalidEventError } from './errors.js'

/** What a source says of one event in a delivery. */
export interface EventIdentity {
  /** The sender's ID of the event: the same for each of its deliveries, and for no other event of the source. */
  id: string | number
  /** For people, in the table and the log. @default 'unknown' */
  type?: string
  /** The event's own part of the delivery. @default the whole body */
  payload?: unknown
}

/** The fact that a delivery reports. */
export interface WebhookEvent<Payload = any> {
  readonly source: string
  readonly id: string
  readonly type: string
  readonly payload: Payload
}

/** Longest ID, source and type, in bytes of UTF-8: safely within what every supported database can index. */
const MAX_BYTES = 255
const WHAT_AN_ID_MUST_BE =
  `It must be a string of 1 to ${MAX_BYTES} bytes of UTF-8 without control characters or white space at its ends, ` +
  `or a safe integer.`
/** What String() makes of a field that is not there. */
const STRINGIFIED_NOTHING = new Set(['undefined', 'null', 'NaN', '[object Object]'])

/**
 * Checks an identity before the database is asked.
 *
 * @param source - the scope of the ID
 * @param identity - what the sender or the caller gave
 * @param payload - what the event carries when the identity has no payload of its own
 * @throws {InvalidEventError} when the source or the ID could not be stored as given
 */
export function toEvent(source: string, identity: EventIdentity, payload?: unknown): WebhookEvent {
  return {
    source: checkSource(source),
    id: checkId(source, identity?.id),
    type: cleanType(identity?.type),
    payload: identity.payload === undefined ? payload : identity.payload,
  }
}

/** @throws {InvalidEventError} when it cannot be the scope of IDs */
export function checkSource(source: unknown): string {
  const fault = typeof source === 'string' ? faultOf(source) : `is ${describe(source)}`
  if (!fault) return source as string
  const name = typeof source === 'string' ? source : describe(source)
  throw new InvalidEventError(name, `The source of an event ${fault}. ${WHAT_AN_ID_MUST_BE}`)
}

/** @throws {InvalidEventError} when it cannot be an ID */
export function checkId(source: string, id: unknown): string {
  const text = typeof id === 'number' && Number.isSafeInteger(id) ? String(id) : id
  const fault = typeof text === 'string' ? faultOf(text) : `is ${describe(id)}`
  if (fault) throw new InvalidEventError(source, `The event ID from source "${source}" ${fault}. ${WHAT_AN_ID_MUST_BE}`)
  return text as string
}

function faultOf(text: string): string | undefined {
  if (text === '') return 'is an empty string'
  if (text.trim() === '') return 'is blank'
  if (Buffer.byteLength(text) > MAX_BYTES) return `has ${Buffer.byteLength(text)} bytes`
  if (!text.isWellFormed()) return 'has a lone surrogate'
  if (/\p{Cc}/u.test(text)) return 'has a control character'
  if (text.trim() !== text) return 'has white space at an end'
  if (STRINGIFIED_NOTHING.has(text)) return `is the text "${text}", which is a missing value made a string`
  return undefined
}

function describe(value: unknown): string {
  if (value === undefined || value === null) return `missing (${value})`
  if (typeof value === 'number') return `the number ${value}, not a safe integer`
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** The type is for people: whatever comes is made storable, never refused. */
export function cleanType(type: unknown): string {
  if (typeof type !== 'string' && typeof type !== 'number') return 'unknown'
  const text = String(type)
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
  return cutToBytes(text, MAX_BYTES).trimEnd() || 'unknown'
}

function cutToBytes(text: string, bytes: number): string {
  let cut = ''
  let used = 0
  for (const character of text) {
    used += Buffer.byteLength(character)
    if (used > bytes) return cut
    cut += character
  }
  return cut
}
