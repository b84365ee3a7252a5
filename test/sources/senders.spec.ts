import { describe, expect, it } from '@jest/globals'
import { InvalidSignatureError, MissingRawBodyError } from '../../src/errors.js'
import type { HttpDelivery } from './deliveries.js'
import { identities, received, verdict } from './deliveries.js'
import type { SenderFixture } from './fixtures.js'
import { fixtures, NOW } from './fixtures.js'

const accepted = undefined
const refused = (reason: RegExp = /^(?!.*undefined)/): unknown =>
  expect.objectContaining({ constructor: InvalidSignatureError, reason: expect.stringMatching(reason) })
const NO_MATCH = /^no signature fits what was delivered/

/** The digest at the end of a header such as `t=1,v1=…` or `sha256=…`. */
const DIGEST = /[A-Za-z0-9+/ _-]+=*$/

function withSignature(
  { signatureHeader, mutateSignature }: SenderFixture,
  delivery: HttpDelivery,
  mutate: (signature: string) => string,
): HttpDelivery {
  if (mutateSignature) return mutateSignature(delivery, mutate)
  const value = delivery.headers[signatureHeader!]!.replace(DIGEST, (digest) => mutate(digest))
  return { ...delivery, headers: { ...delivery.headers, [signatureHeader!]: value } }
}

function signatureOf(fixture: SenderFixture, delivery: HttpDelivery): string {
  let found = ''
  withSignature(fixture, delivery, (signature) => (found = signature))
  return found
}

const other = (character: string): string => (character === 'a' ? 'b' : 'a')

describe.each(fixtures)('$name', (fixture) => {
  const { source, keys, create, sign, first } = fixture
  const fresh = (options: Partial<Parameters<typeof create>[0]> = {}) =>
    create({ secret: keys.current.secret, clock: () => NOW, ...options })

  describe('identity', () => {
    it('is the same for the first delivery and its retry', () => {
      expect(identities(source, fixture.firstDelivery()).map(({ id }) => id)).toEqual(fixture.ids)
      expect(identities(source, fixture.retry()).map(({ id }) => id)).toEqual(fixture.ids)
    })

    it('is another one for another event', () => {
      expect(identities(source, fixture.otherEvent()).map(({ id }) => id)).toEqual(fixture.otherIds)
      expect(fixture.ids).not.toEqual(expect.arrayContaining(fixture.otherIds))
    })

    it('has the type of the event', () => {
      expect(identities(source, fixture.firstDelivery())[0]!.type).toBe(fixture.type)
    })

    it('carries the item of a batch as payload', () => {
      const identified = source.identify(received(fixture.firstDelivery()))
      if (!Array.isArray(identified)) return
      const payloads = identified.map(({ payload }) => payload)
      expect(new Set(payloads).size).toBe(fixture.ids.length)
      for (const payload of payloads) expect(fixture.firstDelivery().body.toString()).toContain(JSON.stringify(payload))
    })
  })

  describe('signature', () => {
    it.each(['firstDelivery', 'retry', 'otherEvent'] as const)('accepts %s', (which) => {
      expect(verdict(source, fixture[which]())).toBe(accepted)
    })

    it('refuses a forged delivery', () => {
      expect(verdict(source, fixture.forged())).toEqual(refused(NO_MATCH))
    })

    it.each<[string, (signature: string) => string]>([
      ['with another first character', (signature) => other(signature[0]!) + signature.slice(1)],
      ['with another character in the middle', (s) => s.slice(0, 20) + other(s[20]!) + s.slice(21)],
      ['that is cut by one character', (signature) => signature.slice(0, -1)],
      ['that is cut to 31 characters', (signature) => signature.slice(0, 31)],
      ['that is longer', (signature) => `${signature}ab`],
      ['that is twice as long', (signature) => signature + signature],
      ['with a dot behind', (signature) => `${signature}.`],
      ['in other letters', (signature) => signature.replace(/[a-z]/, (letter) => letter.toUpperCase())],
      ['of as many other characters', (signature) => 'ø'.repeat(signature.length)],
      ['that is empty', () => ''],
    ])('refuses a signature %s', (_, mutate) => {
      const mutated = withSignature(fixture, fixture.firstDelivery(), mutate)
      expect(mutated).not.toEqual(fixture.firstDelivery())
      expect(verdict(source, mutated)).toEqual(refused())
    })

    it('refuses a delivery without signature', () => {
      const { headers, body } = fixture.firstDelivery()
      const { [fixture.signatureHeader ?? '']: _, ...unsigned } = headers
      if (fixture.signatureHeader)
        expect(verdict(source, { headers: unsigned, body })).toEqual(refused(/missing or empty$/))
      else expect(verdict(source, { headers, body: Buffer.from('{}') })).toEqual(refused(/has no/))
    })

    it('refuses an empty header', () => {
      const { headers, body } = fixture.firstDelivery()
      if (!fixture.signatureHeader) return
      expect(verdict(source, { headers: { ...headers, [fixture.signatureHeader]: '' }, body })).toEqual(
        refused(/missing or empty$/),
      )
    })

    it('refuses one changed byte of the body', () => {
      const { headers, body } = fixture.firstDelivery()
      if (fixture.tamper === false) return
      const { tamper = (text: string) => text.replace(/[a-z](?=[^a-z]*$)/, 'X') } = fixture
      const tampered = Buffer.from(tamper(body.toString()))
      expect(tampered.equals(body)).toBe(false)
      expect(verdict(source, { headers, body: tampered })).toEqual(refused())
    })

    it('refuses the signature of another delivery', () => {
      if (fixture.tamper === false) return
      const signature = signatureOf(fixture, fixture.otherEvent())
      expect(
        verdict(
          source,
          withSignature(fixture, fixture.firstDelivery(), () => signature),
        ),
      ).toEqual(refused(NO_MATCH))
    })

    it(`${fixture.unsignedIdHeader ? 'does not cover' : 'covers'} the ID`, () => {
      if (fixture.tamper === false) return
      const { headers, body } = fixture.firstDelivery()
      const id = String(fixture.ids[0])
      const changed: HttpDelivery = {
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.replace(id, 'other')])),
        body: Buffer.from(
          body
            .toString()
            .replace(/(?<="(id|event_id|sg_event_id|webhookEventId|eventId|pspReference)":\s*)[^,}]+/, '"x"'),
        ),
      }
      expect(changed).not.toEqual(fixture.firstDelivery())
      if (fixture.unsignedIdHeader) {
        expect(headers[fixture.unsignedIdHeader]).toBe(id)
        expect(verdict(source, { ...changed, body })).toBe(accepted)
      } else expect(verdict(source, changed)).toEqual(refused(NO_MATCH))
    })

    it('says nothing of signature, secret or payload in what it throws', () => {
      const { message } = verdict(source, fixture.forged()) as Error
      for (const secret of [signatureOf(fixture, fixture.forged()), keys.current.secret, String(fixture.otherIds[0])]) {
        expect(message).not.toContain(secret)
      }
    })

    it('asks for the raw bytes where it needs them', () => {
      const delivery = { ...received(fixture.firstDelivery()), rawBody: undefined }
      if (['adyen', 'telegram'].includes(fixture.name)) expect(source.verify!(delivery)).toBe(accepted)
      else expect(() => source.verify!(delivery)).toThrow(MissingRawBodyError)
    })
  })

  describe('secrets', () => {
    const { current, previous, foreign } = keys
    const signedBy = (key: typeof current): HttpDelivery => sign(first, key, NOW)

    it('accepts old and new ones while they are rotated, in any order', () => {
      for (const secret of [
        [current.secret, previous.secret],
        [previous.secret, current.secret],
      ]) {
        const rotating = fresh({ secret })
        expect(verdict(rotating, signedBy(current))).toBe(accepted)
        expect(verdict(rotating, signedBy(previous))).toBe(accepted)
        expect(verdict(rotating, signedBy(foreign))).toEqual(refused(NO_MATCH))
      }
    })

    it('refuses the old one after the rotation', () => {
      expect(verdict(fresh(), signedBy(previous))).toEqual(refused(NO_MATCH))
    })

    it('come from a function of the delivery too', () => {
      const byTenant = fresh({
        secret: ({ headers }) => (headers.get('x-tenant') ? current.secret : [previous.secret]),
      })
      const { headers, body } = signedBy(current)
      expect(verdict(byTenant, { headers: { ...headers, 'X-Tenant': 'a' }, body })).toBe(accepted)
      expect(verdict(byTenant, { headers, body })).toEqual(refused(NO_MATCH))
    })
  })

  const { tolerance, refusesFuture } = fixture
  if (tolerance === undefined) return

  describe('time', () => {
    const signedAt = (at: number): HttpDelivery => sign(first, keys.current, at)

    it("refuses what is older than the sender's tolerance, and says so", () => {
      expect(verdict(source, signedAt(NOW - tolerance))).toBe(accepted)
      expect(verdict(source, signedAt(NOW - tolerance - 1000))).toEqual(
        refused(new RegExp(`^it was signed ${tolerance + 1000} ms ago, and the tolerance is ${tolerance} ms$`)),
      )
    })

    it('refuses what is older by a single millisecond', () => {
      expect(verdict(fresh({ clock: () => NOW + 1 }), signedAt(NOW - tolerance))).toEqual(refused(/ms ago/))
    })

    it(`${refusesFuture ? 'refuses' : 'accepts'} what comes from the future, as the sender's own package does`, () => {
      expect(verdict(source, signedAt(NOW + tolerance))).toBe(accepted)
      expect(verdict(source, signedAt(NOW + tolerance + 1000))).toEqual(
        refusesFuture ? refused(/in the future/) : accepted,
      )
    })

    it('says of a stale forgery that it is a forgery', () => {
      expect(verdict(source, sign(first, keys.foreign, NOW - tolerance - 1000))).toEqual(refused(NO_MATCH))
    })

    it('has a tolerance that can be set', () => {
      expect(verdict(fresh({ tolerance: tolerance + 1000 }), signedAt(NOW - tolerance - 1000))).toBe(accepted)
      expect(verdict(fresh({ tolerance: 1000 }), signedAt(NOW - 2000))).toEqual(refused(/^it was signed 2000 ms ago/))
      expect(verdict(fresh({ tolerance: Infinity }), signedAt(0))).toBe(accepted)
    })

    it("looks at the system's clock unless it is given another", () => {
      const source = create({ secret: keys.current.secret })
      expect(verdict(source, signedAt(Date.now()))).toBe(accepted)
      expect(verdict(source, signedAt(Date.now() - tolerance - 2000))).toEqual(refused(/ms ago/))
    })
  })
})
