import { identifyEach, typeOf } from './identities.js'
import { bodyHmac } from './signature-checks.js'
import type { SignedSourceOptions } from './signature.js'
import { signatureVerifier } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

const SCHEME = bodyHmac('gocardless', 'webhook-signature', { encoding: 'hex' })

/**
 * Deliveries of GoCardless: batches of up to 250 events (unverified).
 *
 * - **ID**: `id` (`EV…`) of each item of `events`; covered by the signature. Not `meta.webhook_id`, which names the
 *   delivery (gocardless-nodejs 10.1.2).
 * - **Type**: `resource_type` and `action`, as in `payments.confirmed`.
 * - **Retries**: on a schedule (unverified), and by the API at any time (gocardless-nodejs 10.1.2).
 *
 * @example
 * sources: { gocardless: gocardless({ secret: process.env.GOCARDLESS_WEBHOOK_SECRET! }) }
 */
export function gocardless(options: SignedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify: ({ body }) =>
      identifyEach(body?.events, (item) => ({ id: item?.id, type: typeOf(item?.resource_type, item?.action) })),
    redeliveryDays: 30,
  }
}
