import { InvalidSignatureError } from '../errors.js'
import { headerId, typeOf } from './identities.js'
import { bodyHmac } from './signature-checks.js'
import type { SignatureScheme, TimedSourceOptions } from './signature.js'
import { signatureVerifier } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

const BODY_HMAC = bodyHmac('linear', 'linear-signature', { encoding: 'hex' })

const SCHEME: SignatureScheme = {
  ...BODY_HMAC,
  tolerance: 60_000,
  refusesFuture: true,
  read(delivery) {
    const claims = [BODY_HMAC.read(delivery)].flat()
    const signedAt = delivery.body?.webhookTimestamp
    if (!Number.isFinite(signedAt)) throw new InvalidSignatureError('the body has no webhookTimestamp')
    return claims.map((claim) => ({ ...claim, signedAt }))
  },
}

/**
 * Deliveries of Linear.
 *
 * - **ID**: the header `Linear-Delivery`, a UUID that identifies the payload (linear.app/developers/webhooks). **Not
 *   covered by the signature**; that a retry keeps it is unverified. Not `webhookId` of the body, which names the
 *   webhook, and no hash of the body, as `webhookTimestamp` changes.
 * - **Type**: `type` and `action` of the body, as in `Issue.create`.
 * - **Retries**: after 1 minute, 1 hour and 6 hours, unless answered within 5 s with exactly **200**
 *   (linear.app/developers/webhooks).
 * - **Tolerance**: 1 minute from the signed `webhookTimestamp`, for past and future, as in @linear/sdk 98.0.0.
 *
 * @example
 * sources: { linear: linear({ secret: process.env.LINEAR_WEBHOOK_SECRET! }) }
 */
export function linear(options: TimedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify: (delivery) => ({
      id: headerId(delivery, 'linear-delivery'),
      type: typeOf(delivery.body?.type, delivery.body?.action),
    }),
    redeliveryDays: 2,
  }
}
