import { WebhookIdempotencyError } from './webhook-idempotency.error.js'

/** Thrown when `@WebhookTransaction()` or `@WebhookContext()` is used where no event is being handled. */
export class NoContextError extends WebhookIdempotencyError {
  readonly code = 'NO_CONTEXT'

  constructor(decorator: string, handler: string) {
    super(`@${decorator}() is used on ${handler}, which handles no event. Add @IdempotentWebhook() to the method.`)
  }
}

/**
 * Thrown by `WebhookIdempotencyService.context` when it cannot tell whether its caller handles an event: the service was not
 * injected, so that nobody knew at start-up that it would be asked. Everything is rolled back; from now on it knows.
 */
export class UnknownContextError extends WebhookIdempotencyError {
  readonly code = 'UNKNOWN_CONTEXT'

  constructor() {
    super(
      'WebhookIdempotencyService.context was asked for the first time while an event was in progress that it does not know, ' +
        'since the service was not injected into any provider. It knows every event from the next delivery on; to have it from ' +
        'the first one, inject the service instead of taking it from ModuleRef.get() or app.get().',
    )
  }
}
