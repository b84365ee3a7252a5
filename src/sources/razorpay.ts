import { headerId } from './identities.js'
import { bodyHmac } from './signature-checks.js'
import type { SignedSourceOptions } from './signature.js'
import { signatureVerifier } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

const SCHEME = bodyHmac('razorpay', 'x-razorpay-signature', { encoding: 'hex' })

/**
 * Deliveries of Razorpay.
 *
 * - **ID**: the header `x-razorpay-event-id`, "unique per event" (razorpay.com/docs/webhooks); the body has none.
 *   **Not covered by the signature.**
 * - **Type**: `event` of the body.
 * - **Retries**: for 24 hours, then the webhook is disabled; replays of unacknowledged events up to 7 days, signed
 *   with the current secret, while retries may still need the old one (razorpay.com/docs/webhooks). It waits 5 s.
 *
 * @example
 * sources: { razorpay: razorpay({ secret: [process.env.RAZORPAY_SECRET!, process.env.RAZORPAY_OLD_SECRET!] }) }
 */
export function razorpay(options: SignedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify: (delivery) => ({ id: headerId(delivery, 'x-razorpay-event-id'), type: delivery.body?.event }),
    redeliveryDays: 8,
  }
}
