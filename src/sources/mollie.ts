import { hmac } from './signature-checks.js'
import type { SignatureScheme, SignedSourceOptions } from './signature.js'
import { signatureVerifier, signedBytes, signedHeader } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

const SCHEME: SignatureScheme = {
  sender: 'mollie',
  check: hmac({ encoding: 'hex' }),
  read: (delivery) => ({
    signatures: signedHeader(delivery, 'x-mollie-signature')
      .split(', ')
      .map((signature) => signature.replace(/^sha256=/, '')),
    signed: [signedBytes(delivery)],
  }),
}

/**
 * Deliveries of Mollie's next-generation webhooks.
 *
 * - **ID**: `id` (`event_…`) of the body (mollie-api-php); covered by the signature. Not `entityId`, which names what
 *   changed. That a retry keeps it is unverified.
 * - **Classic webhooks** are something else: their body is only the ID of the payment, the same for each of its
 *   changes, and unsigned. They have no `X-Mollie-Signature`, and are refused.
 * - **Type**: `type` of the body, as in `payment-link.paid`.
 * - **Retries**: unverified. It waits 15 s (docs.mollie.com, "Next-gen webhooks").
 * - **Secret**: while it is rotated, one header comes for each.
 *
 * @example
 * sources: { mollie: mollie({ secret: process.env.MOLLIE_SIGNING_SECRET! }) }
 */
export function mollie(options: SignedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify: ({ body }) => ({ id: body?.id, type: body?.type }),
    redeliveryDays: 7,
  }
}
