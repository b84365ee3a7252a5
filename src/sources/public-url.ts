import { ConfigurationError } from '../errors.js'
import type { WebhookDelivery } from '../webhook-delivery.js'

/** The URL of the endpoint as the sender knows it; a function of the delivery for several tenants. */
export type PublicUrl = string | ((delivery: WebhookDelivery) => string)

/**
 * Senders that sign the URL sign the one they call, which a proxy hides from the application.
 * @throws {ConfigurationError} when it is missing
 */
export function publicUrlReader(sender: string, url: PublicUrl | undefined): (delivery: WebhookDelivery) => string {
  if (typeof url === 'function') return (delivery) => checkUrl(sender, url(delivery))
  const checked = checkUrl(sender, url)
  return () => checked
}

function checkUrl(sender: string, url: string | undefined): string {
  if (typeof url === 'string' && URL.canParse(url)) return url
  throw new ConfigurationError(
    `The source ${sender} was given no valid URL, which its signatures cover. ` +
      `Set the option url to the public URL of the endpoint, exactly as it is set at the sender.`,
  )
}
