import { context, metrics, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { IdempotentWebhookOptions, WebhookIdempotencyOptions } from '../src/index.js'
import { EventsInFlight } from '../src/events-in-flight.service.js'
import { PermanentWebhookError } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { Handler } from './support/corvel.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { Latch } from './support/latch.js'
import { credit, ONCE, openAccount, recordsOf } from './support/ledger.js'
import { untilBlocked, withSession } from './support/sessions.js'
import { until } from './support/until.js'

const SECRET = 'card 4242'

describe('telemetry', () => {
  let database: TestDatabase
  let running: RunningApplication

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
  })
  afterEach(() => running.close())
  afterAll(() => database.drop())

  async function start(handle: Handler, options: Partial<WebhookIdempotencyOptions & IdempotentWebhookOptions> = {}) {
    const { events, ...module } = options
    running = await startApplication({
      controllers: [corvelController(handle, { events })],
      options: { prisma: database.prisma(), probe: false, ...module },
    })
  }

  const deliver = (id: string) => running.deliver(CORVEL, { id, type: 'invoice.paid', note: SECRET })

  it('needs no SDK', async () => {
    await start(async (tx, event) => {
      if (event.id === 'fails') throw new Error('no')
      await credit(tx, event)
    })
    expect(await deliver('without SDK')).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    expect(await deliver('without SDK')).toMatchObject({ status: 200, body: { outcome: 'duplicate' } })
    expect(await deliver('fails')).toMatchObject({ status: 500 })
    expect(await recordsOf(database, 'without SDK')).toEqual(ONCE)
  })

  describe('with an SDK', () => {
    const spans = new InMemorySpanExporter()
    const reader = new PeriodicExportingMetricReader({
      exporter: new InMemoryMetricExporter(AggregationTemporality.DELTA),
      exportIntervalMillis: 2 ** 31 - 1,
    })
    const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
    const metering = new MeterProvider({ readers: [reader] })

    beforeAll(() => {
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
      trace.setGlobalTracerProvider(tracing)
      metrics.setGlobalMeterProvider(metering)
    })
    afterEach(async () => {
      spans.reset()
      await collect()
    })
    afterAll(async () => {
      trace.disable()
      metrics.disable()
      context.disable()
      await Promise.all([tracing.shutdown(), metering.shutdown()])
    })

    /** What was measured since the last look: by metric, a list of attributes and values. */
    async function collect() {
      const { resourceMetrics } = await reader.collect()
      const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics)
      return {
        of: (name: string) =>
          (all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? []).map(({ attributes, value }) => ({
            outcome: attributes['webhook.outcome'],
            error: attributes['error.type'],
            source: attributes['messaging.destination.name'],
            value: value as any,
          })),
      }
    }

    it('makes a span of each delivery, around what its handler does', async () => {
      let active: string | undefined
      await start(async (tx, event) => {
        active = trace.getActiveSpan()?.spanContext().spanId
        await credit(tx, event)
      })
      await deliver('traced')
      await deliver('traced')
      const [processed, duplicate] = spans.getFinishedSpans()
      expect(processed).toMatchObject({
        name: 'process corvel',
        kind: SpanKind.CONSUMER,
        status: { code: SpanStatusCode.UNSET },
        attributes: {
          'messaging.system': 'webhook',
          'messaging.operation.type': 'process',
          'messaging.operation.name': 'process',
          'messaging.destination.name': 'corvel',
          'messaging.message.id': 'traced',
          'webhook.event.type': 'invoice.paid',
          'webhook.outcome': 'processed',
        },
      })
      expect(active).toBe(processed!.spanContext().spanId)
      expect(duplicate!.attributes['webhook.outcome']).toBe('duplicate')
    })

    it('says of a batch how many events it carries', async () => {
      await start(() => {}, { events: ({ body }) => body.ids.map((id: string) => ({ id })) })
      await running.deliver(CORVEL, { ids: ['one', 'two'] })
      expect(spans.getFinishedSpans()[0]!.attributes).toMatchObject({ 'messaging.batch.message_count': 2 })
      expect(spans.getFinishedSpans()[0]!.attributes).not.toHaveProperty('messaging.message.id')
    })

    it('counts and times deliveries by source and outcome, and none is left in flight', async () => {
      const entered = new Latch()
      const held = new Latch()
      await start(
        async (_tx, { id }) => {
          if (id === 'held') {
            entered.open()
            await held.opened
          }
          if (id === 'rejected') throw new PermanentWebhookError('no')
          if (id === 'failed') throw new TypeError(SECRET)
          if (id === 'endless') await new Promise(() => {})
        },
        { transaction: { timeout: 400 } },
      )
      const first = deliver('held')
      await entered.opened
      expect((await collect()).of('webhook.deliveries.in_flight')).toMatchObject([{ value: 1 }])
      held.open()
      await first
      for (const id of ['held', 'rejected', 'failed', 'endless']) await deliver(id)
      const measured = await collect()
      expect(measured.of('webhook.deliveries').toSorted(byOutcome)).toEqual([
        { source: 'corvel', outcome: 'duplicate', value: 1 },
        { source: 'corvel', outcome: 'failed', error: 'EVENT_TIMEOUT', value: 1 },
        { source: 'corvel', outcome: 'failed', error: 'TypeError', value: 1 },
        { source: 'corvel', outcome: 'processed', value: 1 },
        { source: 'corvel', outcome: 'rejected', value: 1 },
      ])
      for (const { value } of measured.of('messaging.process.duration')) {
        expect(value.count).toBe(1)
        expect(value.sum).toBeLessThan(2)
      }
      expect(measured.of('webhook.deliveries.in_flight')).toMatchObject([{ value: -1 }])
      const failed = spans.getFinishedSpans().filter(({ status }) => status.code === SpanStatusCode.ERROR)
      expect(failed.map(({ attributes }) => attributes['error.type'])).toEqual(['TypeError', 'EVENT_TIMEOUT'])
    })

    const byOutcome = (a: { outcome?: unknown; error?: unknown }, b: typeof a) =>
      `${String(a.outcome)} ${String(a.error)}` < `${String(b.outcome)} ${String(b.error)}` ? -1 : 1

    it('counts deliveries that waited for another one of their event', async () => {
      const entered = new Latch()
      const held = new Latch()
      await start(async () => {
        entered.open()
        await held.opened
      })
      const first = deliver('awaited')
      await entered.opened
      const others = [deliver('awaited'), deliver('awaited')]
      const inFlight: any = running.app.get(EventsInFlight)
      await until('all are in flight', () => inFlight.inFlight.size === 3)
      held.open()
      await Promise.all([first, ...others])
      expect((await collect()).of('webhook.waits')).toMatchObject([{ source: 'corvel', value: 2 }])
      const waited = spans
        .getFinishedSpans()
        .filter(({ events }) => events.some(({ name }) => name === 'webhook.waited'))
      expect(waited.map(({ attributes }) => attributes['webhook.outcome'])).toEqual(['duplicate', 'duplicate'])
    })

    it('counts transactions that were tried again', async () => {
      await start(() => {}, { transaction: { isolationLevel: 'RepeatableRead' } })
      await withSession(database, async (other) => {
        await other.query('BEGIN')
        await other.query(
          `INSERT INTO processed_events (source, event_id, event_type) VALUES ('corvel', 'contested', '')`,
        )
        const delivery = deliver('contested')
        await untilBlocked(database)
        await other.query('COMMIT')
        expect(await delivery).toMatchObject({ status: 200, body: { outcome: 'duplicate' } })
      })
      expect((await collect()).of('webhook.retries')).toMatchObject([{ source: 'corvel', value: 1 }])
      expect(spans.getFinishedSpans()[0]!.events).toMatchObject([{ name: 'webhook.retried' }])
    })

    it('tells nothing of what the events carry', async () => {
      await start((_tx, { id, note }) => {
        if (id === 'secret failure') throw new Error(`cannot charge ${note}`)
      })
      for (const id of ['secret', 'secret', 'secret failure']) await deliver(id)
      const exported = spans
        .getFinishedSpans()
        .map(({ name, attributes, events, status }) => ({ name, attributes, events, status }))
      expect(exported).toHaveLength(3)
      const { resourceMetrics } = await reader.collect()
      expect(JSON.stringify([exported, resourceMetrics.scopeMetrics])).not.toContain(SECRET)
    })
  })
})
