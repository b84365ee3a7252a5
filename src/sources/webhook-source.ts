import type { EventIdentity } from '../event-identity.js'
import type { WebhookDelivery } from '../webhook-delivery.js'

/** An answer that is not about an event, in the sender's own format. */
export interface HandshakeReply {
  /** What is sent: a string as it is, anything else as JSON. */
  body: unknown
  /** @default the framework's own for such a body */
  contentType?: string
}

/**
 * How to read and verify the deliveries of one sender.
 *
 * @example
 * const corvel: WebhookSource = {
 *   verify: (delivery) => checkCorvelSignature(delivery.headers.get('corvel-signature'), delivery.rawBody),
 *   identify: ({ body }) => ({ id: body.id, type: body.type }),
 * }
 */
export interface WebhookSource {
  /**
   * The scope of the IDs; a function of the delivery when one endpoint serves several tenants.
   * @default the name under which the source is given to the module
   */
  name?: string | ((delivery: WebhookDelivery) => string)
  /**
   * Checks the signature; it runs before anything else.
   * @throws {InvalidSignatureError} when the delivery is not the sender's
   * @throws {MissingRawBodyError} when the bytes to check are not there
   */
  verify?(delivery: WebhookDelivery): void | Promise<void>
  /** Says which events the delivery carries; an empty array is answered with 200 and opens no transaction. */
  identify(delivery: WebhookDelivery): EventIdentity | EventIdentity[]
  /** Answers deliveries that carry no event, such as the test of a new endpoint; `undefined` for all others. */
  handshake?(delivery: WebhookDelivery): HandshakeReply | undefined
  /** The body of the answer to a duplicate. @default `{ "outcome": "duplicate" }` */
  duplicateReply?: unknown
  /** For how many days the sender may deliver an event again; retention should keep claims for longer. */
  redeliveryDays?: number
}
