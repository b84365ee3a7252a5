import { Injectable, Logger } from '@nestjs/common'
import type { WebhookEvent } from './event-identity.js'

export const WEBHOOK_LOG = Symbol.for('nestjs-webhook-idempotency:log')

/** Every line that this library logs about events: what happened to which source and ID; never a payload. */
@Injectable()
export class WebhookLog {
  private readonly logger = new Logger('WebhookIdempotency')

  processed(events: readonly WebhookEvent[]): void {
    this.logger.verbose?.(`processed ${name(events)}`)
  }

  duplicate(events: readonly WebhookEvent[]): void {
    this.logger.debug?.(`duplicate ${name(events)}`)
  }

  rejected(events: readonly WebhookEvent[], reason: string): void {
    this.logger.error(`rejected ${name(events)}: ${reason}`)
  }

  /** A delivery got an answer after which its sender must deliver it again. */
  refused(source: string, error: Error): void {
    this.logger.warn(`refused a delivery of ${source}: ${error.message}${causeOf(error)}`)
  }

  unverified(handler: string, reason: string): void {
    this.logger.warn(`refused an unverified delivery to ${handler}: ${reason}`)
  }

  answeredEarly(handler: string): void {
    this.logger.error(
      `${handler} sent its answer before COMMIT: if that fails, the sender will not deliver the event again`,
    )
  }

  /** A transaction that takes long holds a connection and row locks. */
  slow(events: readonly WebhookEvent[], took: number, timeout: number): void {
    this.logger.warn(`${name(events)} held its transaction for ${Math.round(took)} ms of at most ${timeout} ms`)
  }

  hookFailed(events: readonly WebhookEvent[], error: unknown): void {
    this.logger.error(`an afterCommit hook of ${name(events)} failed`, stackOf(error))
  }

  keptTooShort(handler: string, redeliveryDays: number, days: number): void {
    this.logger.warn(
      `the sender of ${handler} may deliver an event again after ${redeliveryDays} days, but claims are kept for ${days} ` +
        `(retention.days): such an event would be processed twice`,
    )
  }

  pruned(count: number, days: number): void {
    this.logger.log(`pruned ${count} claims older than ${days} days`)
  }

  pruneFailed(error: unknown): void {
    this.logger.error('pruning old claims failed; it is tried again at the next interval', stackOf(error))
  }

  notProbed(error: unknown): void {
    this.logger.warn(
      `the table was not checked at start-up, since the database did not answer${causeOf({ cause: error })}`,
    )
  }

  drainTimedOut(count: number, bound: number): void {
    this.logger.error(
      `${count} deliveries were still in progress ${bound} ms after the shutdown began; they are left behind`,
    )
  }
}

function name(events: readonly WebhookEvent[]): string {
  const [{ source, id, type }, ...more] = events as [WebhookEvent, ...WebhookEvent[]]
  return `${source}/${id} (${type})${more.length > 0 ? ` and ${more.length} more` : ''}`
}

function causeOf({ cause }: { cause?: unknown }): string {
  return cause instanceof Error ? ` (${cause.message.trim().split('\n').at(-1)})` : ''
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
