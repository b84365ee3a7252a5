import type { InjectionToken } from '@nestjs/common'
import type { EventIdentity } from './event-identity.js'
import type { PrismaClientLike, TransactionOptions } from './prisma-client-like.js'
import type { WebhookDelivery } from './webhook-delivery.js'

/** Options of `@IdempotentWebhook()`. */
export interface IdempotentWebhookOptions {
  /**
   * The scope of the IDs: a sender as this application sees it. The name of one of the module's `sources` brings its way to
   * verify and identify; a function of the delivery serves several tenants with one endpoint.
   */
  source: string | ((delivery: WebhookDelivery) => string)
  /** Where the event's ID is. @default `body.id` */
  id?: (delivery: WebhookDelivery) => string | number
  /** Where the event's type is. @default `body.type` */
  type?: (delivery: WebhookDelivery) => string | undefined
  /** For deliveries that carry several events; instead of `id` and `type`. */
  events?: (delivery: WebhookDelivery) => EventIdentity[]
  /**
   * Calls the method once for each new event of a batch, in the sender's order and in the same transaction, instead of once
   * for all of them. The answer is then `{ "outcome": "processed" }`.
   * @default false
   */
  each?: boolean
  /** Laid over the module's `transaction`. */
  transaction?: TransactionOptions
  /** Another Prisma client than the module's, or its injection token. */
  prisma?: PrismaClientLike | InjectionToken
  /** The body of the answer to a duplicate. @default `{ "outcome": "duplicate" }` */
  duplicateReply?: unknown
}

/** The options of a handler, or the name of a source that the module must know. */
export type HandlerMetadata = IdempotentWebhookOptions | string
