import { WebhookIdempotencyError } from './webhook-idempotency.error.js'

/** Thrown at start-up when an option, a decorated method, the client or the table cannot keep the promises. */
export class ConfigurationError extends WebhookIdempotencyError {
  readonly code = 'INVALID_CONFIGURATION'
}

/** Thrown by a source's `verify` when the signature of a delivery is missing, stale or wrong. Answered with 401. */
export class InvalidSignatureError extends WebhookIdempotencyError {
  readonly code = 'INVALID_SIGNATURE'

  /** @param reason - for the log; never a secret, a signature or a part of the payload */
  constructor(readonly reason: string) {
    super(`The signature of the delivery was refused: ${reason}.`)
  }
}

/** Thrown when a signature cannot be checked because the raw bytes of the delivery were not kept. Answered with 500. */
export class MissingRawBodyError extends WebhookIdempotencyError {
  readonly code = 'MISSING_RAW_BODY'

  constructor(readonly contentType: string | undefined) {
    super(
      `The raw body of the delivery (content type ${contentType ?? 'not given'}) is not there, so its signature cannot be checked. ` +
        `Create the application with { rawBody: true }; for a content type that is not JSON or a form, ` +
        `also add a parser, such as app.useBodyParser('json', { type: '${contentType ?? 'application/*+json'}' }).`,
    )
  }
}

/** Thrown when the delivery has no parsed body to read an event from. Answered with 400. */
export class MissingBodyError extends WebhookIdempotencyError {
  readonly code = 'MISSING_BODY'

  constructor(
    readonly source: string,
    readonly contentType: string | undefined,
  ) {
    super(
      `The delivery for source "${source}" has no parsed body (content type ${contentType ?? 'not given'}). ` +
        `Send JSON with the content type application/json, or add a body parser for this content type.`,
    )
  }
}

/** Thrown when the ID or the source of an event is missing or cannot be stored as given. Answered with 400. */
export class InvalidEventError extends WebhookIdempotencyError {
  readonly code = 'INVALID_EVENT'

  constructor(
    readonly source: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** Thrown when one delivery carries more events than `maxEvents`. Answered with 400. */
export class TooManyEventsError extends WebhookIdempotencyError {
  readonly code = 'TOO_MANY_EVENTS'

  constructor(
    readonly source: string,
    readonly count: number,
    readonly maxEvents: number,
  ) {
    super(
      `The delivery for source "${source}" carries ${count} events; at most ${maxEvents} are taken. ` +
        `Raise the option maxEvents, or have the sender make smaller batches.`,
    )
  }
}

/** Thrown when the event was still in progress elsewhere when `waitTimeout` ended. Answered with 503. */
export class EventInProgressError extends WebhookIdempotencyError {
  readonly code = 'EVENT_IN_PROGRESS'

  constructor(
    readonly source: string,
    readonly waited: number,
  ) {
    super(
      `An event of source "${source}" is still in progress in another delivery after ${waited} ms (waitTimeout); deliver it again later.`,
    )
  }
}

/** Thrown when the transaction's deadline passed before the event could be committed. Answered with 503. */
export class EventTimeoutError extends WebhookIdempotencyError {
  readonly code = 'EVENT_TIMEOUT'

  constructor(
    readonly source: string,
    readonly timeout: number,
    found: string,
  ) {
    super(
      `An event of source "${source}" did not end within ${timeout} ms (transaction.timeout): ${found}. ` +
        `Move network calls out of the handler, or raise the timeout.`,
    )
  }
}

/** Thrown when no transaction could be started, so that nothing was done. Answered with 503. */
export class TransactionNotStartedError extends WebhookIdempotencyError {
  readonly code = 'TRANSACTION_NOT_STARTED'

  constructor(
    readonly source: string,
    readonly maxWait: number,
    options?: ErrorOptions,
  ) {
    super(
      `No transaction could be started for an event of source "${source}" (transaction.maxWait ${maxWait} ms). ` +
        `Look at the database and at the size of the connection pool.`,
      options,
    )
  }
}

/** Thrown by `tx` and `afterCommit` when a handler uses them after its transaction has ended. */
export class TransactionClosedError extends WebhookIdempotencyError {
  readonly code = 'TRANSACTION_CLOSED'

  constructor(found: string, options?: ErrorOptions) {
    super(
      `${found}: the transaction of this event has ended, and nothing more can be done in it. Await everything the handler starts.`,
      options,
    )
  }
}

/**
 * Thrown instead of COMMIT when a statement failed, the handler went on, and the database had given the transaction up.
 * Everything is rolled back. Answered with 500.
 */
export class TransactionAbortedError extends WebhookIdempotencyError {
  readonly code = 'TRANSACTION_ABORTED'

  constructor(
    readonly source: string,
    found: string,
    options?: ErrorOptions,
  ) {
    super(
      `The handler of source "${source}" went on after a failed statement, but ${found}; everything was rolled back. ` +
        `Let the error through, or expect it without an error: createMany({ skipDuplicates: true }), upsert, or a nested ` +
        `tx.$transaction(), which is a savepoint: await it before the next statement.`,
      options,
    )
  }
}

/** Thrown when the claim met conflicting transactions more often than `claimRetries` allows. Answered with 503. */
export class ClaimConflictError extends WebhookIdempotencyError {
  readonly code = 'CLAIM_CONFLICT'

  constructor(
    readonly source: string,
    readonly tries: number,
    options?: ErrorOptions,
  ) {
    super(
      `The claim of an event of source "${source}" conflicted with other transactions ${tries} times; deliver it again later.`,
      options,
    )
  }
}

/** Thrown when the model or its table is not there. */
export class MissingTableError extends WebhookIdempotencyError {
  readonly code = 'MISSING_TABLE'

  constructor(
    readonly model: string,
    found: string,
    options?: ErrorOptions,
  ) {
    super(
      `${found}. Copy the model from node_modules/nestjs-webhook-idempotency/prisma/models/ into your Prisma schema, ` +
        `then run "npx prisma migrate dev" (in production "npx prisma migrate deploy") and "npx prisma generate".`,
      options,
    )
  }
}

/** Thrown when a handler starts another event within its own: the two would wait for each other. */
export class NestedEventError extends WebhookIdempotencyError {
  readonly code = 'NESTED_EVENT'

  constructor(
    readonly source: string,
    readonly outer: string,
  ) {
    super(
      `An event of source "${source}" was started inside the handler of an event of source "${outer}". ` +
        `Start it from afterCommit(), or apply it with the tx at hand.`,
    )
  }
}

/** Thrown when a handler returns what cannot be answered after COMMIT, such as a stream. Everything is rolled back. */
export class UnsupportedReplyError extends WebhookIdempotencyError {
  readonly code = 'UNSUPPORTED_REPLY'

  constructor(handler: string, found: string) {
    super(
      `${handler} answered by ${found}, which promises success before COMMIT. Return a plain value; everything was rolled back.`,
    )
  }
}

/** Thrown for deliveries that arrive after the application began to shut down. Answered with 503. */
export class ShuttingDownError extends WebhookIdempotencyError {
  readonly code = 'SHUTTING_DOWN'

  constructor() {
    super('The application is shutting down; deliver the event again later.')
  }
}

/**
 * To be thrown by a handler when an event can never be processed: its effects are rolled back, the event stays claimed,
 * and the sender gets 200 with `{ "outcome": "rejected" }`, so that it stops.
 *
 * @example
 * throw new PermanentWebhookError('the account was closed')
 */
export class PermanentWebhookError extends WebhookIdempotencyError {
  readonly code = 'PERMANENT'

  /** @param reason - why, for the log; the sender does not get it */
  constructor(
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(reason, options)
  }
}
