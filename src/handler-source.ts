import { ConfigurationError } from './errors.js'
import type { EventIdentity } from './event-identity.js'
import type { HandlerMetadata, IdempotentWebhookOptions } from './idempotent-webhook-options.js'
import type { WebhookSource } from './sources/webhook-source.js'
import type { WebhookDelivery } from './webhook-delivery.js'

/** A source with everything decided. */
export type HandlerSource = WebhookSource & Required<Pick<WebhookSource, 'name' | 'duplicateReply'>>

/**
 * Puts together what the decorator says, what the module knows of the source, and the defaults, in this order.
 *
 * @param handler - for messages
 * @throws {ConfigurationError} when the source is named as one of the module's and is not
 */
export function sourceOfHandler(
  metadata: HandlerMetadata,
  sources: Record<string, WebhookSource>,
  handler: string,
): HandlerSource {
  const options = typeof metadata === 'string' ? { source: metadata } : metadata
  const key = options.source
  const known = typeof key === 'string' && Object.hasOwn(sources, key) ? sources[key] : undefined
  if (typeof metadata === 'string' && !known) {
    throw new ConfigurationError(
      `@IdempotentWebhook('${metadata}') on ${handler} names a source that the module does not have; it has ` +
        `${Object.keys(sources).join(', ') || 'none'}. Add it to the option sources, or write ` +
        `@IdempotentWebhook({ source: '${metadata}' }) for a source that is told here.`,
    )
  }
  return {
    name: known?.name ?? key,
    verify: known?.verify?.bind(known),
    handshake: known?.handshake?.bind(known),
    identify: identifyWith(options, known?.identify.bind(known) ?? identifyByBody),
    duplicateReply: options.duplicateReply ?? known?.duplicateReply ?? { outcome: 'duplicate' },
    redeliveryDays: known?.redeliveryDays,
  }
}

function identifyWith(
  { events, id, type }: IdempotentWebhookOptions,
  otherwise: WebhookSource['identify'],
): WebhookSource['identify'] {
  if (events) return events
  if (!id && !type) return otherwise
  return (delivery) => {
    if (id) return { id: id(delivery), type: type ? type(delivery) : [otherwise(delivery)].flat()[0]?.type }
    return [otherwise(delivery)].flat().map((identity) => ({ ...identity, type: type!(delivery) }))
  }
}

function identifyByBody({ body }: WebhookDelivery): EventIdentity {
  return { id: body?.id, type: body?.type }
}
