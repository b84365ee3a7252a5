import { sharedToken } from './signature-checks.js'
import type { SignatureScheme, SignedSourceOptions } from './signature.js'
import { signatureVerifier, signedHeader } from './signature.js'
import type { WebhookSource } from './webhook-source.js'

const SCHEME: SignatureScheme = {
  sender: 'telegram',
  check: sharedToken,
  read: (delivery) => ({ signatures: [signedHeader(delivery, 'x-telegram-bot-api-secret-token')], signed: [] }),
}

/**
 * Updates of the Telegram Bot API.
 *
 * - **ID**: `update_id` of the body, a number. It is unique **for one bot only**: give each bot its own source name.
 *   After a week without updates the next one is random (core.telegram.org/bots/api, "Update"), so claims should not be
 *   kept for years. Not `message.message_id`, which is unique for a chat only.
 * - **Signature**: none; a secret token in a header proves the sender, and covers neither ID nor body.
 * - **Type**: the field beside `update_id`, such as `message`.
 * - **Retries**: "a reasonable amount of attempts" (core.telegram.org/bots/api, "setWebhook").
 *
 * @example
 * sources: { 'telegram-support-bot': telegram({ secret: process.env.TELEGRAM_SECRET_TOKEN! }) }
 */
export function telegram(options: SignedSourceOptions): WebhookSource {
  return {
    verify: signatureVerifier(SCHEME, options),
    identify: ({ body }) => ({
      id: body?.update_id,
      type: Object.keys(body ?? {}).find((field) => field !== 'update_id'),
    }),
    redeliveryDays: 2,
  }
}
