import { Injectable } from '@nestjs/common'
import type { Attributes, Span } from '@opentelemetry/api'
import { createNoopMeter, metrics, ProxyTracerProvider, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { WebhookEvent } from './event-identity.js'
import type { Outcome } from './outcome.js'

const SCOPE = 'nestjs-webhook-idempotency'

/**
 * Spans and metrics of deliveries; without an OpenTelemetry SDK every call does nothing. Names follow the semantic
 * conventions for messaging where these have one: https://opentelemetry.io/docs/specs/semconv/messaging/
 */
@Injectable()
export class Telemetry {
  private readonly tracer = trace.getTracer(SCOPE)
  private readonly meter = metrics.getMeter(SCOPE)
  private readonly deliveries = this.meter.createCounter('webhook.deliveries', {
    description: 'Deliveries by source and outcome',
    unit: '{delivery}',
  })
  private readonly inFlight = this.meter.createUpDownCounter('webhook.deliveries.in_flight', {
    description: 'Deliveries that have no outcome yet',
    unit: '{delivery}',
  })
  private readonly waits = this.meter.createCounter('webhook.waits', {
    description: 'Deliveries that waited for another one of the same event',
    unit: '{delivery}',
  })
  private readonly retries = this.meter.createCounter('webhook.retries', {
    description: 'Transactions tried again after a conflict',
    unit: '{transaction}',
  })
  private readonly duration = this.meter.createHistogram('messaging.process.duration', {
    description: 'How long deliveries took until their outcome',
    unit: 's',
  })

  /** Observes the processing of one delivery. */
  observe<Value>(events: readonly WebhookEvent[], work: () => Promise<Outcome<Value>>): Promise<Outcome<Value>> {
    if (!this.isObserved) return work()
    const attributes = attributesOf(events)
    return this.tracer.startActiveSpan(
      `process ${events[0]!.source}`,
      { kind: SpanKind.CONSUMER, attributes: { ...attributes, ...messageOf(events) } },
      async (span) => {
        const started = performance.now()
        this.inFlight.add(1, attributes)
        let ending: Attributes = {}
        try {
          const outcome = await work()
          ending = { 'webhook.outcome': outcome.outcome }
          return outcome
        } catch (error) {
          ending = { 'webhook.outcome': 'failed', 'error.type': typeOf(error) }
          fail(span, error)
          throw error
        } finally {
          this.inFlight.add(-1, attributes)
          const all = { ...attributes, ...ending }
          this.deliveries.add(1, all)
          this.duration.record((performance.now() - started) / 1000, all)
          span.setAttributes(ending).end()
        }
      },
    )
  }

  /** Whether there is an OpenTelemetry SDK; one for traces may come later than this. */
  private get isObserved(): boolean {
    if (this.meter !== createNoopMeter()) return true
    const provider = trace.getTracerProvider()
    return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(SCOPE) !== undefined
  }

  waited(events: readonly WebhookEvent[]): void {
    this.waits.add(1, attributesOf(events))
    trace.getActiveSpan()?.addEvent('webhook.waited')
  }

  retried(events: readonly WebhookEvent[]): void {
    this.retries.add(1, attributesOf(events))
    trace.getActiveSpan()?.addEvent('webhook.retried')
  }
}

function attributesOf(events: readonly WebhookEvent[]): Attributes {
  return {
    'messaging.system': 'webhook',
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'process',
    'messaging.destination.name': events[0]!.source,
  }
}

function messageOf(events: readonly WebhookEvent[]): Attributes {
  return events.length === 1
    ? { 'messaging.message.id': events[0]!.id, 'webhook.event.type': events[0]!.type }
    : { 'messaging.batch.message_count': events.length }
}

/** Only what the error is: its message might hold a part of the payload. */
function fail(span: Span, error: unknown): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message: typeOf(error) })
}

function typeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'unknown'
}
