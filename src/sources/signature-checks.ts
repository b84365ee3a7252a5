import type { KeyObject } from 'node:crypto'
import { createHash, createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import { ConfigurationError } from '../errors.js'
import type { WebhookDelivery } from '../webhook-delivery.js'
import type { SignatureCheck, SignatureClaim, SignatureScheme } from './signature.js'
import { signedBytes, signedHeader } from './signature.js'

/** How an HMAC-SHA256 becomes the text in a header. */
export interface HmacFormat {
  encoding: 'hex' | 'base64'
  /** What stands before the digest, such as `sha256=`. */
  prefix?: string
  /** The bytes of the key. @default the secret as UTF-8 */
  key?: (secret: string) => Buffer
}

/** Checks HMAC-SHA256. */
export function hmac({
  encoding,
  prefix = '',
  key = (secret) => Buffer.from(secret),
}: HmacFormat): (secret: string) => SignatureCheck {
  return (secret) => {
    const keyBytes = key(secret)
    return ({ signed, signatures }) => {
      const digest = createHmac('sha256', keyBytes)
      for (const piece of signed) digest.update(piece)
      return includes(signatures, prefix + digest.digest(encoding))
    }
  }
}

/** The scheme of the many senders that sign the bytes of the body, and nothing else, into one header. */
export function bodyHmac(sender: string, header: string, format: HmacFormat): SignatureScheme {
  return {
    sender,
    check: hmac(format),
    read: (delivery: WebhookDelivery) => ({
      signatures: [signedHeader(delivery, header)],
      signed: [signedBytes(delivery)],
    }),
  }
}

/** Checks a plain SHA-256 of the secret and what was signed. */
export function secretHash(secret: string): SignatureCheck {
  return ({ signed, signatures }) => includes(signatures, sha256([secret, ...signed]))
}

/** Checks a secret that is sent as it is. */
export function sharedToken(secret: string): SignatureCheck {
  // Hashed, so that not even the length of the secret shows in the time.
  const expected = sha256([secret])
  return ({ signatures }) => signatures.some((token) => equal(sha256([token]), expected))
}

/** Checks signatures, in base64, that were made with the private key of a pair. */
export function publicKey(key: KeyObject, algorithm: 'sha256' | null, prefix = ''): SignatureCheck {
  return ({ signed, signatures }: SignatureClaim) => {
    const content = Buffer.concat(signed.map((piece) => Buffer.from(piece)))
    return signatures
      .filter((signature) => signature.startsWith(prefix))
      .map((signature) => fromBase64(signature.slice(prefix.length)))
      .some((signature) => signature !== undefined && verify(algorithm, content, key, signature))
  }
}

/** @throws {ConfigurationError} when it cannot be read as a key */
export function readPublicKey(
  sender: string,
  kind: 'ec' | 'ed25519',
  input: Parameters<typeof createPublicKey>[0],
): KeyObject {
  let cause: unknown
  try {
    const key = createPublicKey(input)
    if (key.asymmetricKeyType === kind) return key
  } catch (error) {
    cause = error
  }
  throw new ConfigurationError(
    `The source ${sender} was given a secret that cannot be read as a public key of the kind ${kind}. Copy the whole key from the settings of the endpoint.`,
    { cause },
  )
}

/** @throws {ConfigurationError} when the text is not wholly in this encoding; Node would silently skip what is not */
export function decodeKey(sender: string, text: string, encoding: 'hex' | 'base64'): Buffer {
  const key = Buffer.from(text, encoding)
  if (key.length > 0 && key.toString(encoding).replace(/=+$/, '') === normalized(text, encoding)) return key
  throw new ConfigurationError(
    `The source ${sender} was given a secret that is not in ${encoding}. Copy the whole secret from the settings of the endpoint.`,
  )
}

function normalized(text: string, encoding: 'hex' | 'base64'): string {
  return encoding === 'hex' ? text.toLowerCase() : text.replace(/=+$/, '')
}

/** Only text that is wholly base64; Node would skip what is not, and take many texts for one signature. */
function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

function includes(signatures: readonly string[], expected: string): boolean {
  return signatures.some((signature) => equal(signature, expected))
}

function equal(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

function sha256(pieces: Array<string | Buffer>): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return hash.digest('hex')
}
