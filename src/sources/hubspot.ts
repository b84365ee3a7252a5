import type { WebhookDelivery } from '../webhook-delivery.js'
import { compositeId, identifyEach } from './identities.js'
import type { PublicUrl } from './public-url.js'
import { publicUrlReader } from './public-url.js'
import { hmac, secretHash } from './signature-checks.js'
import type { SignatureScheme, TimedSourceOptions } from './signature.js'
import { signatureVerifier, signedBytes, signedHeader, signedInteger } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

export interface HubspotOptions extends TimedSourceOptions {
  /** Which of HubSpot's signatures is checked. Only `v3` has a time. @default 'v3' */
  version?: 'v1' | 'v2' | 'v3'
  /** The target URL, exactly as it is set in the app; the signatures of `v2` and `v3` cover it. */
  url?: PublicUrl
}

const TIMESTAMP = 'x-hubspot-request-timestamp'

/**
 * Deliveries of HubSpot: batches of up to 100 events.
 *
 * - **ID**: `appId:portalId:subscriptionId:eventId:objectId:occurredAt`, and `propertyName` where there is one, of each
 *   item; covered by the signature. Not `eventId` alone, which is "not guaranteed to be unique", and not the whole
 *   item, as `attemptNumber` changes (developers.hubspot.com, Webhooks API). Changes of associations have
 *   `fromObjectId` and `toObjectId` for `objectId` (whether always is unverified).
 * - **Type**: `subscriptionType` of each item.
 * - **Retries**: 10 in 24 hours. It waits 5 s (developers.hubspot.com, Webhooks API).
 * - **Tolerance**: 5 minutes for `v3`, for the past only, as in @hubspot/api-client 13.5.0.
 *
 * @example
 * sources: {
 *   hubspot: hubspot({ secret: process.env.HUBSPOT_CLIENT_SECRET!, url: 'https://api.example.com/webhooks/hubspot' }),
 * }
 */
export function hubspot(options: HubspotOptions): WebhookSource {
  return {
    verify: signatureVerifier(schemeOf(options), options),
    identify: ({ body }) => identifyEach(body, (item) => ({ id: idOf(item), type: item?.subscriptionType })),
    redeliveryDays: 2,
  }
}

function schemeOf({ version = 'v3', url }: HubspotOptions): SignatureScheme {
  if (version === 'v1') {
    return { sender: 'hubspot', check: secretHash, read: (delivery) => plainClaim(delivery, []) }
  }
  const urlOf = publicUrlReader('hubspot', url)
  if (version === 'v2') {
    return { sender: 'hubspot', check: secretHash, read: (delivery) => plainClaim(delivery, ['POST', urlOf(delivery)]) }
  }
  return {
    sender: 'hubspot',
    tolerance: 5 * 60_000,
    check: hmac({ encoding: 'base64' }),
    read(delivery) {
      const signature = signedHeader(delivery, 'x-hubspot-signature-v3')
      const time = signedInteger(delivery.headers.get(TIMESTAMP), TIMESTAMP)
      return {
        signatures: [signature],
        signed: ['POST', urlOf(delivery), signedBytes(delivery), String(time)],
        signedAt: time,
      }
    },
  }
}

function plainClaim(delivery: WebhookDelivery, before: string[]) {
  return {
    signatures: [signedHeader(delivery, 'x-hubspot-signature')],
    signed: [...before, signedBytes(delivery)],
  }
}

function idOf(item: any): string {
  const scope = [item?.appId, item?.portalId, item?.subscriptionId, item?.eventId]
  // The word makes it longer than an ID of any other kind, so that the two never meet.
  if (item?.objectId === undefined) {
    return compositeId([...scope, item?.fromObjectId, item?.toObjectId, item?.occurredAt, 'association'])
  }
  return compositeId([...scope, item.objectId, item.occurredAt, ...('propertyName' in item ? [item.propertyName] : [])])
}
