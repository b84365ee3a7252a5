import type { KeyObject } from 'node:crypto'
import { createHash, createHmac, generateKeyPairSync, sign as signWithKey } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import type { TimedSourceOptions, WebhookSource } from '../../src/sources/index.js'
import {
  adyen,
  github,
  gocardless,
  hubspot,
  line,
  linear,
  mollie,
  paddle,
  razorpay,
  sendgrid,
  shopify,
  slack,
  square,
  standardWebhooks,
  stripe,
  telegram,
  twitch,
} from '../../src/sources/index.js'
import type { HttpDelivery } from './deliveries.js'

/** The time on the clock of every fixture's source. */
export const NOW = Date.parse('2026-03-04T05:06:07Z')
/** Within the shortest tolerance, Paddle's. */
const FIRST_AT = NOW - 2_000
const RETRIED_AT = NOW - 1_000
const PUBLIC_URL = 'https://api.example.com/webhooks'

/** What the sender signs with, and what is set as the secret of the source. */
interface SigningKey {
  signing: string | KeyObject
  secret: string
}

/** What one attempt delivers, before it is signed. */
interface Attempt {
  body: unknown
  headers?: Record<string, string>
}

/** How one sender behaves, made without any code of the library. */
interface Sender {
  name: string
  create(options: TimedSourceOptions): WebhookSource
  keys: { current: SigningKey; previous: SigningKey; foreign: SigningKey }
  sign(attempt: Attempt, key: SigningKey, at: number): HttpDelivery
  first: Attempt
  /** The same events as the sender really delivers them again. */
  retried: Attempt
  other: Attempt
  ids: Array<string | number>
  otherIds: Array<string | number>
  type: string
  /** The header with the ID, where the signature does not cover it. */
  unsignedIdHeader?: string
  signatureHeader?: string
  mutateSignature?(delivery: HttpDelivery, mutate: (signature: string) => string): HttpDelivery
  /** `false` when the body is not signed. */
  tamper?: false | ((body: string) => string)
  /** In milliseconds; none when the sender signs no time. */
  tolerance?: number
  refusesFuture?: boolean
  handshakes?: Array<{ name: string; delivery: HttpDelivery; reply: { body: unknown; contentType?: string } }>
  empty?: Attempt
}

/** A sender with its deliveries, ready to be sent over HTTP. */
export interface SenderFixture extends Sender {
  /** Its clock stands at `NOW`. */
  source: WebhookSource
  firstDelivery(): HttpDelivery
  retry(): HttpDelivery
  otherEvent(): HttpDelivery
  forged(): HttpDelivery
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

const hmac = (key: string | Buffer, encoding: 'hex' | 'base64', ...pieces: Array<string | Buffer>): string => {
  const digest = createHmac('sha256', key)
  for (const piece of pieces) digest.update(piece)
  return digest.digest(encoding)
}

const textKeys = (...[current, previous, foreign]: [string, string, string]): Sender['keys'] => ({
  current: { signing: current, secret: current },
  previous: { signing: previous, secret: previous },
  foreign: { signing: foreign, secret: foreign },
})

const KEYS = textKeys('a current secret', 'a previous secret', 'the secret of somebody else')

const request = (body: Buffer, ...headers: Array<Record<string, string> | undefined>): HttpDelivery => ({
  headers: Object.assign({ 'Content-Type': 'application/json' }, ...headers),
  body,
})

/** Signs the body alone into one header. */
const bodySigner =
  (header: string, encoding: 'hex' | 'base64', prefix = ''): Sender['sign'] =>
  ({ body, headers }, { signing }) =>
    request(json(body), headers, { [header]: prefix + hmac(signing as string, encoding, json(body)) })

const seconds = (at: number): number => Math.floor(at / 1000)

const stripeSender: Sender = {
  name: 'stripe',
  create: stripe,
  keys: textKeys('whsec_current', 'whsec_previous', 'whsec_foreign'),
  signatureHeader: 'Stripe-Signature',
  tolerance: 300_000,
  sign({ body }, { signing }, at) {
    const payload = JSON.stringify(body, null, 2)
    const header = Stripe.webhooks.generateTestHeaderString({
      payload,
      secret: signing as string,
      timestamp: seconds(at),
    })
    return request(Buffer.from(payload), { 'Stripe-Signature': header })
  },
  first: { body: stripeEvent('evt_1NG8Du2eZvKYlo2CUI79vXWy', 2) },
  retried: { body: stripeEvent('evt_1NG8Du2eZvKYlo2CUI79vXWy', 1) },
  other: { body: stripeEvent('evt_1NG8Du2eZvKYlo2CUI79vXWY', 1) },
  ids: ['evt_1NG8Du2eZvKYlo2CUI79vXWy'],
  otherIds: ['evt_1NG8Du2eZvKYlo2CUI79vXWY'],
  type: 'invoice.paid',
}

function stripeEvent(id: string, pending_webhooks: number): unknown {
  const request = { id: 'req_1', idempotency_key: '0bf2a3c7-the-same-for-several-events' }
  return { id, object: 'event', type: 'invoice.paid', pending_webhooks, request, data: { object: { id: 'in_1' } } }
}

const githubSender: Sender = {
  name: 'github',
  unsignedIdHeader: 'X-GitHub-Delivery',
  create: github,
  keys: KEYS,
  signatureHeader: 'X-Hub-Signature-256',
  sign: bodySigner('X-Hub-Signature-256', 'hex', 'sha256='),
  first: githubEvent('72d3162e-cc78-11e3-81ab-4c9367dc0958'),
  retried: githubEvent('72d3162e-cc78-11e3-81ab-4c9367dc0958'),
  other: githubEvent('72d3162e-cc78-11e3-81ab-4c9367dc0959'),
  ids: ['72d3162e-cc78-11e3-81ab-4c9367dc0958'],
  otherIds: ['72d3162e-cc78-11e3-81ab-4c9367dc0959'],
  type: 'issues.opened',
}

function githubEvent(guid: string): Attempt {
  return {
    body: { action: 'opened', issue: { number: 1, title: `♥ the issue of ${guid}` } },
    headers: { 'X-GitHub-Delivery': guid, 'X-GitHub-Event': 'issues', 'X-GitHub-Hook-ID': '292430182' },
  }
}

const shopifySender: Sender = {
  name: 'shopify',
  unsignedIdHeader: 'X-Shopify-Webhook-Id',
  create: shopify,
  keys: KEYS,
  signatureHeader: 'X-Shopify-Hmac-Sha256',
  sign: bodySigner('X-Shopify-Hmac-Sha256', 'base64'),
  first: shopifyEvent('b54557e4-bdd9-4b37-8a5f-bf7d70bcd043'),
  retried: shopifyEvent('b54557e4-bdd9-4b37-8a5f-bf7d70bcd043'),
  other: shopifyEvent('b54557e4-bdd9-4b37-8a5f-bf7d70bcd044'),
  ids: ['b54557e4-bdd9-4b37-8a5f-bf7d70bcd043'],
  otherIds: ['b54557e4-bdd9-4b37-8a5f-bf7d70bcd044'],
  type: 'orders/create',
}

function shopifyEvent(webhookId: string): Attempt {
  return {
    body: { id: 820982911946154, admin_graphql_api_id: `gid://shopify/Order/${webhookId}` },
    headers: {
      'X-Shopify-Webhook-Id': webhookId,
      'X-Shopify-Event-Id': '98880550-7158-44d4-b7cd-2c97c8a091b5',
      'X-Shopify-Topic': 'orders/create',
      'X-Shopify-Shop-Domain': 'example.myshopify.com',
    },
  }
}

const standardSender: Sender = {
  name: 'standard-webhooks',
  create: standardWebhooks,
  keys: textKeys(
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'whsec_AAAQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'whsec_BBBQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  ),
  signatureHeader: 'webhook-signature',
  tolerance: 300_000,
  refusesFuture: true,
  sign({ body, headers }, { signing }, at) {
    const signature = new Webhook(signing as string).sign(headers!['webhook-id']!, new Date(at), JSON.stringify(body))
    return request(json(body), headers, {
      'webhook-timestamp': String(seconds(at)),
      'webhook-signature': signature,
    })
  },
  first: standardEvent('msg_2KWPBgLlAfxdpx2AI54pPJ85f4W'),
  retried: standardEvent('msg_2KWPBgLlAfxdpx2AI54pPJ85f4W'),
  other: standardEvent('msg_2KWPBgLlAfxdpx2AI54pPJ85f4X'),
  ids: ['msg_2KWPBgLlAfxdpx2AI54pPJ85f4W'],
  otherIds: ['msg_2KWPBgLlAfxdpx2AI54pPJ85f4X'],
  type: 'contact.created',
}

function standardEvent(id: string): Attempt {
  const data = { id: '1f81eb52-5198-4599-803e-771906343485' }
  return {
    body: { type: 'contact.created', timestamp: '2026-03-04T05:06:00Z', data },
    headers: { 'webhook-id': id },
  }
}

const ed25519Key = (): SigningKey => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  return { signing: privateKey, secret: `whpk_${Buffer.from(x, 'base64url').toString('base64')}` }
}

const ed25519Sender: Sender = {
  ...standardSender,
  name: 'standard-webhooks, Ed25519',
  keys: { current: ed25519Key(), previous: ed25519Key(), foreign: ed25519Key() },
  signatureHeader: 'svix-signature',
  sign({ body, headers }, { signing }, at) {
    const id = headers!['webhook-id']!
    const content = Buffer.concat([Buffer.from(`${id}.${seconds(at)}.`), json(body)])
    return request(json(body), {
      'svix-id': id,
      'svix-timestamp': String(seconds(at)),
      'svix-signature': `v1a,${signWithKey(null, content, signing).toString('base64')}`,
    })
  },
}

const slackRequest = (
  body: Buffer,
  { signing }: SigningKey,
  at: number,
  headers?: Record<string, string>,
): HttpDelivery =>
  request(body, headers, {
    'X-Slack-Request-Timestamp': String(seconds(at)),
    'X-Slack-Signature': `v0=${hmac(signing as string, 'hex', `v0:${seconds(at)}:`, body)}`,
  })

const slackSender: Sender = {
  name: 'slack',
  create: slack,
  keys: KEYS,
  signatureHeader: 'X-Slack-Signature',
  tolerance: 300_000,
  sign: ({ body, headers }, key, at) => slackRequest(json(body), key, at, headers),
  first: slackEvent('Ev08MFMKH6'),
  retried: slackEvent('Ev08MFMKH6', { 'X-Slack-Retry-Num': '1', 'X-Slack-Retry-Reason': 'http_timeout' }),
  other: slackEvent('Ev08MFMKH7'),
  ids: ['Ev08MFMKH6'],
  otherIds: ['Ev08MFMKH7'],
  type: 'app_mention',
  handshakes: [
    {
      name: 'url_verification',
      delivery: slackRequest(
        json({ type: 'url_verification', token: 'Jhj5dZrVaK7ZwHHjRyZWjbDl', challenge: '3eZbrw1aBm2rZgRNFdxV' }),
        KEYS.current,
        FIRST_AT,
      ),
      reply: { body: { challenge: '3eZbrw1aBm2rZgRNFdxV' } },
    },
    {
      name: 'ssl_check',
      delivery: request(Buffer.from('ssl_check=1&token=Jhj5dZrVaK7ZwHHjRyZWjbDl'), {
        'Content-Type': 'application/x-www-form-urlencoded',
      }),
      reply: { body: '', contentType: 'text/plain' },
    },
  ],
}

function slackEvent(event_id: string, headers?: Record<string, string>): Attempt {
  const event = { type: 'app_mention', user: 'U061F7AUR', text: 'hello' }
  return { body: { type: 'event_callback', team_id: 'T061EG9R6', event_id, event }, headers }
}

const paddleSender: Sender = {
  name: 'paddle',
  create: paddle,
  keys: KEYS,
  signatureHeader: 'Paddle-Signature',
  tolerance: 5_000,
  sign: ({ body }, { signing }, at) =>
    request(json(body), {
      'Paddle-Signature': `ts=${seconds(at)};h1=${hmac(signing as string, 'hex', `${seconds(at)}:`, json(body))}`,
    }),
  first: { body: paddleEvent('evt_01hv8wptq8987qeep44cyrewp9', 'ntf_01hv8wptvmvh6kx2vcq3w8v3ra') },
  retried: { body: paddleEvent('evt_01hv8wptq8987qeep44cyrewp9', 'ntf_01hv8x2replayed00000000000') },
  other: { body: paddleEvent('evt_01hv8wptq8987qeep44cyrewp8', 'ntf_01hv8wptvmvh6kx2vcq3w8v3rb') },
  ids: ['evt_01hv8wptq8987qeep44cyrewp9'],
  otherIds: ['evt_01hv8wptq8987qeep44cyrewp8'],
  type: 'transaction.completed',
}

function paddleEvent(event_id: string, notification_id: string): unknown {
  return { event_id, notification_id, event_type: 'transaction.completed', data: { id: 'txn_01' } }
}

const squareSender: Sender = {
  name: 'square',
  create: (options) => square({ ...options, url: PUBLIC_URL }),
  keys: KEYS,
  signatureHeader: 'x-square-hmacsha256-signature',
  sign: ({ body, headers }, { signing }) =>
    request(json(body), headers, {
      'x-square-hmacsha256-signature': hmac(signing as string, 'base64', PUBLIC_URL, json(body)),
    }),
  first: squareEvent('ac3ac95b-f97d-458c-a6e6-18981597e05f'),
  retried: squareEvent('ac3ac95b-f97d-458c-a6e6-18981597e05f', { 'square-retry-number': '1' }),
  other: squareEvent('ac3ac95b-f97d-458c-a6e6-18981597e05e'),
  ids: ['ac3ac95b-f97d-458c-a6e6-18981597e05f'],
  otherIds: ['ac3ac95b-f97d-458c-a6e6-18981597e05e'],
  type: 'payment.updated',
}

function squareEvent(event_id: string, headers?: Record<string, string>): Attempt {
  const data = { type: 'payment', id: 'hYy9pRFVxpDsO1FB05SunFWUe9JZY' }
  return { body: { merchant_id: 'MLEFBHHSJGVHD', type: 'payment.updated', event_id, data }, headers }
}

const razorpaySender: Sender = {
  name: 'razorpay',
  unsignedIdHeader: 'x-razorpay-event-id',
  create: razorpay,
  keys: KEYS,
  signatureHeader: 'X-Razorpay-Signature',
  sign: bodySigner('X-Razorpay-Signature', 'hex'),
  first: razorpayEvent('NfPbXVzrPjJ2yE'),
  retried: razorpayEvent('NfPbXVzrPjJ2yE'),
  other: razorpayEvent('NfPbXVzrPjJ2yF'),
  ids: ['NfPbXVzrPjJ2yE'],
  otherIds: ['NfPbXVzrPjJ2yF'],
  type: 'payment.captured',
}

function razorpayEvent(id: string): Attempt {
  return {
    body: { entity: 'event', account_id: 'acc_1', event: 'payment.captured', payload: { of: id } },
    headers: { 'x-razorpay-event-id': id },
  }
}

const gocardlessSender: Sender = {
  name: 'gocardless',
  create: gocardless,
  keys: KEYS,
  signatureHeader: 'Webhook-Signature',
  sign: bodySigner('Webhook-Signature', 'hex'),
  first: { body: gocardlessBatch('WB0001', 'EV00BD05S5VM2T', 'EV00BD05TB8K63') },
  retried: { body: gocardlessBatch('WB0002', 'EV00BD05S5VM2T', 'EV00BD05TB8K63') },
  other: { body: gocardlessBatch('WB0003', 'EV00BD05TB8K64') },
  ids: ['EV00BD05S5VM2T', 'EV00BD05TB8K63'],
  otherIds: ['EV00BD05TB8K64'],
  type: 'payments.confirmed',
  empty: { body: { events: [] } },
}

function gocardlessBatch(webhook_id: string, ...ids: string[]): unknown {
  const events = ids.map((id) => ({ id, resource_type: 'payments', action: 'confirmed', links: { payment: 'PM1' } }))
  return { events, meta: { webhook_id } }
}

const ecdsaKey = (): SigningKey => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { signing: privateKey, secret: publicKey.export({ type: 'spki', format: 'der' }).toString('base64') }
}

const sendgridSender: Sender = {
  name: 'sendgrid',
  create: sendgrid,
  keys: { current: ecdsaKey(), previous: ecdsaKey(), foreign: ecdsaKey() },
  signatureHeader: 'X-Twilio-Email-Event-Webhook-Signature',
  sign({ body }, { signing }, at) {
    // One item a line, and a line break at the end, all of which is signed.
    const bytes = Buffer.from(`[${(body as unknown[]).map((item) => JSON.stringify(item)).join(',\r\n')}]\r\n`)
    const content = Buffer.concat([Buffer.from(String(seconds(at))), bytes])
    return request(bytes, {
      'X-Twilio-Email-Event-Webhook-Signature': signWithKey('sha256', content, signing).toString('base64'),
      'X-Twilio-Email-Event-Webhook-Timestamp': String(seconds(at)),
    })
  },
  first: { body: sendgridBatch('ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA', 'cHJvY2Vzc2VkLTE5OTQyMTEyLTA') },
  retried: {
    body: sendgridBatch('ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA', 'cHJvY2Vzc2VkLTE5OTQyMTEyLTA'),
  },
  other: { body: sendgridBatch('ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTa') },
  ids: ['ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA', 'cHJvY2Vzc2VkLTE5OTQyMTEyLTA'],
  otherIds: ['ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTa'],
  type: 'dropped',
}

function sendgridBatch(...ids: string[]): unknown {
  return ids.map((sg_event_id) => ({ email: 'hello@world.com', event: 'dropped', sg_event_id, sg_message_id: 'one' }))
}

const hubspotSender: Sender = {
  name: 'hubspot',
  create: (options) => hubspot({ ...options, url: PUBLIC_URL }),
  keys: KEYS,
  signatureHeader: 'X-HubSpot-Signature-v3',
  tolerance: 300_000,
  sign: ({ body }, { signing }, at) =>
    request(json(body), {
      'X-HubSpot-Request-Timestamp': String(at),
      'X-HubSpot-Signature-v3': hmac(signing as string, 'base64', 'POST', PUBLIC_URL, json(body), String(at)),
    }),
  first: { body: [hubspotEvent(1, 0), hubspotEvent(2, 0, { propertyName: 'email' })] },
  retried: { body: [hubspotEvent(1, 1), hubspotEvent(2, 1, { propertyName: 'email' })] },
  other: { body: [hubspotEvent(2, 0, { propertyName: 'phone' })] },
  ids: ['54321:62515:12345:1:123:1564113600000', '54321:62515:12345:2:123:1564113600000:email'],
  otherIds: ['54321:62515:12345:2:123:1564113600000:phone'],
  type: 'contact.creation',
}

function hubspotEvent(eventId: number, attemptNumber: number, more: object = {}): object {
  return {
    eventId,
    subscriptionId: 12345,
    portalId: 62515,
    occurredAt: 1564113600000,
    subscriptionType: 'contact.creation',
    attemptNumber,
    objectId: 123,
    appId: 54321,
    ...more,
  }
}

const hubspotV1Sender: Sender = {
  ...hubspotSender,
  name: 'hubspot, v1',
  create: (options) => hubspot({ ...options, version: 'v1' }),
  signatureHeader: 'X-HubSpot-Signature',
  tolerance: undefined,
  sign: ({ body }, { signing }) =>
    request(json(body), {
      'X-HubSpot-Signature-Version': 'v1',
      'X-HubSpot-Signature': createHash('sha256')
        .update(signing as string)
        .update(json(body))
        .digest('hex'),
    }),
}

const adyenSender: Sender = {
  name: 'adyen',
  create: adyen,
  keys: textKeys('DFB1EB5485895CFA84146406857104AB', 'AFB1EB5485895CFA84146406857104AB', 'BFB1EB5485895CFA'),
  sign: ({ body }, { signing }) => {
    const items = (body as Array<Record<string, any>>).map((item) => {
      const { pspReference, originalReference, merchantAccountCode, merchantReference, amount } = item
      const signed = [pspReference, originalReference, merchantAccountCode, merchantReference, amount.value]
      const content = [...signed, amount.currency, item.eventCode, item.success].join(':')
      const hmacSignature = hmac(Buffer.from(signing as string, 'hex'), 'base64', content)
      return { NotificationRequestItem: { ...item, additionalData: { hmacSignature } } }
    })
    return request(json({ live: 'false', notificationItems: items }))
  },
  mutateSignature: ({ headers, body }, mutate) => {
    const content = JSON.parse(body.toString())
    for (const { NotificationRequestItem: item } of content.notificationItems) {
      item.additionalData.hmacSignature = mutate(item.additionalData.hmacSignature)
    }
    return { headers, body: json(content) }
  },
  tamper: (body) => body.replace('"value":1000', '"value":1001'),
  first: { body: [adyenItem('false'), adyenItem('true')] },
  retried: { body: [adyenItem('false'), adyenItem('true')] },
  other: { body: [adyenItem('true', '7914073381342285')] },
  ids: ['7914073381342284:AUTHORISATION:false', '7914073381342284:AUTHORISATION:true'],
  otherIds: ['7914073381342285:AUTHORISATION:true'],
  type: 'AUTHORISATION',
}

function adyenItem(success: string, pspReference = '7914073381342284'): object {
  return {
    pspReference,
    originalReference: '',
    merchantAccountCode: 'TestMerchant',
    merchantReference: 'order:4711',
    amount: { value: 1000, currency: 'EUR' },
    eventCode: 'AUTHORISATION',
    eventDate: '2026-03-04T05:06:00+01:00',
    success,
  }
}

const lineSender: Sender = {
  name: 'line',
  create: line,
  keys: KEYS,
  signatureHeader: 'x-line-signature',
  sign: bodySigner('x-line-signature', 'base64'),
  first: { body: lineBatch(false, '01FZ74A0TDDPYRVKNK77XKC3ZR', '01FZ74ASS536FW97EX38NKCZQK') },
  retried: { body: lineBatch(true, '01FZ74A0TDDPYRVKNK77XKC3ZR', '01FZ74ASS536FW97EX38NKCZQK') },
  other: { body: lineBatch(false, '01FZ74B1EGEHMSVAN4S28TDRK1') },
  ids: ['01FZ74A0TDDPYRVKNK77XKC3ZR', '01FZ74ASS536FW97EX38NKCZQK'],
  otherIds: ['01FZ74B1EGEHMSVAN4S28TDRK1'],
  type: 'message',
  empty: { body: { destination: 'xxxxxxxxxx', events: [] } },
}

function lineBatch(isRedelivery: boolean, ...ids: string[]): unknown {
  const events = ids.map((webhookEventId) => ({ type: 'message', webhookEventId, deliveryContext: { isRedelivery } }))
  return { destination: 'xxxxxxxxxx', events }
}

const linearSender: Sender = {
  name: 'linear',
  unsignedIdHeader: 'Linear-Delivery',
  create: linear,
  keys: KEYS,
  signatureHeader: 'Linear-Signature',
  tolerance: 60_000,
  refusesFuture: true,
  sign({ body, headers }, { signing }, at) {
    const bytes = json({ ...(body as object), webhookTimestamp: at })
    return request(bytes, headers, { 'Linear-Signature': hmac(signing as string, 'hex', bytes) })
  },
  first: linearEvent('234d1a4e-b617-4388-90fe-adc3633d6b72'),
  retried: linearEvent('234d1a4e-b617-4388-90fe-adc3633d6b72'),
  other: linearEvent('234d1a4e-b617-4388-90fe-adc3633d6b73'),
  ids: ['234d1a4e-b617-4388-90fe-adc3633d6b72'],
  otherIds: ['234d1a4e-b617-4388-90fe-adc3633d6b73'],
  type: 'Issue.create',
}

function linearEvent(id: string): Attempt {
  return {
    body: {
      action: 'create',
      type: 'Issue',
      data: { id: `issue of ${id}` },
      webhookId: '000042e3-d123-4980-b49f-8e140eef9329',
    },
    headers: { 'Linear-Delivery': id, 'Linear-Event': 'Issue' },
  }
}

const twitchSender: Sender = {
  name: 'twitch',
  create: twitch,
  keys: KEYS,
  signatureHeader: 'Twitch-Eventsub-Message-Signature',
  tolerance: 600_000,
  sign({ body, headers }, { signing }, at) {
    const time = new Date(at).toISOString().replace('Z', '123456Z')
    const signature = hmac(signing as string, 'hex', headers!['Twitch-Eventsub-Message-Id']!, time, json(body))
    return request(json(body), headers, {
      'Twitch-Eventsub-Message-Timestamp': time,
      'Twitch-Eventsub-Message-Signature': `sha256=${signature}`,
    })
  },
  first: twitchEvent('e76c6bd4-55c9-4987-8304-da1588d8988b'),
  retried: twitchEvent('e76c6bd4-55c9-4987-8304-da1588d8988b', { 'Twitch-Eventsub-Message-Retry': '1' }),
  other: twitchEvent('e76c6bd4-55c9-4987-8304-da1588d8988c'),
  ids: ['e76c6bd4-55c9-4987-8304-da1588d8988b'],
  otherIds: ['e76c6bd4-55c9-4987-8304-da1588d8988c'],
  type: 'channel.follow',
}

function twitchEvent(id: string, headers?: Record<string, string>, more?: object): Attempt {
  const subscription = { id: 'f1c2a387-161a-49f9-a165-0f21d7a4e1c4', type: 'channel.follow', status: 'enabled' }
  return {
    body: { subscription, ...(more ?? { event: { user_id: '1337' } }) },
    headers: {
      'Twitch-Eventsub-Message-Id': id,
      'Twitch-Eventsub-Message-Type': 'notification',
      'Twitch-Eventsub-Subscription-Type': 'channel.follow',
      ...headers,
    },
  }
}

twitchSender.handshakes = [
  {
    name: 'webhook_callback_verification',
    delivery: twitchSender.sign(
      twitchEvent(
        '84c1e79a-2a4b-4c13-ba0b-4312293e9308',
        { 'Twitch-Eventsub-Message-Type': 'webhook_callback_verification' },
        { challenge: 'pogchamp-kappa-360noscope-vohiyo' },
      ),
      KEYS.current,
      FIRST_AT,
    ),
    reply: { body: 'pogchamp-kappa-360noscope-vohiyo', contentType: 'text/plain' },
  },
  {
    name: 'revocation',
    delivery: twitchSender.sign(
      twitchEvent('84c1e79a-2a4b-4c13-ba0b-4312293e9309', { 'Twitch-Eventsub-Message-Type': 'revocation' }, {}),
      KEYS.current,
      FIRST_AT,
    ),
    reply: { body: '', contentType: 'text/plain' },
  },
]

const telegramSender: Sender = {
  name: 'telegram',
  create: telegram,
  keys: textKeys('current_0123456789abcdef-0123456789abcdef', 'previous_0123456789abcdef', 'foreign_0123456789abcdef'),
  signatureHeader: 'X-Telegram-Bot-Api-Secret-Token',
  tamper: false,
  sign: ({ body }, { signing }) => request(json(body), { 'X-Telegram-Bot-Api-Secret-Token': signing as string }),
  first: { body: { update_id: 863477, message: { message_id: 1, text: 'hello' } } },
  retried: { body: { update_id: 863477, message: { message_id: 1, text: 'hello' } } },
  other: { body: { update_id: 863478, message: { message_id: 1, text: 'hello' } } },
  ids: [863477],
  otherIds: [863478],
  type: 'message',
}

const mollieSender: Sender = {
  name: 'mollie',
  create: mollie,
  keys: KEYS,
  signatureHeader: 'X-Mollie-Signature',
  sign: bodySigner('X-Mollie-Signature', 'hex', 'sha256='),
  first: { body: mollieEvent('event_GvJ8WHrp5isUdRub9CJyH') },
  retried: { body: mollieEvent('event_GvJ8WHrp5isUdRub9CJyH') },
  other: { body: mollieEvent('event_GvJ8WHrp5isUdRub9CJyh') },
  ids: ['event_GvJ8WHrp5isUdRub9CJyH'],
  otherIds: ['event_GvJ8WHrp5isUdRub9CJyh'],
  type: 'payment-link.paid',
}

function mollieEvent(id: string): unknown {
  return { resource: 'event', id, type: 'payment-link.paid', entityId: 'pl_qng5gbbv8NAZ5gpM5ZYgx' }
}

/** Every sender there is a source for; those with two kinds of signatures are there twice. */
export const fixtures: SenderFixture[] = [
  stripeSender,
  githubSender,
  shopifySender,
  standardSender,
  ed25519Sender,
  slackSender,
  paddleSender,
  squareSender,
  razorpaySender,
  gocardlessSender,
  sendgridSender,
  hubspotSender,
  hubspotV1Sender,
  adyenSender,
  lineSender,
  linearSender,
  twitchSender,
  telegramSender,
  mollieSender,
].map((sender) => ({
  ...sender,
  source: sender.create({ secret: sender.keys.current.secret, clock: () => NOW }),
  firstDelivery: () => sender.sign(sender.first, sender.keys.current, FIRST_AT),
  retry: () => sender.sign(sender.retried, sender.keys.current, RETRIED_AT),
  otherEvent: () => sender.sign(sender.other, sender.keys.current, FIRST_AT),
  forged: () => sender.sign(sender.other, sender.keys.foreign, FIRST_AT),
}))

/** @param name - of the sender */
export function fixtureOf(name: string): SenderFixture {
  const fixture = fixtures.find((one) => one.name === name)
  if (!fixture) throw new Error(`There is no fixture for ${name}.`)
  return fixture
}
