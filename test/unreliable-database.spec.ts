import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { WebhookIdempotencyOptions } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { Handler } from './support/corvel.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'
import { untilBlocked, withSession } from './support/sessions.js'

describe('an event whose database fails it', () => {
  let database: TestDatabase
  let running: RunningApplication

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
  })
  afterEach(() => running.close())
  afterAll(() => database.drop())

  async function start(handle: Handler, options: Partial<WebhookIdempotencyOptions> = {}) {
    running = await startApplication({
      controllers: [corvelController(handle)],
      options: { prisma: database.prisma({ max: 2 }), probe: false, ...options },
    })
  }

  const deliver = (id: string) => running.deliver(CORVEL, { id })

  // prisma/prisma#27641, PrairieLearn/PrairieLearn#2396
  it.each(['before', 'after'])(
    'is processed by the next delivery when the session was killed %s its effect',
    async (when) => {
      let isKilled = true
      await start(async (tx, event) => {
        if (when === 'after') await credit(tx, event)
        if (isKilled) {
          const [session] = await tx.$queryRaw<[{ pid: number }]>`SELECT pg_backend_pid() AS pid`
          await database.query('SELECT pg_terminate_backend($1)', [session.pid])
        }
        if (when === 'before') await credit(tx, event)
      })
      const id = `killed ${when}`
      for (let time = 0; time < 3; time++) expect((await deliver(id)).status).toBeGreaterThanOrEqual(500)
      expect(await recordsOf(database, id)).toEqual(NEVER)
      isKilled = false
      // The pool may still hand out the killed session once: it learns of the end later than the sender.
      let answer = await deliver(id)
      if (answer.status === 503) answer = await deliver(id)
      expect(answer).toMatchObject({ status: 200, body: { outcome: 'processed' } })
      expect(await recordsOf(database, id)).toEqual(ONCE)
    },
  )

  it('is processed by the next delivery when the session was killed while its claim waited', async () => {
    await start((tx, event) => credit(tx, event))
    await withSession(database, async (other) => {
      await other.query('BEGIN')
      await other.query(`INSERT INTO processed_events (source, event_id, event_type) VALUES ('corvel', 'waiting', '')`)
      const delivery = deliver('waiting')
      await untilBlocked(database)
      await database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`)
      expect((await delivery).status).toBeGreaterThanOrEqual(500)
    })
    expect(await deliver('waiting')).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    expect(await recordsOf(database, 'waiting')).toEqual(ONCE)
  })

  // letsencrypt/boulder#8749, prisma/prisma#10122: "nothing inserted" must mean a duplicate and nothing else.
  it('is never taken for a duplicate when its claim is refused', async () => {
    await start((tx, event) => credit(tx, event))
    await database.query(`ALTER TABLE processed_events ADD CONSTRAINT no_bad_ids CHECK (event_id <> 'bad')`)
    for (let time = 0; time < 2; time++) expect((await deliver('bad')).status).toBe(500)
    expect(await recordsOf(database, 'bad')).toEqual(NEVER)
    expect(await deliver('good')).toMatchObject({ status: 200, body: { outcome: 'processed' } })
  })

  // prisma/extension-read-replicas#35: a replica may not know of the claim yet.
  it('is decided by the insert alone, whatever reads say', async () => {
    const lagging = database.prisma().$extends({
      query: {
        processedEvent: {
          findUnique: async () => null,
          findFirst: async () => null,
          findMany: async () => [],
          count: async () => 0,
        },
      },
    })
    await start((tx, event) => credit(tx, event), { prisma: lagging })
    expect(await deliver('replica')).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    expect(await deliver('replica')).toMatchObject({ status: 200, body: { outcome: 'duplicate' } })
    expect(await recordsOf(database, 'replica')).toEqual(ONCE)
  })
})
