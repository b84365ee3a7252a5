import type { WebhookDelivery } from '../webhook-delivery.js'
import type { PublicUrl } from './public-url.js'
import { publicUrlReader } from './public-url.js'
import { hmac } from './signature-checks.js'
import type { SignedSourceOptions } from './signature.js'
import { signatureVerifier, signedBytes, signedHeader } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

export interface SquareOptions extends SignedSourceOptions {
  /** The notification URL, exactly as in the subscription at Square, as the signature covers it. */
  url: PublicUrl
}

/**
 * Deliveries of Square.
 *
 * - **ID**: `event_id` of the body, a UUID (square SDK); covered by the signature. Not `data.id`, which names what
 *   changed, and not the header `square-retry-number`, which counts attempts.
 * - **Retries**: 11 in 24 hours (unverified), with the same body and signature (unverified). It waits 10 s (unverified).
 *
 * @example
 * sources: {
 *   square: square({ secret: process.env.SQUARE_SIGNATURE_KEY!, url: 'https://api.example.com/webhooks/square' }),
 * }
 */
export function square(options: SquareOptions): WebhookSource {
  const urlOf = publicUrlReader('square', options.url)
  const scheme = {
    sender: 'square',
    check: hmac({ encoding: 'base64' }),
    read: (delivery: WebhookDelivery) => ({
      signatures: [signedHeader(delivery, 'x-square-hmacsha256-signature')],
      signed: [urlOf(delivery), signedBytes(delivery)],
    }),
  }
  return {
    verify: signatureVerifier(scheme, options),
    identify: ({ body }) => ({ id: body?.event_id, type: body?.type }),
    redeliveryDays: 3,
  }
}
