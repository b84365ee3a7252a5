import { ConfigurationError, InvalidSignatureError, MissingRawBodyError } from '../errors.js'
import type { WebhookDelivery } from '../webhook-delivery.js'

/** The secret of an endpoint: several while one is being replaced, a function of the delivery for several tenants. */
export type WebhookSecret = string | readonly string[] | ((delivery: WebhookDelivery) => string | readonly string[])

/** Options of a source whose sender signs its deliveries. */
export interface SignedSourceOptions {
  secret: WebhookSecret
}

/** Options of a source whose sender also signs the time. */
export interface TimedSourceOptions extends SignedSourceOptions {
  /** How old a delivery may be, in milliseconds; `Infinity` takes any age. @default the sender's own, see its source */
  tolerance?: number
  /** The time now, in milliseconds since 1970. @default the system's clock */
  clock?: () => number
}

/** What a delivery says of its own signing. */
export interface SignatureClaim {
  readonly signatures: readonly string[]
  /** What was signed, piece by piece. */
  readonly signed: ReadonlyArray<string | Buffer>
  /** When it was signed, in milliseconds since 1970. */
  readonly signedAt?: number
}

/** Says whether one of the signatures of a claim was made with a certain secret. */
export type SignatureCheck = (claim: SignatureClaim) => boolean

/** How one sender signs: a row of the table that all sources make. */
export interface SignatureScheme {
  readonly sender: string
  /** @throws {InvalidSignatureError} when the delivery has nothing that could be a signature */
  read(delivery: WebhookDelivery): SignatureClaim | SignatureClaim[]
  /** @throws {ConfigurationError} when the secret is not in the sender's format */
  check(secret: string): SignatureCheck
  /** In milliseconds. @default Infinity */
  readonly tolerance?: number
  /** Whether the tolerance also holds for times in the future. @default false */
  readonly refusesFuture?: boolean
}

/** @throws {ConfigurationError} when the options could not verify anything */
export function signatureVerifier(
  scheme: SignatureScheme,
  { secret, tolerance = scheme.tolerance ?? Infinity, clock = () => Date.now() }: TimedSourceOptions,
): (delivery: WebhookDelivery) => void {
  checkTolerance(scheme, tolerance)
  const checksFor = secretReader(scheme, secret)

  return (delivery) => {
    const claims = [scheme.read(delivery)].flat()
    const checks = checksFor(delivery)
    for (const claim of claims) {
      if (claim.signatures.length === 0) {
        throw new InvalidSignatureError('it has no signature of the kind that is checked')
      }
      if (!checks.some((check) => check(claim))) {
        throw new InvalidSignatureError('no signature fits what was delivered and a secret of this source')
      }
      // The age of what nobody has signed says nothing, so it comes second.
      if (claim.signedAt !== undefined) checkAge(clock() - claim.signedAt, tolerance, scheme.refusesFuture)
    }
  }
}

/** @throws {InvalidSignatureError} when the header is missing or empty */
export function signedHeader(delivery: WebhookDelivery, name: string): string {
  const value = delivery.headers.get(name)
  if (!value) throw new InvalidSignatureError(`the header ${name} is missing or empty`)
  return value
}

/** @throws {MissingRawBodyError} when the bytes were not kept */
export function signedBytes(delivery: WebhookDelivery): Buffer {
  if (!delivery.rawBody) throw new MissingRawBodyError(delivery.headers.get('content-type'))
  return delivery.rawBody
}

/**
 * Reads a time as the senders' packages do, which is by `parseInt`.
 * @throws {InvalidSignatureError} when it is no number
 */
export function signedInteger(text: string | undefined, where: string): number {
  const time = Number.parseInt(text ?? '', 10)
  if (Number.isNaN(time)) throw new InvalidSignatureError(`${where} has no timestamp`)
  return time
}

/**
 * Reads a header of `key=value` pairs; a key may come several times.
 *
 * @example
 * headerFields('t=1,v1=a,v1=b', ',').get('v1') // ['a', 'b']
 */
export function headerFields(header: string, separator: string): Map<string, string[]> {
  const fields = new Map<string, string[]>()
  for (const pair of header.split(separator)) {
    const [key = '', value = ''] = pair.split('=')
    const values = fields.get(key)
    if (values) values.push(value)
    else fields.set(key, [value])
  }
  return fields
}

function secretReader(scheme: SignatureScheme, secret: WebhookSecret): (delivery: WebhookDelivery) => SignatureCheck[] {
  if (typeof secret === 'function') return (delivery) => readSecrets(scheme, secret(delivery))
  const checks = readSecrets(scheme, secret)
  return () => checks
}

function readSecrets(scheme: SignatureScheme, given: string | readonly string[]): SignatureCheck[] {
  const secrets: unknown[] = [given].flat()
  // An HMAC with an empty key can be made by anybody.
  if (secrets.length === 0 || !secrets.every((secret) => typeof secret === 'string' && secret.trim() !== '')) {
    throw new ConfigurationError(
      `The source ${scheme.sender} was given ${secrets.length > 1 ? 'a list with an empty or missing secret' : 'an empty or missing secret'}, ` +
        `which would let anybody forge deliveries. Set the option secret to the signing secret of the endpoint.`,
    )
  }
  return (secrets as string[]).map((secret) => scheme.check(secret))
}

function checkTolerance({ sender }: SignatureScheme, tolerance: number): void {
  if (tolerance > 0) return
  throw new ConfigurationError(
    `The source ${sender} was given the tolerance ${tolerance}. Give a positive number of milliseconds, or Infinity to take deliveries of any age.`,
  )
}

function checkAge(age: number, tolerance: number, refusesFuture = false): void {
  // Turned round, so that an age that is no number is refused too.
  if (!(age <= tolerance)) {
    throw new InvalidSignatureError(`it was signed ${age} ms ago, and the tolerance is ${tolerance} ms`)
  }
  if (refusesFuture && -age > tolerance) {
    throw new InvalidSignatureError(`it was signed ${-age} ms in the future, and the tolerance is ${tolerance} ms`)
  }
}
