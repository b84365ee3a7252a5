import type { WebhookSource } from 'nestjs-webhook-idempotency'
import { InvalidSignatureError, MissingRawBodyError } from 'nestjs-webhook-idempotency'
import { isSigned } from './hmac-signature.js'

/** What a partner that sells our credits delivers, one at a time or many. */
export interface PartnerSale {
  reference: string
  account: string
  credits: number
}

/** How to verify and identify the partner's deliveries: what Corvel has a guard and the defaults for, in one place. */
export function partnerSource(secret: string): WebhookSource {
  return {
    verify({ rawBody, headers }) {
      if (!rawBody) throw new MissingRawBodyError(headers.get('content-type'))
      if (!isSigned(secret, rawBody, headers.get('partner-signature'))) throw new InvalidSignatureError('wrong digest')
    },
    identify: ({ body }) =>
      [body].flat().map((sale: PartnerSale) => ({ id: sale.reference, type: 'credits.sold', payload: sale })),
  }
}
