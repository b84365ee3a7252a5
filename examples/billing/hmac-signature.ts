import { createHmac, timingSafeEqual } from 'node:crypto'

/** The signature of a body, as Corvel and the partner send it: HMAC-SHA256 in hexadecimal digits. */
export function sign(secret: string, body: string | Buffer): string {
  return digest(secret, body).toString('hex')
}

/** Compares in constant time: how long a wrong signature takes to be refused must not say how much of it was right. */
export function isSigned(secret: string, body: Buffer, signature: unknown): boolean {
  if (typeof signature !== 'string') return false
  const expected = digest(secret, body)
  const given = Buffer.from(signature, 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

function digest(secret: string, body: string | Buffer): Buffer {
  return createHmac('sha256', secret).update(body).digest()
}
