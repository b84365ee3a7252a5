import { hmac } from './signature-checks.js'
import type { SignatureScheme, TimedSourceOptions } from './signature.js'
import { headerFields, signatureVerifier, signedBytes, signedHeader, signedInteger } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

const HEADER = 'stripe-signature'

const SCHEME: SignatureScheme = {
  sender: 'stripe',
  tolerance: 5 * 60_000,
  check: hmac({ encoding: 'hex' }),
  read(delivery) {
    const fields = headerFields(signedHeader(delivery, HEADER), ',')
    const time = signedInteger(fields.get('t')?.at(-1), HEADER)
    return { signatures: fields.get('v1') ?? [], signed: [`${time}.`, signedBytes(delivery)], signedAt: time * 1000 }
  },
}

/**
 * Deliveries of Stripe.
 *
 * - **ID**: `id` (`evt_…`) of the body, for snapshot and thin events alike (stripe-node 23.1.0); covered by the
 *   signature. Not `request.idempotency_key`, which belongs to the API request that caused the event, and which
 *   several events share. One event goes to each matching endpoint: give two endpoints two source names.
 * - **Two events for one fact** can come (docs.stripe.com/webhooks): only `data.object.id` with `type` tells.
 * - **Retries**: up to 3 days, with a new timestamp and signature each; by hand up to 15 days from the dashboard and
 *   30 from the CLI (docs.stripe.com/webhooks).
 * - **Secret**: the whole text, with its `whsec_`. While it is rolled, the header holds one `v1` for each.
 * - **Tolerance**: 5 minutes, for the past only, as in stripe-node 23.1.0.
 *
 * @example
 * WebhookIdempotencyModule.forRoot({ prisma: PrismaService, sources: { stripe: stripe({ secret: 'whsec_…' }) } })
 */
export function stripe(options: TimedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify: ({ body }) => ({ id: body?.id, type: body?.type }),
    redeliveryDays: 30,
  }
}
