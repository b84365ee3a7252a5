import { createHmac } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { InvalidEventError, InvalidSignatureError } from '../../src/errors.js'
import { toEvent } from '../../src/event-identity.js'
import { compositeId } from '../../src/sources/identities.js'
import { adyen } from '../../src/sources/index.js'
import type { HttpDelivery } from './deliveries.js'
import { identities, received, verdict } from './deliveries.js'
import { fixtureOf, fixtures, NOW } from './fixtures.js'

const delivered = (body: unknown, headers: Record<string, string> = {}): HttpDelivery => ({
  headers: { 'Content-Type': 'application/json', ...headers },
  body: Buffer.from(JSON.stringify(body)),
})
const idsOf = (name: string, delivery: HttpDelivery): unknown[] =>
  identities(fixtureOf(name).source, delivery).map(({ id }) => id)

describe('an ID made of several fields', () => {
  it('differs when any field differs', () => {
    const field = fc.oneof(fc.string({ minLength: 1 }), fc.stringMatching(/^[:%3A25]+$/), fc.integer())
    const fields = fc.array(field, { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(fields, fields, (one, other) => {
        const same = JSON.stringify(one.map(String)) === JSON.stringify(other.map(String))
        return (compositeId(one) === compositeId(other)) === same
      }),
      {
        numRuns: 2000,
        examples: [
          [['a:b'], ['a', 'b']],
          [
            ['a', 'b%3Ac'],
            ['a', 'b:c'],
          ],
          [[1], ['1']],
        ],
      },
    )
  })

  it.each([[undefined], [null], [''], [NaN], [{}], [['a']], [1.5], [2 ** 53]])('is not made with %j', (field) => {
    expect(compositeId(['a', field])).toBeUndefined()
  })
})

describe('a delivery without its ID', () => {
  it.each(fixtures)('of $name is refused as an event, and not taken for an empty batch', ({ source }) => {
    const hostile = [
      undefined,
      null,
      0,
      5,
      true,
      '',
      'text',
      [],
      [null],
      [[]],
      [5],
      {},
      { events: null },
      { events: {} },
    ]
    const more = [{ events: [null, 'a', 5, []] }, { notificationItems: 'a' }, { notificationItems: [null, {}] }]
    const headers = { get: () => undefined }
    for (const body of [...hostile, ...more]) {
      const delivery = { headers, body, context: undefined as never }
      expect(source.handshake?.(delivery)).toBeUndefined()
      const found = [source.identify(delivery)].flat()
      if (found.length === 0) expect(body).toEqual([])
      for (const identity of found) expect(() => toEvent('a', identity)).toThrow(InvalidEventError)
    }
  })
})

describe('an empty batch', () => {
  it.each(fixtures.filter(({ empty }) => empty))('of $name is verified, and carries no event', (fixture) => {
    const delivery = fixture.sign(fixture.empty!, fixture.keys.current, NOW)
    expect(verdict(fixture.source, delivery)).toBeUndefined()
    expect(fixture.source.identify(received(delivery))).toEqual([])
  })

  it('of Adyen is refused, as nothing in it is signed', () => {
    const { source } = fixtureOf('adyen')
    expect(verdict(source, delivered({ live: 'false', notificationItems: [] }))).toBeInstanceOf(InvalidSignatureError)
  })
})

describe('Stripe', () => {
  it('has the ID of a thin event at the same place', () => {
    const event = { id: 'evt_test_65', object: 'v2.core.event', type: 'v1.billing.meter.error_report_triggered' }
    expect(idsOf('stripe', delivered(event))).toEqual(['evt_test_65'])
  })
})

describe('a header without the kind of signature that is checked', () => {
  it.each([
    ['stripe', 'Stripe-Signature', /v1=.*/, 'v0=00'],
    ['paddle', 'Paddle-Signature', /h1=.*/, 'h2=00'],
  ])('is refused as such for %s', (name, header, kind, other) => {
    const { source, firstDelivery } = fixtureOf(name)
    const { headers, body } = firstDelivery()
    const without = { headers: { ...headers, [header]: headers[header]!.replace(kind, other) }, body }
    expect(verdict(source, without)).toMatchObject({ reason: 'it has no signature of the kind that is checked' })
  })
})

describe('a header with several signatures', () => {
  it.each([
    ['stripe', 'Stripe-Signature', (right: string) => [`${right},v1=00`, right.replace(',', ',v1=00,')]],
    ['paddle', 'Paddle-Signature', (right: string) => [`${right};h1=00`, right.replace(';', ';h1=00;')]],
    ['standard-webhooks', 'webhook-signature', (right: string) => [`${right} v1,00`, `v1,00 ${right}`]],
    ['mollie', 'X-Mollie-Signature', (right: string) => [`${right}, sha256=00`, `sha256=00, ${right}`]],
  ])('is accepted for %s when any one of them fits', (name, header, several) => {
    const { source, firstDelivery } = fixtureOf(name)
    const { headers, body } = firstDelivery()
    for (const value of several(headers[header]!)) {
      expect(verdict(source, { headers: { ...headers, [header]: value }, body })).toBeUndefined()
    }
  })
})

describe('two families of headers', () => {
  it('are not mixed by Standard Webhooks, or an unsigned ID would get through', () => {
    const { source, firstDelivery, ids } = fixtureOf('standard-webhooks')
    const { headers, body } = firstDelivery()
    const mixed: HttpDelivery = { headers: { ...headers, 'svix-id': 'msg_fresh' }, body }
    expect(verdict(source, mixed)).toBeUndefined()
    expect(idsOf('standard-webhooks', mixed)).toEqual(ids)
    const { 'webhook-id': _, ...withoutId } = mixed.headers
    expect(verdict(source, { headers: withoutId, body })).toBeInstanceOf(InvalidSignatureError)
  })

  it('are both read by Shopify, and not mixed', () => {
    const { source, firstDelivery, ids } = fixtureOf('shopify')
    const { headers, body } = firstDelivery()
    const events = {
      'shopify-hmac-sha256': headers['X-Shopify-Hmac-Sha256']!,
      'shopify-webhook-id': 'of the other family',
      'shopify-topic': 'Product',
      'shopify-action': 'update',
    }
    expect(verdict(source, { headers: events, body })).toBeUndefined()
    expect(identities(source, { headers: events, body })).toEqual([
      { id: 'of the other family', type: 'Product.update' },
    ])
    const { 'shopify-hmac-sha256': _, ...mixed } = { ...headers, ...events }
    expect(idsOf('shopify', { headers: mixed, body })).toEqual(ids)
  })
})

describe('HubSpot', () => {
  const event = {
    appId: 1,
    portalId: 2,
    subscriptionId: 3,
    eventId: 4,
    objectId: 5,
    occurredAt: 6,
    attemptNumber: 0,
    subscriptionType: 'contact.propertyChange',
    propertyName: 'email',
  }
  const { objectId: _, propertyName: __, ...association } = { ...event, fromObjectId: 7, toObjectId: 8 }

  it('tells events apart by each of the fields', () => {
    const keys = ['appId', 'portalId', 'subscriptionId', 'eventId', 'objectId', 'occurredAt', 'propertyName'] as const
    const all = keys.map((key) => ({ ...event, [key]: 'other' }))
    expect(new Set(idsOf('hubspot', delivered([event, ...all]))).size).toBe(keys.length + 1)
    expect(idsOf('hubspot', delivered([event]))).toEqual(['1:2:3:4:5:6:email'])
  })

  it('makes no ID when one of them is missing', () => {
    const keys = ['appId', 'portalId', 'subscriptionId', 'eventId', 'objectId', 'occurredAt'] as const
    const all = keys.map((key) => ({ ...event, [key]: undefined }))
    expect(idsOf('hubspot', delivered([...all, { ...event, propertyName: null }]))).toEqual(
      Array.from({ length: 7 }, () => undefined),
    )
  })

  it('has both objects of an association for its ID', () => {
    expect(idsOf('hubspot', delivered([association, { ...association, toObjectId: 9 }]))).toEqual([
      '1:2:3:4:7:8:6:association',
      '1:2:3:4:7:9:6:association',
    ])
  })
})

describe('Adyen', () => {
  const { sign, keys, source, first } = fixtureOf('adyen')
  const [item] = first.body as object[]

  it('tells a refused payment from the same one authorised', () => {
    expect(new Set(idsOf('adyen', sign(first, keys.current, NOW))).size).toBe(2)
  })

  it.each(['pspReference', 'eventCode', 'success'])('makes no ID without %s', (field) => {
    const delivery = sign({ body: [{ ...item, [field]: undefined }] }, keys.current, NOW)
    expect(idsOf('adyen', delivery)).toEqual([undefined])
  })

  it('refuses a signature whose fields were moved across their separators to make a fresh ID', () => {
    const moved = { ...item, pspReference: '7914073381342284:', originalReference: 'TestMerchant' }
    const delivery = sign(first, keys.current, NOW)
    const [original] = JSON.parse(delivery.body.toString()).notificationItems
    const { additionalData } = original.NotificationRequestItem
    const [merchantAccountCode, merchantReference] = ['order', '4711']
    const forged = { ...moved, merchantAccountCode, merchantReference, additionalData }
    const replayed = delivered({ notificationItems: [{ NotificationRequestItem: forged }] })
    expect(verdict(source, replayed)).toMatchObject({ reason: expect.stringContaining('separator') })
  })

  it('refuses a batch of which one item is unsigned', () => {
    const delivery = sign(first, keys.current, NOW)
    const content = JSON.parse(delivery.body.toString())
    delete content.notificationItems[1].NotificationRequestItem.additionalData
    expect(verdict(source, delivered(content))).toMatchObject({ reason: expect.stringContaining('hmacSignature') })
  })

  it.each([0, 1])('refuses a batch whose item %d is forged, though the others are not', (index) => {
    const content = JSON.parse(sign(first, keys.current, NOW).body.toString())
    content.notificationItems[index].NotificationRequestItem.pspReference = '7914073381349999'
    expect(verdict(source, delivered(content))).toMatchObject({ reason: expect.stringMatching(/^no signature fits/) })
  })

  it('answers duplicates with [accepted] only when asked to', () => {
    expect(adyen({ secret: 'AB' }).duplicateReply).toBeUndefined()
    expect(adyen({ secret: 'AB', accepted: true }).duplicateReply).toBe('[accepted]')
  })
})

describe('Twitch', () => {
  const { sign, keys, source, first } = fixtureOf('twitch')

  it('has an ID for each grant of a drop', () => {
    const subscription = { type: 'drop.entitlement.grant' }
    const events = [
      { id: 'bf7c8577', data: {} },
      { id: 'bf7c8578', data: {} },
    ]
    const delivery = sign({ ...first, body: { subscription, events } }, keys.current, NOW)
    expect(verdict(source, delivery)).toBeUndefined()
    expect(source.identify(received(delivery))).toEqual([
      { id: 'bf7c8577', type: 'drop.entitlement.grant', payload: events[0] },
      { id: 'bf7c8578', type: 'drop.entitlement.grant', payload: events[1] },
    ])
  })

  it('refuses a time that only a lax reader takes, as part of the ID is in it', () => {
    const headers = { ...first.headers, 'Twitch-Eventsub-Message-Id': 'an-id+00' }
    const delivery = sign({ ...first, headers }, keys.current, NOW)
    expect(verdict(source, delivery)).toBeUndefined()
    const time = `+00${delivery.headers['Twitch-Eventsub-Message-Timestamp']}`
    expect(Date.parse(time)).toBe(NOW)
    const moved = { 'Twitch-Eventsub-Message-Id': 'an-id', 'Twitch-Eventsub-Message-Timestamp': time }
    expect(verdict(source, { ...delivery, headers: { ...delivery.headers, ...moved } })).toMatchObject({
      reason: expect.stringContaining('no time in UTC'),
    })
  })

  it.each([1, 2, 4, 5, 8, -1, -2, -4])(
    'refuses %d characters moved between ID and time to make a fresh ID',
    (count) => {
      const { headers, body } = sign(first, keys.current, NOW)
      const [id, time] = [headers['Twitch-Eventsub-Message-Id']!, headers['Twitch-Eventsub-Message-Timestamp']!]
      const signed = id + time
      const moved = {
        ...headers,
        'Twitch-Eventsub-Message-Id': signed.slice(0, id.length + count),
        'Twitch-Eventsub-Message-Timestamp': signed.slice(id.length + count),
      }
      expect(verdict(source, { headers, body })).toBeUndefined()
      expect(verdict(source, { headers: moved, body })).toMatchObject({
        reason: expect.stringContaining('no time in UTC'),
      })
    },
  )
})

describe('Linear', () => {
  it.each([{}, { webhookTimestamp: null }, { webhookTimestamp: 'now' }, { webhookTimestamp: String(NOW) }])(
    'refuses a signed body whose time is %j',
    (time) => {
      const { source, keys } = fixtureOf('linear')
      const { headers, body } = delivered({ type: 'Issue', ...time })
      const signature = createHmac('sha256', keys.current.secret).update(body).digest('hex')
      expect(verdict(source, { headers: { ...headers, 'Linear-Signature': signature }, body })).toMatchObject({
        reason: 'the body has no webhookTimestamp',
      })
    },
  )
})

describe('Mollie', () => {
  it('refuses a classic webhook, whose ID is that of the payment', () => {
    const classic = {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: Buffer.from('id=tr_d0b0E3EA3v'),
    }
    expect(verdict(fixtureOf('mollie').source, classic)).toBeInstanceOf(InvalidSignatureError)
  })

  it('signs with and without prefix', () => {
    const { source, firstDelivery } = fixtureOf('mollie')
    const { headers, body } = firstDelivery()
    const bare = headers['X-Mollie-Signature']!.slice('sha256='.length)
    expect(verdict(source, { headers: { ...headers, 'X-Mollie-Signature': bare }, body })).toBeUndefined()
  })
})

describe('a source', () => {
  it.each(fixtures)(
    'of $name says how long the sender may deliver again, and can be spread',
    ({ source, firstDelivery }) => {
      const renamed = { ...source, name: 'tenant-a' }
      expect(renamed.redeliveryDays).toBeGreaterThan(0)
      expect(verdict(renamed, firstDelivery())).toBeUndefined()
      expect(identities(renamed, firstDelivery())).toEqual(identities(source, firstDelivery()))
    },
  )
})
