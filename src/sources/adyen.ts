import { InvalidSignatureError } from '../errors.js'
import { compositeId, identifyEach } from './identities.js'
import { decodeKey, hmac } from './signature-checks.js'
import type { SignatureClaim, SignatureScheme, SignedSourceOptions } from './signature.js'
import { signatureVerifier } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

export interface AdyenOptions extends SignedSourceOptions {
  /**
   * Whether duplicates are answered with `[accepted]`, which older set-ups want to read; the handler has to return it too.
   * @default false
   */
  accepted?: boolean
}

const SCHEME: SignatureScheme = {
  sender: 'adyen',
  check: hmac({ encoding: 'base64', key: (secret) => decodeKey('adyen', secret, 'hex') }),
  read({ body }) {
    const items: unknown = body?.notificationItems
    if (!Array.isArray(items) || items.length === 0) {
      throw new InvalidSignatureError('the body has no notificationItems, each of which would carry its signature')
    }
    return items.map((item) => claimOf(item?.NotificationRequestItem))
  },
}

/**
 * Standard webhooks of Adyen.
 *
 * - **ID**: none is sent, so it is made: `pspReference:eventCode:success` of each item (that these three are enough is
 *   unverified). A payment that is refused and then authorised keeps its `pspReference`. All three are covered by the
 *   signature in the item; `eventDate` and `reason` are not (@adyen/api-library 32.1.0).
 * - **Type**: `eventCode` of each item.
 * - **Retries**: 3 within a minute, then ever slower for **up to 30 days**; one that fails holds back all others of the
 *   endpoint (docs.adyen.com). It waits 10 s.
 * - **Secret**: in hex. Webhooks of Adyen's platforms sign the body in a header instead, and need another source.
 *
 * @example
 * sources: { adyen: adyen({ secret: process.env.ADYEN_HMAC_KEY! }) }
 */
export function adyen({ accepted = false, ...options }: AdyenOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify: ({ body }) =>
      identifyEach(itemsOf(body), (item) => ({
        id: compositeId([item?.pspReference, item?.eventCode, item?.success]),
        type: item?.eventCode,
      })),
    ...(accepted && { duplicateReply: '[accepted]' }),
    redeliveryDays: 35,
  }
}

function itemsOf(body: any): unknown {
  const items = body?.notificationItems
  return Array.isArray(items) ? items.map((item) => item?.NotificationRequestItem) : items
}

function claimOf(item: any): SignatureClaim {
  const { pspReference, originalReference, merchantAccountCode, merchantReference, amount, eventCode, success } =
    item ?? {}
  const fields = [
    [pspReference, originalReference, merchantAccountCode],
    [amount?.value, amount?.currency, eventCode, success],
  ].map((part) => part.map(textOf))
  const signature: unknown = item?.additionalData?.hmacSignature
  if (typeof signature !== 'string' || signature === '') {
    throw new InvalidSignatureError('an item has no additionalData.hmacSignature')
  }
  // A merchant's reference may hold the separator; if others could too, one signature would fit several IDs.
  if (fields.flat().some((field) => field.includes(':'))) {
    throw new InvalidSignatureError('a signed field of an item holds the separator of signed fields')
  }
  const [before = [], after = []] = fields
  return { signatures: [signature], signed: [[...before, textOf(merchantReference), ...after].join(':')] }
}

function textOf(field: unknown): string {
  return ['string', 'number', 'boolean'].includes(typeof field) ? String(field) : ''
}
