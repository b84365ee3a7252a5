import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { PrismaPg } from '@prisma/adapter-pg'
import { Body, Controller, Post } from '@nestjs/common'
import pg from 'pg'
import { PrismaClient } from '../prisma/generated/client.js'
import { EventsInFlight } from '../src/events-in-flight.service.js'
import type { WebhookIdempotencyOptions } from '../src/index.js'
import { IdempotentWebhook, WebhookIdempotencyService, WebhookTransaction } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import type { CreditEvent, Tx } from './support/ledger.js'
import { credit, openAccount, recordsOf } from './support/ledger.js'
import { until } from './support/until.js'

const DAY = 24 * 60 * 60_000
const MINUTE = 60_000
/** 30 ms, and with the jitter from 15 to 45. */
const VERY_OFTEN = 0.0005

@Controller()
class Corvel {
  @Post('corvel')
  @IdempotentWebhook({ source: 'corvel' })
  async invoicePaid(@Body() event: CreditEvent, @WebhookTransaction() tx: Tx) {
    await credit(tx, event)
  }
}

let database: TestDatabase
const applications: RunningApplication[] = []

beforeAll(async () => {
  database = await createDatabase()
  await openAccount(database)
})

afterEach(async () => {
  await Promise.all(applications.splice(0).map(({ close }) => close()))
  await database.query('TRUNCATE processed_events, credits')
})

afterAll(async () => {
  await database.drop()
})

async function start(options: Partial<WebhookIdempotencyOptions> = {}): Promise<RunningApplication> {
  const application = await startApplication({
    controllers: [Corvel],
    options: { prisma: database.prisma(), ...options },
  })
  applications.push(application)
  return application
}

/** Claims as they are after so many days. */
async function claim(source: string, count: number, daysAgo: number): Promise<void> {
  await database.query(
    `INSERT INTO processed_events (source, event_id, event_type, received_at)
     SELECT $1, 'evt_' || n, 'test', now() - $2 * interval '1 day' FROM generate_series(1, $3) n`,
    [source, daysAgo, count],
  )
}

async function claimsLeft(): Promise<Record<string, number>> {
  const rows = await database.query<{ source: string; count: number }>(
    'SELECT source, count(*)::int AS count FROM processed_events GROUP BY source ORDER BY source',
  )
  return Object.fromEntries(rows.map(({ source, count }) => [source, count]))
}

describe('prune()', () => {
  it('deletes what is older than the time, and nothing else', async () => {
    await claim('old', 12, 31)
    await claim('new', 12, 29)
    const webhooks = (await start()).app.get(WebhookIdempotencyService)
    const olderThan = new Date(Date.now() - 30 * DAY)
    expect(await webhooks.prune({ olderThan })).toBe(12)
    expect(await claimsLeft()).toEqual({ new: 12 })
    expect(await webhooks.prune({ olderThan })).toBe(0)
    expect(await claimsLeft()).toEqual({ new: 12 })
  })

  it('keeps a claim that is exactly as old as the time', async () => {
    await claim('old', 1, 31)
    const [row] = await database.query<{ received_at: Date }>('SELECT received_at FROM processed_events')
    const webhooks = (await start()).app.get(WebhookIdempotencyService)
    expect(await webhooks.prune({ olderThan: row!.received_at })).toBe(0)
    expect(await webhooks.prune({ olderThan: new Date(row!.received_at.getTime() + 1) })).toBe(1)
  })

  it('deletes in statements of batchSize, each in a transaction of its own', async () => {
    const prisma = new PrismaClient({
      adapter: new PrismaPg({ connectionString: database.url }),
      log: [{ emit: 'event', level: 'query' }],
    })
    const statements: string[] = []
    prisma.$on('query', ({ query }) => statements.push(query))
    await claim('old', 25, 31)
    const application = await start({ prisma, probe: false })
    try {
      statements.length = 0
      const webhooks = application.app.get(WebhookIdempotencyService)
      expect(await webhooks.prune({ olderThan: new Date(), batchSize: 10 })).toBe(25)
      expect(statements).toEqual([1, 2, 3].map(() => expect.stringMatching(/^DELETE .* LIMIT /)))
    } finally {
      await application.close()
      await prisma.$disconnect()
    }
  })

  it('may run in two replicas at once: together they delete each old claim once', async () => {
    await claim('old', 1500, 31)
    await claim('new', 100, 29)
    const replicas = await Promise.all([start(), start()])
    const olderThan = new Date(Date.now() - 30 * DAY)
    const pruned = await Promise.all(
      replicas.map(({ app }) => app.get(WebhookIdempotencyService).prune({ olderThan, batchSize: 50 })),
    )
    expect(pruned[0]! + pruned[1]!).toBe(1500)
    expect(await claimsLeft()).toEqual({ new: 100 })
  })
})

describe('the option retention', () => {
  it('deletes claims that are older than its days again and again, and says how many', async () => {
    await claim('old', 25, 8)
    await claim('new', 5, 6)
    const { log } = await start({ retention: { days: 7, everyMinutes: VERY_OFTEN, batchSize: 10 } })
    await until('the old claims are deleted', async () => !('old' in (await claimsLeft())))
    await until('that is logged', () => log.at('log').includes('pruned 25 claims older than 7 days'))
    await claim('later', 3, 8)
    await until('later ones are deleted too', async () => !('later' in (await claimsLeft())))
    expect(await claimsLeft()).toEqual({ new: 5 })
  })

  it('goes by the clock of the database, which stamps the claims', async () => {
    await claim('old', 1, 8)
    await claim('new', 1, 6)
    const now = Date.now.bind(Date)
    const ahead = jest.spyOn(Date, 'now').mockImplementation(() => now() + 5 * DAY)
    try {
      await start({ retention: { days: 7, everyMinutes: VERY_OFTEN } })
      await until('the old claim is deleted', async () => !('old' in (await claimsLeft())))
      expect(await claimsLeft()).toEqual({ new: 1 })
    } finally {
      ahead.mockRestore()
    }
  })

  it('logs that it failed, and tries again at the next interval', async () => {
    await claim('old', 1, 8)
    await database.query('ALTER TABLE processed_events RENAME TO taken_away')
    const failures = (application: RunningApplication) =>
      application.log.at('error').filter((line) => line.startsWith('pruning old claims failed; it is tried again'))
    try {
      const application = await start({ retention: { days: 7, everyMinutes: VERY_OFTEN }, probe: false })
      await until('it has failed twice', () => failures(application).length >= 2)
      expect(failures(application)[0]).toContain('processed_events')
    } finally {
      await database.query('ALTER TABLE taken_away RENAME TO processed_events')
    }
    await until('the old claim is deleted', async () => !('old' in (await claimsLeft())))
  })

  it('waits between half its interval and one and a half, keeps no process alive, and ends with the application', async () => {
    const set = jest.spyOn(globalThis, 'setTimeout')
    const clear = jest.spyOn(globalThis, 'clearTimeout')
    try {
      const everyMinutes = 1000
      const pauses = []
      for (let run = 0; run < 3; run++) {
        set.mockClear()
        const application = await start({ retention: { everyMinutes } })
        const index = set.mock.calls.findIndex(([, pause]) => pause! > 100 * MINUTE)
        const timer = set.mock.results[index]!.value as NodeJS.Timeout
        pauses.push(set.mock.calls[index]![1]! / MINUTE)
        expect(timer.hasRef()).toBe(false)
        await application.close()
        expect(clear).toHaveBeenCalledWith(timer)
      }
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(everyMinutes / 2)
      expect(Math.max(...pauses)).toBeLessThanOrEqual(everyMinutes * 1.5)
      expect(new Set(pauses).size).toBe(3)
    } finally {
      set.mockRestore()
      clear.mockRestore()
    }
  })

  it('ends with the batch at hand when the application closes, and starts nothing more', async () => {
    await claim('old', 20, 8)
    const lock = await lockClaims()
    const retention = { days: 7, everyMinutes: VERY_OFTEN, batchSize: 5 }
    const application = await start({ retention, probe: false })
    await until('a run waits for the table', lock.isWaitedFor)
    const set = jest.spyOn(globalThis, 'setTimeout')
    try {
      const closed = application.close()
      await until('the application closes', () => application.app.get(EventsInFlight).isDraining)
      await lock.release()
      await closed
      const pauses = set.mock.calls.map(([, pause]) => pause! / MINUTE)
      expect(pauses.filter((pause) => pause >= VERY_OFTEN / 2 && pause <= VERY_OFTEN * 1.5)).toEqual([])
      expect(await claimsLeft()).toEqual({ old: 15 })
    } finally {
      set.mockRestore()
    }
  })

  it('is the only one to delete: nothing is deleted unless it is asked for', async () => {
    await claim('ancient', 3, 10_000)
    const set = jest.spyOn(globalThis, 'setTimeout')
    try {
      const application = await start()
      await application.deliver('/corvel', { id: 'evt_1' })
      expect(set.mock.calls.filter(([, pause]) => pause! > MINUTE)).toEqual([])
    } finally {
      set.mockRestore()
    }
    expect(await claimsLeft()).toEqual({ ancient: 3, corvel: 1 })
  })
})

describe('an event whose claim is gone', () => {
  it('is processed again when it was forgotten on purpose', async () => {
    const application = await start()
    const webhooks = application.app.get(WebhookIdempotencyService)
    const outcome = async () => (await application.deliver('/corvel', { id: 'evt_1' })).body.outcome
    await webhooks.process({ source: 'other', id: 'evt_1' }, async () => {})
    expect([await outcome(), await outcome()]).toEqual(['processed', 'duplicate'])
    expect(await webhooks.forget({ source: 'corvel', id: 'evt_1' })).toBe(true)
    expect(await webhooks.forget({ source: 'corvel', id: 'evt_1' })).toBe(false)
    expect([await outcome(), await outcome()]).toEqual(['processed', 'duplicate'])
    expect(await recordsOf(database, 'evt_1')).toEqual({ credits: 2, claims: 1 })
    expect(await claimsLeft()).toEqual({ corvel: 1, other: 1 })
  })

  it('is processed again when it was pruned', async () => {
    const application = await start()
    await application.deliver('/corvel', { id: 'evt_2' })
    const webhooks = application.app.get(WebhookIdempotencyService)
    expect(await webhooks.prune({ olderThan: new Date(Date.now() + DAY) })).toBe(1)
    expect((await application.deliver('/corvel', { id: 'evt_2' })).body.outcome).toBe('processed')
  })
})

/** Makes every statement that deletes claims wait. */
async function lockClaims() {
  const holder = new pg.Client(database.url)
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query('LOCK TABLE processed_events IN SHARE MODE')
  return {
    async isWaitedFor() {
      const waiting = await database.query(
        `SELECT pid FROM pg_locks WHERE relation = 'processed_events'::regclass AND NOT granted`,
      )
      return waiting.length > 0
    },
    release: () => holder.end(),
  }
}
