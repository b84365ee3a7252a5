import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common'
import { HttpException, Inject, Injectable } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { Observable } from 'rxjs'
import { lastValueFrom, of } from 'rxjs'
import { type ActiveEvent, eventOfRequest, handle } from './active-event.js'
import { deliveredEvents } from './delivered-events.js'
import type { WebhookEvent } from './event-identity.js'
import { InvalidEventError, UnsupportedReplyError } from './errors.js'
import type { EventsInFlight } from './events-in-flight.service.js'
import { EVENTS_IN_FLIGHT } from './events-in-flight.service.js'
import { assertPlainReply } from './handler-misuse.js'
import { httpAnswer, RETRY_AFTER } from './http-answer.js'
import type { Outcome } from './outcome.js'
import type { ResolvedOptions } from './resolved-options.js'
import { RESOLVED_OPTIONS } from './resolved-options.js'
import type { HandshakeReply } from './sources/webhook-source.js'
import { isHttp, readDelivery, requestOf } from './webhook-delivery.js'
import type { WebhookHandler, WebhookHandlers } from './webhook-handlers.service.js'
import { WEBHOOK_HANDLERS } from './webhook-handlers.service.js'
import type { WebhookLog } from './webhook-log.js'
import { isWebhookIdempotencyError } from './webhook-idempotency.error.js'
import { WEBHOOK_LOG } from './webhook-log.js'

/** The way of a delivery: handshake, or identify, process, reply. A message of a broker gets no answer, but its error. */
@Injectable()
export class IdempotentWebhookInterceptor implements NestInterceptor {
  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(WEBHOOK_HANDLERS) private readonly handlers: WebhookHandlers,
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost,
    @Inject(EVENTS_IN_FLIGHT) private readonly inFlight: EventsInFlight,
    @Inject(WEBHOOK_LOG) private readonly log: WebhookLog,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const handler = this.handlers.of(context.getHandler())
    if (!handler || this.isBoundTwice(context)) return next.handle()
    const delivery = readDelivery(context)
    const handshake = await Promise.resolve(handler.source.handshake?.(delivery))
    if (handshake) return of(this.shakeHands(context, handshake))
    try {
      const events = deliveredEvents(handler.source, delivery, this.options.maxEvents)
      if (events.length === 0) return of(handler.source.duplicateReply)
      const { source } = events[0]!
      if (this.handlers.isTaken(source, handler)) {
        throw new InvalidEventError(
          source,
          `The source "${source}" of a delivery to ${handler.name} is that of another handler.`,
        )
      }
      const outcome = await handler.processor.process(events, () => this.apply(context, handler, next), {
        transaction: handler.transaction,
        request: requestOf(context),
      })
      return of(this.replyTo(handler, outcome))
    } catch (error) {
      throw this.answerTo(context, handler, error)
    }
  }

  /** Nest awaits this before it calls the hooks of modules farther from the root, the user's Prisma module among them. */
  onModuleDestroy(): Promise<void> {
    return this.inFlight.drain()
  }

  /** The inner one of two interceptors on a method would wait for the claim that the outer one has made. */
  private isBoundTwice(context: ExecutionContext): boolean {
    return eventOfRequest(requestOf(context)) !== undefined
  }

  private async apply(context: ExecutionContext, handler: WebhookHandler, next: CallHandler): Promise<unknown> {
    const batch = eventOfRequest(requestOf(context))!
    if (!handler.each) return this.callHandler(context, handler, next, batch)
    for (const event of batch.context.events) {
      const active = oneOf(batch, event)
      await handle(active, () => this.callHandler(context, handler, next, active))
    }
    return undefined
  }

  private async callHandler(
    context: ExecutionContext,
    handler: WebhookHandler,
    next: CallHandler,
    active: ActiveEvent,
  ): Promise<unknown> {
    try {
      const reply: unknown = await lastValueFrom(next.handle(), { defaultValue: undefined })
      assertPlainReply(handler.name, reply)
      return reply
    } finally {
      if (!active.ended && !active.expired && isAnswered(context)) this.log.answeredEarly(handler.name)
    }
  }

  private shakeHands(context: ExecutionContext, { body, contentType }: HandshakeReply): unknown {
    if (contentType) this.setHeader(context, 'Content-Type', contentType)
    return body
  }

  private replyTo(handler: WebhookHandler, outcome: Outcome<unknown>): unknown {
    switch (outcome.outcome) {
      case 'processed':
        return outcome.value === undefined ? { outcome: 'processed' } : outcome.value
      case 'duplicate':
        return handler.source.duplicateReply
      case 'rejected':
        return { outcome: 'rejected' }
    }
  }

  private answerTo(context: ExecutionContext, handler: WebhookHandler, error: unknown): unknown {
    if (isHttp(context) && isSuccess(error))
      return new UnsupportedReplyError(handler.name, 'an exception of a 2xx status')
    const answer = httpAnswer(error)
    if (!answer) return error
    this.log.refused(handler.name, isWebhookIdempotencyError(error) ? error : answer)
    if (!isHttp(context)) return error
    if (answer.getStatus() === 503 && !isAnswered(context)) this.setHeader(context, 'Retry-After', RETRY_AFTER)
    return answer
  }

  private setHeader(context: ExecutionContext, name: string, value: string): void {
    this.http.httpAdapter.setHeader(context.switchToHttp().getResponse(), name, value)
  }
}

/** A batch with one event at hand; it ends with the batch. */
function oneOf(batch: ActiveEvent, event: WebhookEvent): ActiveEvent {
  return Object.create(batch, { context: { value: { ...batch.context, event, events: [event] } } })
}

/** An exception rolls back; with a status of success it would end the deliveries of an event that had no effect. */
function isSuccess(error: unknown): boolean {
  return error instanceof HttpException && error.getStatus() < 400
}

/** On Express and Fastify. */
function isAnswered(context: ExecutionContext): boolean {
  if (!isHttp(context)) return false
  const { headersSent, sent } = context.getArgByIndex<{ headersSent?: boolean; sent?: boolean }>(1)
  return (headersSent ?? sent) === true
}
