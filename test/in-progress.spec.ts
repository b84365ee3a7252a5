import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { IdempotentWebhookOptions, WebhookIdempotencyOptions } from '../src/index.js'
import { EventProcessors } from '../src/event-processors.service.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { Handler } from './support/corvel.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { Latch } from './support/latch.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'
import { sessions } from './support/sessions.js'
import { countTransactions } from './support/transactions.js'
import { until } from './support/until.js'

describe('deliveries of one event in one process', () => {
  let database: TestDatabase
  let running: RunningApplication
  let transactions: ReturnType<typeof countTransactions>
  let arrived: number

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
  })
  afterAll(() => database.drop())
  afterEach(() => running.close())

  async function start(handle: Handler, options: Partial<WebhookIdempotencyOptions & IdempotentWebhookOptions> = {}) {
    const { events, ...module } = options
    transactions = countTransactions(database.prisma({ max: 10, application_name: 'deliveries' }))
    arrived = 0
    running = await startApplication({
      controllers: [corvelController(handle, { events })],
      options: { prisma: transactions.client, probe: false, ...module },
      configure: (app) => app.use((_request: unknown, _response: unknown, next: () => void) => (arrived++, next())),
    })
    transactions.count = 0
  }

  const deliver = (id: string) => running.deliver(CORVEL, { id, type: 'invoice.paid' })
  const deliverTimes = (id: string, times: number) => Array.from({ length: times }, () => deliver(id))
  const inProgress = (): number => {
    const processor: any = running.app.get(EventProcessors).for()
    return processor.inProgress.inProgress.size
  }

  it('use one connection of the pool between them, and leave the others to other events', async () => {
    const entered = new Latch()
    const held = new Latch()
    await start(async (tx, event) => {
      await credit(tx, event)
      if (event.id !== 'storm') return
      entered.open()
      await held.opened
    })
    const first = deliver('storm')
    await entered.opened
    const duplicates = deliverTimes('storm', 39)
    await until('all have arrived', () => arrived === 40)
    const others = await Promise.all(Array.from({ length: 25 }, (_, n) => deliver(`unrelated ${n}`)))
    expect(others.map(({ status, body }) => `${status} ${body.outcome}`)).toEqual(Array(25).fill('200 processed'))
    expect(await sessions(database, `application_name = 'deliveries' AND xact_start IS NOT NULL`)).toBe(1)
    expect(transactions.count).toBe(1 + 25)
    held.open()
    expect(await first).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    for (const duplicate of await Promise.all(duplicates)) {
      expect(duplicate).toMatchObject({ status: 200, body: { outcome: 'duplicate' } })
    }
    expect(transactions.count).toBe(1 + 25)
    expect(await recordsOf(database, 'storm')).toEqual(ONCE)
    expect(inProgress()).toBe(0)
  })

  it('take over one after the other while those ahead of them fail', async () => {
    const warnings: string[] = []
    const warn = ({ message }: Error) => warnings.push(message)
    process.on('warning', warn)
    const entered = new Latch()
    const held = new Latch()
    let failures = 0
    await start(async (tx, { id }) => {
      entered.open()
      await held.opened
      await credit(tx, { id })
      if (++failures <= 15) throw new Error('not yet')
    })
    const first = deliver('failing')
    await entered.opened
    const others = deliverTimes('failing', 24)
    await until('all have arrived', () => arrived === 25)
    held.open()
    const answers = await Promise.all([first, ...others])
    process.off('warning', warn)
    expect(answers.filter(({ status }) => status === 500)).toHaveLength(15)
    expect(answers.filter(({ body }) => body.outcome === 'processed')).toHaveLength(1)
    expect(answers.filter(({ body }) => body.outcome === 'duplicate')).toHaveLength(9)
    expect(transactions.count).toBe(16)
    expect(await recordsOf(database, 'failing')).toEqual(ONCE)
    expect(inProgress()).toBe(0)
    expect(warnings).toEqual([])
  })

  it('are turned away with 503 when the one in progress outlasts waitTimeout, and are duplicates afterwards', async () => {
    const entered = new Latch()
    const held = new Latch()
    await start(
      async (tx, { id }) => {
        await credit(tx, { id })
        entered.open()
        await held.opened
      },
      { waitTimeout: 400 },
    )
    const first = deliver('long')
    await entered.opened
    const began = performance.now()
    for (const early of await Promise.all(deliverTimes('long', 10))) {
      expect(early).toMatchObject({ status: 503, body: { error: 'EVENT_IN_PROGRESS' } })
      expect(early.headers.get('retry-after')).toBe('5')
    }
    expect(performance.now() - began).toBeLessThan(400 + 500)
    expect(transactions.count).toBe(1)
    held.open()
    expect(await first).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    expect(await deliver('long')).toMatchObject({ status: 200, body: { outcome: 'duplicate' } })
    expect(await recordsOf(database, 'long')).toEqual(ONCE)
    expect(inProgress()).toBe(0)
  })

  it('leave nothing behind in memory when they are refused by the database, time out or fail', async () => {
    const entered = new Latch()
    await start(
      (_tx, { id }) => {
        entered.open()
        if (id === 'fails') throw new Error('no')
        return new Promise(() => {})
      },
      { transaction: { timeout: 500 }, waitTimeout: 400 },
    )
    const answers = await Promise.all(['endless', 'endless', 'fails', ''].map(deliver))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([400, 500, 503, 503])
    await until('none is left', () => inProgress() === 0)
    expect(await recordsOf(database, 'endless')).toEqual(NEVER)
  })

  it('keep no timer once they have ended', async () => {
    await start((tx, { id }) => credit(tx, { id }))
    const setTimer = jest.spyOn(globalThis, 'setTimeout')
    await Promise.all([...deliverTimes('timers', 3), deliver('timers 2')])
    const bounds = setTimer.mock.calls.map(([, ms]) => ms)
    setTimer.mockRestore()
    expect(bounds).toContain(2250) // by which the transaction must have started
    expect(bounds).not.toContain(30_000) // by which its end must be known, if it is not at once
  })

  describe('as parts of batches', () => {
    const events: IdempotentWebhookOptions['events'] = ({ body }) => body.ids.map((id: string) => ({ id }))
    const deliverBatch = (ids: string[]) => running.deliver(CORVEL, { ids })

    it('are left out of a batch that waited for them', async () => {
      const entered = new Latch()
      const held = new Latch()
      await start(
        async (tx, _body, context) => {
          for (const event of context.events) await credit(tx, event)
          if (context.events.length > 1) return
          entered.open()
          await held.opened
        },
        { events },
      )
      const single = deliverBatch(['part 1'])
      await entered.opened
      const batch = deliverBatch(['part 3', 'part 1', 'part 2'])
      await until('both have arrived', () => arrived === 2)
      held.open()
      expect(await single).toMatchObject({ status: 200, body: { outcome: 'processed' } })
      expect(await batch).toMatchObject({ status: 200, body: { outcome: 'processed' } })
      for (const id of ['part 1', 'part 2', 'part 3']) expect(await recordsOf(database, id)).toEqual(ONCE)
    })

    it('never wait for each other in a circle, in whatever order batches overlap', async () => {
      await start(
        async (tx, _body, context) => {
          for (const event of context.events) await credit(tx, event)
        },
        { events },
      )
      const ids = Array.from({ length: 6 }, (_, n) => `circle ${n}`)
      const batches = Array.from({ length: 30 }, (_, n) => {
        const rotated = [...ids.slice(n % 6), ...ids.slice(0, n % 6)].slice(0, 2 + (n % 5))
        return n % 2 ? rotated.toReversed() : rotated
      })
      const answers = await Promise.all(batches.map(deliverBatch))
      expect(answers.map(({ status }) => status)).toEqual(Array(30).fill(200))
      for (const id of ids) expect(await recordsOf(database, id)).toEqual(ONCE)
      expect(inProgress()).toBe(0)
    })
  })
})
