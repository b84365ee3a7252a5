import { identifyEach } from './identities.js'
import { publicKey, readPublicKey } from './signature-checks.js'
import type { SignatureScheme, TimedSourceOptions } from './signature.js'
import { signatureVerifier, signedBytes, signedHeader, signedInteger } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

const TIMESTAMP = 'x-twilio-email-event-webhook-timestamp'

const SCHEME: SignatureScheme = {
  sender: 'sendgrid',
  check: (secret) => publicKey(readPublicKey('sendgrid', 'ec', pemOf(secret)), 'sha256'),
  read(delivery) {
    const signature = signedHeader(delivery, 'x-twilio-email-event-webhook-signature')
    const time = signedHeader(delivery, TIMESTAMP)
    return {
      signatures: [signature],
      signed: [time, signedBytes(delivery)],
      signedAt: signedInteger(time, TIMESTAMP) * 1000,
    }
  },
}

/**
 * Deliveries of the SendGrid Event Webhook, signed by ECDSA: batches.
 *
 * - **ID**: `sg_event_id` of each item, up to 100 characters, case-sensitive; covered by the signature. Not
 *   `sg_message_id`, which all events of one message share. In the fixtures of @sendgrid/eventwebhook 8.0.0 it is made
 *   of type, account and message, and so stays; for opens and clicks it may be random (unverified).
 * - **Type**: `event` of each item.
 * - **Retries**: for 24 hours (unverified); the events of one batch may come again in other batches (unverified).
 * - **Secret**: the verification key, which is a public one. The signed bytes end with a line break.
 * - **Tolerance**: none, as in @sendgrid/eventwebhook 8.0.0.
 *
 * @example
 * sources: { sendgrid: sendgrid({ secret: process.env.SENDGRID_VERIFICATION_KEY! }) }
 */
export function sendgrid(options: TimedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify: ({ body }) => identifyEach(body, (item) => ({ id: item?.sg_event_id, type: item?.event })),
    redeliveryDays: 3,
  }
}

/** SendGrid shows the key without the lines around it. */
function pemOf(secret: string): string {
  return secret.includes('-----BEGIN') ? secret : `-----BEGIN PUBLIC KEY-----\n${secret}\n-----END PUBLIC KEY-----`
}
