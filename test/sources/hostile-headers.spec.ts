import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { InvalidSignatureError } from '../../src/errors.js'
import { received, verdict } from './deliveries.js'
import { fixtures, NOW } from './fixtures.js'

const now = String(NOW / 1000)
const FRAGMENTS =
  't v1 v0 v1a ts h1 sha256 whsec_ = == , ; . : -1 0 1e400 __proto__ constructor NaN Infinity \u0000 \ud800'.split(' ')
const token = fc.constantFrom(...FRAGMENTS, ' ', ', ', now, String(NOW), new Date(NOW).toISOString())
const digest = fc.oneof(
  fc.stringMatching(/^[0-9a-f]{64}$/),
  fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  fc.uint8Array({ minLength: 64, maxLength: 72 }).map((bytes) => Buffer.from(bytes).toString('base64')),
)
/** A header as it might be, as it nearly might be, and as it never is. */
const header = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.array(fc.oneof(token, digest), { maxLength: 12 }).map((parts) => parts.join('')),
)

describe.each(fixtures)('$name', ({ source, firstDelivery, signatureHeader }) => {
  const genuine = firstDelivery()
  const names = Object.keys(genuine.headers)
  /** Some of the headers replaced, the one with the signature always. */
  const hostile = fc
    .record(Object.fromEntries(names.map((name) => [name, fc.option(header, { nil: undefined })])))
    .map((headers) => {
      const given = Object.entries(headers).filter((pair): pair is [string, string] => pair[1] !== undefined)
      return { ...genuine.headers, ...Object.fromEntries(given) }
    })
    .chain((headers) =>
      signatureHeader ? header.map((value) => ({ ...headers, [signatureHeader]: value })) : fc.constant(headers),
    )

  it('never accepts a signature made up, and never throws anything but InvalidSignatureError', () => {
    fc.assert(
      fc.property(hostile, (headers) => {
        const body = signatureHeader ? genuine.body : Buffer.from('{"notificationItems":[{}]}')
        expect(verdict(source, { headers, body })).toBeInstanceOf(InvalidSignatureError)
      }),
      { numRuns: 150 },
    )
  })

  it('never throws anything but InvalidSignatureError for any body, and never throws when it looks for events', () => {
    fc.assert(
      fc.property(hostile, fc.anything(), (headers, body) => {
        const delivery = { ...received({ headers, body: Buffer.from('x') }), body }
        try {
          void source.verify!(delivery)
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidSignatureError)
        }
        source.handshake?.(delivery)
        source.identify(delivery)
      }),
      { numRuns: 150 },
    )
  })
})
