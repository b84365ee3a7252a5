import { hmac } from './signature-checks.js'
import type { SignatureScheme, TimedSourceOptions } from './signature.js'
import { headerFields, signatureVerifier, signedBytes, signedHeader, signedInteger } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

const HEADER = 'paddle-signature'

const SCHEME: SignatureScheme = {
  sender: 'paddle',
  tolerance: 5_000,
  check: hmac({ encoding: 'hex' }),
  read(delivery) {
    const fields = headerFields(signedHeader(delivery, HEADER), ';')
    const time = signedInteger(fields.get('ts')?.at(-1), HEADER)
    return { signatures: fields.get('h1') ?? [], signed: [`${time}:`, signedBytes(delivery)], signedAt: time * 1000 }
  },
}

/**
 * Deliveries of Paddle Billing.
 *
 * - **ID**: `event_id` (`evt_…`) of the body; covered by the signature. Not `notification_id`: each destination has its
 *   own, and a replay makes a new one, while `event_id` stays (@paddle/paddle-node-sdk 3.10.0; developer.paddle.com).
 * - **Shared**: all destinations get one event with the same ID: give two endpoints two source names.
 * - **Retries**: 60 in 3 days for live accounts; replays by hand at any time. It waits 5 s (developer.paddle.com).
 * - **Secret**: while it is rotated, the header holds one `h1` for each. All are tried here; Paddle's own package looks
 *   at the last one only.
 * - **Tolerance**: 5 **seconds**, for the past only, as in Paddle's own package. Raise it when clocks differ.
 *
 * @example
 * sources: { paddle: paddle({ secret: process.env.PADDLE_WEBHOOK_SECRET!, tolerance: 30_000 }) }
 */
export function paddle(options: TimedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify: ({ body }) => ({ id: body?.event_id, type: body?.event_type }),
    redeliveryDays: 30,
  }
}
