import type { WebhookDelivery } from '../webhook-delivery.js'
import { headerId, typeOf } from './identities.js'
import { hmac } from './signature-checks.js'
import type { SignatureScheme, SignedSourceOptions } from './signature.js'
import { signatureVerifier, signedBytes, signedHeader } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

const SCHEME: SignatureScheme = {
  sender: 'shopify',
  check: hmac({ encoding: 'base64' }),
  read: (delivery) => ({
    signatures: [signedHeader(delivery, `${familyOf(delivery)}-hmac-sha256`)],
    signed: [signedBytes(delivery)],
  }),
}

/**
 * Deliveries of Shopify: webhooks (headers `X-Shopify-…`) and Events (headers `Shopify-…`).
 *
 * - **ID**: the header `X-Shopify-Webhook-Id`, the "idempotency key" of @shopify/shopify-api 13.1.0 and of shopify.dev,
 *   "Verify deliveries". **Not covered by the signature.** Not `X-Shopify-Event-Id`, which all subscriptions to one
 *   event share, so that the second would be dropped; shopify.dev, "Ignore duplicates", still names it.
 * - **Type**: the header `X-Shopify-Topic`; for Events the topic and the action.
 * - **Retries**: 8 in 4 hours with the original payload (shopify.dev changelog, September 2024); deliveries up to a
 *   day late are possible. It waits 5 s (unverified), and deletes a subscription after 8 failures in a row (unverified).
 * - **Secret**: the client secret of the app; after a rotation the old one may sign for up to an hour.
 *
 * @example
 * sources: { shopify: shopify({ secret: process.env.SHOPIFY_CLIENT_SECRET! }) }
 */
export function shopify(options: SignedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify(delivery) {
      const family = familyOf(delivery)
      return {
        id: headerId(delivery, `${family}-webhook-id`),
        type: typeOf(delivery.headers.get(`${family}-topic`), delivery.headers.get(`${family}-action`)),
      }
    },
    redeliveryDays: 2,
  }
}

/** The same family for the signature and the ID, told apart as @shopify/shopify-api does. */
function familyOf({ headers }: WebhookDelivery): 'shopify' | 'x-shopify' {
  return headers.get('shopify-hmac-sha256') ? 'shopify' : 'x-shopify'
}
