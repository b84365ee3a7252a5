import { headerId, typeOf } from './identities.js'
import { bodyHmac } from './signature-checks.js'
import type { SignedSourceOptions } from './signature.js'
import { signatureVerifier } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

const SCHEME = bodyHmac('github', 'x-hub-signature-256', { encoding: 'hex', prefix: 'sha256=' })

/**
 * Deliveries of GitHub.
 *
 * - **ID**: the header `X-GitHub-Delivery`, a GUID that a redelivery keeps. **Not covered by the signature**: who has
 *   seen a delivery can send it again under another GUID. Not `X-GitHub-Hook-ID`, which names the webhook.
 * - **Shared**: a repository's, an organization's and an app's webhook deliver one event with the same GUID
 *   (@octokit/openapi-types), so give each endpoint its own source name.
 * - **Type**: the header `X-GitHub-Event` and the body's `action`, as in `issues.opened`.
 * - **Retries**: none of its own; by hand, keeping the GUID (docs.github.com, "Redelivering webhooks"), for 3 days
 *   (unverified). It waits 10 s for the answer.
 * - **Body**: up to 25 MB, above the 100 kB that body parsers take by default.
 *
 * @example
 * sources: { github: github({ secret: process.env.GITHUB_WEBHOOK_SECRET! }) }
 */
export function github(options: SignedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify: (delivery) => ({
      id: headerId(delivery, 'x-github-delivery'),
      type: typeOf(delivery.headers.get('x-github-event'), delivery.body?.action),
    }),
    redeliveryDays: 3,
  }
}
