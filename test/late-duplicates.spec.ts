import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../prisma/generated/client.js'
import type { WebhookIdempotencyOptions } from '../src/index.js'
import { WebhookIdempotencyService } from '../src/index.js'
import { RecentEvents } from '../src/recent-events.js'
import type { Answer, RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { Latch } from './support/latch.js'
import { credit, ONCE, openAccount, recordsOf, tally } from './support/ledger.js'
import { prismaThatAsks } from './support/statements.js'

const PROCESSED = { status: 200, body: { outcome: 'processed' } }
const DUPLICATE = { status: 200, body: { outcome: 'duplicate' } }
const FORGET = `DELETE FROM processed_events WHERE source = 'corvel' AND event_id = $1`

describe('duplicates that come after COMMIT', () => {
  let database: TestDatabase
  let prisma: PrismaClient | undefined
  let running: RunningApplication
  let statements: string[]

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
  })
  afterEach(async () => {
    await running.close()
    await prisma?.$disconnect()
    prisma = undefined
  })
  afterAll(() => database.drop())

  async function start(client: unknown, options?: Partial<WebhookIdempotencyOptions>): Promise<void> {
    running = await startApplication({
      options: { ...options, prisma: client as PrismaClient },
      controllers: [corvelController((tx, event) => credit(tx, event))],
    })
    statements = []
  }

  /** What `before` gives back is awaited before the statement is sent. */
  function asking(before: (sql: string) => unknown = () => undefined): PrismaClient {
    return (prisma = prismaThatAsks(database, (sql) => (statements?.push(sql), before(sql))))
  }

  const deliver = (id: string): Promise<Answer> => running.deliver(CORVEL, { id })
  const isLook = (sql: string) => sql.startsWith('SELECT')
  const isClaim = (sql: string) => /^INSERT INTO .*"processed_events"/.test(sql)

  it.each(['createMany', 'sql'] as const)('cost one statement and no transaction (claim: %s)', async (claim) => {
    await start(asking(), { claim })
    expect(await deliver(`seen by ${claim}`)).toMatchObject(PROCESSED)
    expect(statements.filter(isLook)).toEqual([])
    statements.length = 0
    expect(await deliver(`seen by ${claim}`)).toMatchObject(DUPLICATE)
    expect(statements).toEqual([expect.stringMatching(/^SELECT .* FROM "public"."processed_events"/)])
    expect(await recordsOf(database, `seen by ${claim}`)).toEqual(ONCE)
  })

  it('cost one statement also when another process made the claim, from the second one on', async () => {
    await start(asking())
    await database.query(
      `INSERT INTO processed_events (source, event_id, event_type) VALUES ('corvel', 'elsewhere', 'x')`,
    )
    for (const times of [1, 2, 3]) {
      expect(await deliver('elsewhere')).toMatchObject(DUPLICATE)
      expect(statements.filter(isClaim)).toHaveLength(1)
      expect(statements.filter(isLook)).toHaveLength(times - 1)
    }
  })

  it('cost one statement for all that come at once', async () => {
    const looking = new Latch()
    const held = new Latch()
    const hold = (sql: string) => (isLook(sql) && statements.length > 0 ? (looking.open(), held.opened) : undefined)
    await start(asking(hold))
    await deliver('at once')
    statements.length = 0
    const first = deliver('at once')
    await looking.opened
    const webhooks = running.app.get(WebhookIdempotencyService)
    const others = Array.from({ length: 20 }, () =>
      webhooks.process({ source: 'corvel', id: 'at once' }, async () => undefined),
    )
    held.open()
    expect(await first).toMatchObject(DUPLICATE)
    expect(tally((await Promise.all(others)).map(({ outcome }) => outcome))).toEqual({ duplicate: 20 })
    expect(statements.filter(isClaim)).toEqual([])
    expect(statements.filter(isLook)).toHaveLength(1)
    expect(await recordsOf(database, 'at once')).toEqual(ONCE)
  })

  it.each([
    ['forget()', () => running.app.get(WebhookIdempotencyService).forget({ source: 'corvel', id: 'by forget()' })],
    ['another process', () => database.query(FORGET, ['by another process'])],
  ])('are processed again after their claim was deleted by %s', async (who, forget) => {
    await start(database.prisma())
    const id = `by ${who}`
    expect(await deliver(id)).toMatchObject(PROCESSED)
    expect(await deliver(id)).toMatchObject(DUPLICATE)
    await forget()
    expect(await deliver(id)).toMatchObject(PROCESSED)
    expect(await recordsOf(database, id)).toEqual({ credits: 2, claims: 1 })
  })

  it('are looked for in the table that holds the claims, whatever else the search path has', async () => {
    await database.query(`CREATE SCHEMA tenant`)
    for (const table of ['accounts', 'credits', 'processed_events']) {
      await database.query(`CREATE TABLE tenant.${table} (LIKE public.${table} INCLUDING ALL)`)
    }
    await database.query(`INSERT INTO processed_events (source, event_id, event_type) VALUES ('corvel', 'decoy', 'x')`)
    prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.url }, { schema: 'tenant' }) })
    await start(prisma)
    expect(await deliver('decoy')).toMatchObject(PROCESSED)
    expect(await deliver('decoy')).toMatchObject(DUPLICATE)
    await running.app.get(WebhookIdempotencyService).forget({ source: 'corvel', id: 'decoy' })
    expect(await deliver('decoy')).toMatchObject(PROCESSED)
    expect(await database.query('SELECT event_id FROM tenant.credits')).toHaveLength(2)
  })

  it('are told from new events that look alike to the memory of this process', async () => {
    const [seen, fresh] = ['seen 46188', 'fresh 1084986']
    const recent = new RecentEvents()
    recent.add({ source: 'corvel', id: seen })
    expect(recent.has({ source: 'corvel', id: fresh })).toBe(true)
    await start(asking())
    expect(await deliver(seen)).toMatchObject(PROCESSED)
    expect(await deliver(fresh)).toMatchObject(PROCESSED)
    expect(statements.filter(isLook)).toHaveLength(1)
    expect(await recordsOf(database, fresh)).toEqual(ONCE)
  })

  it('are left to the claim where an extension may change the question or the answer', async () => {
    const extended = asking().$extends({ query: { $allOperations: ({ args, query }) => query(args) } })
    await start(extended)
    await deliver('extended')
    statements.length = 0
    expect(await deliver('extended')).toMatchObject(DUPLICATE)
    expect(statements.filter(isLook)).toEqual([])
    expect(statements.filter(isClaim)).toHaveLength(1)
  })

  it('are left to the claim when the look fails', async () => {
    await start(asking((sql) => isLook(sql) && Promise.reject(new Error('no look'))))
    await deliver('no look')
    expect(await deliver('no look')).toMatchObject(DUPLICATE)
    expect(statements.filter(isClaim)).toHaveLength(2)
    expect(await recordsOf(database, 'no look')).toEqual(ONCE)
  })

  it('are answered 503 within maxWait when the database does not answer the look', async () => {
    const held = new Latch()
    let isHeld = false
    await start(
      asking((sql) => (isHeld && isLook(sql) ? held.opened : undefined)),
      { transaction: { maxWait: 300 } },
    )
    await deliver('slow look')
    isHeld = true
    expect(await deliver('slow look')).toMatchObject({ status: 503, body: { error: 'TRANSACTION_NOT_STARTED' } })
    held.open()
    isHeld = false
    expect(await deliver('slow look')).toMatchObject(DUPLICATE)
    expect(await recordsOf(database, 'slow look')).toEqual(ONCE)
  })
})
