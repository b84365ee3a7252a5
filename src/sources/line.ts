import { identifyEach } from './identities.js'
import { bodyHmac } from './signature-checks.js'
import type { SignedSourceOptions } from './signature.js'
import { signatureVerifier } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

const SCHEME = bodyHmac('line', 'x-line-signature', { encoding: 'base64' })

/**
 * Deliveries of the LINE Messaging API: batches, empty when the endpoint is tested from the console.
 *
 * - **ID**: `webhookEventId` of each item of `events`, a ULID (@line/bot-sdk 11.0.0); covered by the signature. Not
 *   `message.id`, which not every event has. That a redelivery keeps it is unverified.
 * - **Type**: `type` of each item.
 * - **Retries**: only when redelivery is switched on for the channel (unverified); they come with
 *   `deliveryContext.isRedelivery: true`, so the body changes.
 * - **Secret**: the channel secret.
 *
 * @example
 * sources: { line: line({ secret: process.env.LINE_CHANNEL_SECRET! }) }
 */
export function line(options: SignedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify: ({ body }) => identifyEach(body?.events, (item) => ({ id: item?.webhookEventId, type: item?.type })),
    redeliveryDays: 3,
  }
}
