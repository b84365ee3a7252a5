import { InvalidSignatureError } from '../errors.js'
import type { WebhookDelivery } from '../webhook-delivery.js'
import { headerId, identifyEach } from './identities.js'
import { hmac } from './signature-checks.js'
import type { SignatureScheme, TimedSourceOptions } from './signature.js'
import { signatureVerifier, signedBytes, signedHeader } from './signature.js'
import type { HandshakeReply, WebhookSource } from './webhook-source.js'

const ID = 'twitch-eventsub-message-id'
const TIMESTAMP = 'twitch-eventsub-message-timestamp'

const SCHEME: SignatureScheme = {
  sender: 'twitch',
  tolerance: 10 * 60_000,
  check: hmac({ encoding: 'hex', prefix: 'sha256=' }),
  read(delivery) {
    const signature = signedHeader(delivery, 'twitch-eventsub-message-signature')
    const id = signedHeader(delivery, ID)
    const time = signedHeader(delivery, TIMESTAMP)
    return { signatures: [signature], signed: [id, time, signedBytes(delivery)], signedAt: readTime(time) }
  },
}

/**
 * Deliveries of Twitch EventSub.
 *
 * - **ID**: the header `Twitch-Eventsub-Message-Id`, which stays when Twitch sends again (dev.twitch.tv, "Handling
 *   webhook events"); covered by the signature. Grants of drops come in batches, whose items have their own `id`
 *   (@twurple/eventsub-http 8.1.4). Not `subscription.id`, which all events of a subscription share.
 * - **Type**: `subscription.type` of the body; the header with the same value is not signed.
 * - **Retries**: a few, on no published schedule; too many failures revoke the subscription (dev.twitch.tv).
 * - **Handshakes**: the challenge of a new subscription is echoed as plain text. The notice that a subscription was
 *   revoked is answered, and carries no event.
 * - **Tolerance**: 10 minutes, for the past only, as dev.twitch.tv recommends and @twurple/eventsub-http 8.1.4 does.
 *
 * @example
 * sources: { twitch: twitch({ secret: process.env.TWITCH_EVENTSUB_SECRET! }) }
 */
export function twitch(options: TimedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    handshake,
    identify(delivery) {
      const { body } = delivery
      const type = body?.subscription?.type
      if (body?.events !== undefined) return identifyEach(body.events, (item) => ({ id: item?.id, type }))
      return { id: headerId(delivery, ID), type }
    },
    redeliveryDays: 2,
  }
}

function handshake({ headers, body }: WebhookDelivery): HandshakeReply | undefined {
  switch (headers.get('twitch-eventsub-message-type')) {
    case 'webhook_callback_verification':
      return typeof body?.challenge === 'string' ? { body: body.challenge, contentType: 'text/plain' } : undefined
    case 'revocation':
      return { body: '', contentType: 'text/plain' }
    default:
      return undefined
  }
}

/**
 * The ID and the time are signed without a separator: a time that is not read strictly could lend its digits to the ID,
 * and one signature would fit several IDs.
 */
function readTime(text: string): number {
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(time)) throw new InvalidSignatureError(`${TIMESTAMP} is no time in UTC`)
  return time
}
