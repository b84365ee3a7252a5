import type { WebhookDelivery } from '../webhook-delivery.js'
import { hmac } from './signature-checks.js'
import type { SignatureScheme, TimedSourceOptions } from './signature.js'
import { signatureVerifier, signedBytes, signedHeader, signedInteger } from './signature.js'
import type { HandshakeReply, WebhookSource } from './webhook-source.js'

const TIMESTAMP = 'x-slack-request-timestamp'

const SCHEME: SignatureScheme = {
  sender: 'slack',
  tolerance: 5 * 60_000,
  check: hmac({ encoding: 'hex', prefix: 'v0=' }),
  read(delivery) {
    const signature = signedHeader(delivery, 'x-slack-signature')
    const time = signedInteger(delivery.headers.get(TIMESTAMP), TIMESTAMP)
    return { signatures: [signature], signed: [`v0:${time}:`, signedBytes(delivery)], signedAt: time * 1000 }
  },
}

/**
 * Deliveries of the Slack Events API.
 *
 * - **ID**: `event_id` (`Ev…`) of the body, unique across all workspaces (docs.slack.dev, Events API); covered by the
 *   signature. Not the header `X-Slack-Retry-Num`, which counts attempts. Slash commands and interactions have none.
 * - **Type**: `event.type`; the outer `type` is `event_callback` for all.
 * - **Retries**: up to 3, at once, after 1 and after 5 minutes, unless it is answered within **3 s**; so a retry often
 *   comes while the first delivery is in progress (docs.slack.dev).
 * - **Handshakes**: `url_verification` is signed, and its challenge is echoed. The check of the certificate, a form
 *   with `ssl_check=1`, is unsigned (@slack/bolt 5.1.0), so it is let through, answered, and never carries an event.
 * - **Tolerance**: 5 minutes, for the past only, as in @slack/bolt 5.1.0.
 *
 * @example
 * sources: { slack: slack({ secret: process.env.SLACK_SIGNING_SECRET! }) }
 */
export function slack(options: TimedSourceOptions): WebhookSource {
  const verifySignature = signatureVerifier(SCHEME, options)
  return {
    verify: (delivery) => (isCertificateCheck(delivery) ? undefined : verifySignature(delivery)),
    handshake,
    identify: ({ body }) => ({ id: body?.event_id, type: body?.event?.type }),
    redeliveryDays: 1,
  }
}

function handshake(delivery: WebhookDelivery): HandshakeReply | undefined {
  if (isCertificateCheck(delivery)) return { body: '', contentType: 'text/plain' }
  const { body } = delivery
  if (body?.type !== 'url_verification' || typeof body.challenge !== 'string') return undefined
  return { body: { challenge: body.challenge } }
}

/** Told from the bytes, which no parser has changed, and only when nothing else is smuggled in with it. */
function isCertificateCheck({ headers, rawBody }: WebhookDelivery): boolean {
  if (!rawBody || !headers.get('content-type')?.startsWith('application/x-www-form-urlencoded')) return false
  const form = new URLSearchParams(rawBody.toString())
  return form.get('ssl_check') === '1' && [...form.keys()].every((key) => key === 'ssl_check' || key === 'token')
}
