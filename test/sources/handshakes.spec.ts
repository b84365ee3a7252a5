import { describe, expect, it } from '@jest/globals'
import { InvalidSignatureError } from '../../src/errors.js'
import type { HttpDelivery } from './deliveries.js'
import { identities, received, verdict } from './deliveries.js'
import { fixtureOf, fixtures, NOW } from './fixtures.js'

const handshakes = fixtures.flatMap(({ name: sender, source, handshakes = [] }) =>
  handshakes.map((handshake) => ({ sender, source, ...handshake })),
)
const form = (body: string, headers?: Record<string, string>): HttpDelivery => ({
  headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
  body: Buffer.from(body),
})

describe.each(handshakes)('$name of $sender', ({ source, delivery, reply }) => {
  it('is verified, and answered in the format of the sender', () => {
    expect(verdict(source, delivery)).toBeUndefined()
    expect(source.handshake!(received(delivery))).toEqual(reply)
  })
})

describe.each(fixtures)('events of $name', ({ source, firstDelivery, retry }) => {
  it('are no handshakes', () => {
    expect(source.handshake?.(received(firstDelivery()))).toBeUndefined()
    expect(source.handshake?.(received(retry()))).toBeUndefined()
  })
})

describe('the signed handshakes', () => {
  it.each(handshakes.filter(({ name }) => name !== 'ssl_check'))(
    'refuse a forged $name of $sender',
    ({ source, delivery }) => {
      const body = Buffer.from(delivery.body.toString().replace(/[a-z](?=[^a-z]*$)/, 'X'))
      expect(verdict(source, { ...delivery, body })).toBeInstanceOf(InvalidSignatureError)
    },
  )
})

describe("Slack's unsigned check of the certificate", () => {
  const { source, keys, sign } = fixtureOf('slack')

  it.each(['ssl_check=1', 'ssl_check=1&token=abc', 'token=abc&ssl_check=1'])('lets %s through, as no event', (body) => {
    const delivery = form(body)
    expect(verdict(source, delivery)).toBeUndefined()
    expect(source.handshake!(received(delivery))).toEqual({ body: '', contentType: 'text/plain' })
    expect(identities(source, delivery)).toEqual([{ id: undefined, type: undefined }])
  })

  it.each([
    'ssl_check=1&event_id=Ev1',
    'ssl_check=1&payload=%7B%22event_id%22%3A%22Ev1%22%7D',
    'ssl_check=1&token%5Bevent_id%5D=Ev1',
    'ssl_check=0',
    'ssl_check=',
    'ssl_check=0&ssl_check=1',
    'ssl_check=11',
    'token=abc',
    '',
  ])('lets nothing else through: %j', (body) => {
    expect(verdict(source, form(body))).toBeInstanceOf(InvalidSignatureError)
    expect(source.handshake!(received(form(body)))).toBeUndefined()
  })

  it.each(['application/json', 'text/plain', 'multipart/form-data'])('lets no %s through', (type) => {
    const delivery = form('ssl_check=1', { 'Content-Type': type })
    expect(verdict(source, delivery)).toBeInstanceOf(InvalidSignatureError)
  })

  it('is not told from a parsed body, which may say something else than the bytes', () => {
    const delivery = { ...received(form('event_id=Ev1')), body: { ssl_check: '1' } }
    expect(() => source.verify!(delivery)).toThrow(InvalidSignatureError)
    expect(source.handshake!(delivery)).toBeUndefined()
  })

  it('does not stand in the way of a signed event that speaks of it', () => {
    const event = { type: 'event_callback', event_id: 'Ev1', ssl_check: '1', event: { type: 'message' } }
    const delivery = sign({ body: event }, keys.current, NOW)
    expect(verdict(source, delivery)).toBeUndefined()
    expect(source.handshake!(received(delivery))).toBeUndefined()
  })
})

describe('what only looks like a handshake', () => {
  it.each([{ type: 'url_verification' }, { type: 'url_verification', challenge: { html: '<b>' } }])(
    'is not answered by Slack: %j',
    (body) => {
      const { source, keys, sign } = fixtureOf('slack')
      expect(source.handshake!(received(sign({ body }, keys.current, NOW)))).toBeUndefined()
    },
  )

  it('keeps its identity when the unsigned header of Twitch is turned into a verification', () => {
    const { source, firstDelivery, ids } = fixtureOf('twitch')
    const { headers, body } = firstDelivery()
    const turned = { headers: { ...headers, 'Twitch-Eventsub-Message-Type': 'webhook_callback_verification' }, body }
    expect(source.handshake!(received(turned))).toBeUndefined()
    expect(identities(source, turned).map(({ id }) => id)).toEqual(ids)
  })
})
