import type { WebhookDelivery } from '../webhook-delivery.js'
import { headerId } from './identities.js'
import { decodeKey, hmac, publicKey, readPublicKey } from './signature-checks.js'
import type { SignatureCheck, SignatureScheme, TimedSourceOptions } from './signature.js'
import { signatureVerifier, signedBytes, signedHeader, signedInteger } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

const SENDER = 'standard-webhooks'
const SHARED = 'whsec_'
const PUBLIC = 'whpk_'

const SCHEME: SignatureScheme = {
  sender: SENDER,
  tolerance: 5 * 60_000,
  refusesFuture: true,
  check: (secret) => (secret.startsWith(PUBLIC) ? ed25519(secret) : sharedKey(secret)),
  read(delivery) {
    const family = familyOf(delivery)
    const signatures = signedHeader(delivery, `${family}-signature`).split(' ')
    const id = signedHeader(delivery, `${family}-id`)
    const time = signedInteger(delivery.headers.get(`${family}-timestamp`), `${family}-timestamp`)
    return {
      signatures: signatures.map((signature) => signature.split(',', 2).join(',')),
      signed: [`${id}.${time}.`, signedBytes(delivery)],
      signedAt: time * 1000,
    }
  },
}

const sharedKey = hmac({
  encoding: 'base64',
  prefix: 'v1,',
  key: (secret) => decodeKey(SENDER, secret.startsWith(SHARED) ? secret.slice(SHARED.length) : secret, 'base64'),
})

/**
 * Deliveries by the Standard Webhooks specification: Svix, Clerk, Resend, OpenAI, Polar and others.
 *
 * - **ID**: the header `webhook-id` (`svix-id`); covered by the signature. Not `data.id`, which names what changed.
 *   Svix sends one message with the same ID to each endpoint: give two endpoints two source names.
 * - **Type**: `type` of the body, by convention.
 * - **Retries**: with a new timestamp and signature each. The specification's example is 10 attempts in 75 hours, so
 *   its advice to remember IDs for 5 minutes only stops replays. An answer of 410 disables the endpoint.
 * - **Secret**: `whsec_…`, whose rest is base64, or `whpk_…` for signatures by Ed25519 (`v1a`). For Polar:
 *   `Buffer.from(secret).toString('base64')`.
 * - **Tolerance**: 5 minutes, for past and future, as in standardwebhooks 1.1.1.
 *
 * @example
 * sources: { clerk: standardWebhooks({ secret: process.env.CLERK_WEBHOOK_SECRET! }) }
 */
export function standardWebhooks(options: TimedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify: (delivery) => ({ id: headerId(delivery, `${familyOf(delivery)}-id`), type: delivery.body?.type }),
    redeliveryDays: 30,
  }
}

/** The same family for the signature and the ID: the ID of the other one would be unsigned. */
function familyOf({ headers }: WebhookDelivery): 'webhook' | 'svix' {
  return headers.get('webhook-signature') ? 'webhook' : 'svix'
}

function ed25519(secret: string): SignatureCheck {
  const x = decodeKey(SENDER, secret.slice(PUBLIC.length), 'base64').toString('base64url')
  return publicKey(
    readPublicKey(SENDER, 'ed25519', { key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
    null,
    'v1a,',
  )
}
