import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { TransactionOptions, WebhookContext, WebhookIdempotencyOptions } from '../src/index.js'
import { EventTimeoutError, TransactionClosedError } from '../src/index.js'
import type { PrismaClient } from '../prisma/generated/client.js'
import type { Answer, RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import { holdCommitOf, untilClaimsWait } from './support/commits.js'
import type { Handler } from './support/corvel.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { Latch } from './support/latch.js'
import type { Tx } from './support/ledger.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'
import { sessions, withSession } from './support/sessions.js'
import { prismaThatAsks } from './support/statements.js'
import { until } from './support/until.js'

describe('the deadline of an event', () => {
  let database: TestDatabase
  let prisma: PrismaClient
  let running: RunningApplication
  const unhandled: unknown[] = []
  const keep = (error: unknown) => unhandled.push(error)

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
    process.on('unhandledRejection', keep)
  })
  beforeEach(() => {
    prisma = database.prisma({ application_name: 'deliveries' })
  })
  afterEach(async () => {
    await running.close()
    expect(unhandled).toEqual([])
  })
  afterAll(async () => {
    process.off('unhandledRejection', keep)
    await database.drop()
  })

  async function start(
    handle: Handler,
    transaction: TransactionOptions,
    more: Partial<WebhookIdempotencyOptions> = {},
  ) {
    running = await startApplication({
      controllers: [corvelController(handle)],
      options: { prisma, transaction, probe: false, ...more },
    })
    await warmUp()
  }

  /** Prisma compiles its first queries for longer than the bounds here are. */
  async function warmUp(): Promise<void> {
    await prisma.$transaction(async (tx) => {
      await tx.processedEvent.createMany({ data: [], skipDuplicates: true })
      await credit(tx, { id: 'warm-up' })
    })
  }

  const deliver = (id: string) => running.deliver(CORVEL, { id, type: 'invoice.paid' })

  async function timed(delivery: Promise<Answer>): Promise<Answer & { ms: number }> {
    const began = performance.now()
    return { ...(await delivery), ms: performance.now() - began }
  }

  const noTransactionLeft = (bound?: number) =>
    until(
      'no transaction is open',
      async () => (await sessions(database, `application_name = 'deliveries' AND xact_start IS NOT NULL`)) === 0,
      bound,
    )

  // prisma/prisma#17245, #9533: Prisma's own timeout answers only when the handler does.
  it('answers 503 in time for a handler that never ends, and what that does later is refused', async () => {
    const results: { context: WebhookContext<Tx>; tx: Tx }[] = []
    const held = new Latch()
    const ended = new Latch()
    let late: unknown
    let isFixed = false
    await start(
      async (tx, event, context) => {
        await credit(tx, event)
        if (isFixed) return
        results.push({ tx, context })
        await held.opened
        late = await Promise.resolve()
          .then(() => credit(tx, event))
          .catch((error: unknown) => error)
        ended.open()
        return { late: true }
      },
      { timeout: 400 },
    )
    const answer = await timed(deliver('endless'))
    expect(answer).toMatchObject({ status: 503, body: { error: 'EVENT_TIMEOUT' } })
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(answer.ms).toBeLessThan(400 + 500)
    const [{ tx, context }] = results as [(typeof results)[0]]
    expect(context.signal.reason).toBeInstanceOf(EventTimeoutError)
    expect(() => context.afterCommit(() => {})).toThrow(TransactionClosedError)
    expect(() => tx.account.findMany()).toThrow(TransactionClosedError)
    await noTransactionLeft()
    expect(await recordsOf(database, 'endless')).toEqual(NEVER)

    isFixed = true
    expect(await deliver('endless')).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    held.open()
    await ended.opened
    expect(late).toBeInstanceOf(TransactionClosedError)
    expect((late as Error).cause).toBeInstanceOf(EventTimeoutError)
    expect(await recordsOf(database, 'endless')).toEqual(ONCE)
  })

  it('holds for a statement of the handler that waits for a lock', async () => {
    await withSession(database, async (other) => {
      await start(
        async (tx) => {
          await tx.account.update({ where: { id: 'acme' }, data: { credits: 1 } })
        },
        { timeout: 400 },
      )
      await other.query(`BEGIN; SELECT FROM accounts WHERE id = 'acme' FOR UPDATE`)
      const answer = await timed(deliver('locked'))
      expect(answer).toMatchObject({ status: 503, body: { error: 'EVENT_TIMEOUT' } })
      expect(answer.ms).toBeLessThan(400 + 500)
      await other.query('ROLLBACK')
      await noTransactionLeft()
      expect(await recordsOf(database, 'locked')).toEqual(NEVER)
      expect(await deliver('locked')).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    })
  })

  it.each([
    ['waitTimeout', 400, 5_000],
    ['the timeout', 5_000, 400],
  ])('holds for a claim that another process holds, at %s', async (_, waitTimeout, timeout) => {
    const id = `claimed elsewhere ${waitTimeout}`
    await withSession(database, async (other) => {
      await start((tx, event) => credit(tx, event), { timeout }, { waitTimeout })
      await other.query('BEGIN')
      await other.query(`INSERT INTO processed_events (source, event_id, event_type) VALUES ('corvel', $1, '')`, [id])
      const delivery = timed(deliver(id))
      await untilClaimsWait(database, 1)
      const answer = await delivery
      expect(answer).toMatchObject({ status: 503, body: { error: 'EVENT_IN_PROGRESS' } })
      expect(answer.headers.get('retry-after')).toBe('5')
      expect(answer.ms).toBeLessThan(400 + 500)
      await other.query('ROLLBACK')
      await noTransactionLeft()
      expect(await deliver(id)).toMatchObject({ status: 200, body: { outcome: 'processed' } })
      expect(await recordsOf(database, id)).toEqual(ONCE)
    })
  })

  it('commits nothing of a handler that blocked the event loop past it', async () => {
    let isBlocking = true
    await start(
      async (tx, event) => {
        await credit(tx, event)
        const end = performance.now() + 500
        while (isBlocking && performance.now() < end);
      },
      { timeout: 400 },
    )
    expect(await deliver('blocking')).toMatchObject({ status: 503, body: { error: 'EVENT_TIMEOUT' } })
    expect(await recordsOf(database, 'blocking')).toEqual(NEVER)
    isBlocking = false
    expect(await deliver('blocking')).toMatchObject({ status: 200, body: { outcome: 'processed' } })
  })

  // Prisma takes the outer ROLLBACK for one of the innermost savepoint, and the nested COMMIT then for the outer one.
  it('commits nothing of a handler that was within a nested transaction', async () => {
    const held = new Latch()
    const ended = new Latch()
    await start(
      async (tx, event) => {
        await credit(tx, event)
        const nested = tx.$transaction(async (inner) => {
          await credit(inner, event)
          await inner.$transaction(() => held.opened)
        })
        await nested.finally(() => ended.open())
      },
      { timeout: 400 },
    )
    expect(await deliver('nested')).toMatchObject({ status: 503 })
    // Prisma's own timer would end it two seconds later.
    await noTransactionLeft(1_000)
    held.open()
    await ended.opened
    await noTransactionLeft()
    expect(await recordsOf(database, 'nested')).toEqual(NEVER)
  })

  // prisma/prisma#29762: a statement that reaches the connection after ROLLBACK commits alone.
  it.each([
    ['statement of the handler', '"public"."credits"', 'EVENT_TIMEOUT'],
    ['claim', '"public"."processed_events"', 'EVENT_IN_PROGRESS'],
  ])('lets a %s that is under way end before ROLLBACK, so that it never commits alone', async (_, table, error) => {
    const id = `late in ${table}`
    const dispatched = new Latch()
    const held = new Latch()
    let isCold = true
    const holdStatement = (sql: string) => {
      if (isCold || !sql.startsWith(`INSERT INTO ${table}`)) return
      dispatched.open()
      return held.opened
    }
    prisma = prismaThatAsks(database, holdStatement, { application_name: 'deliveries' })
    await start((tx, event) => credit(tx, event), { timeout: 400 })
    isCold = false
    const delivery = deliver(id)
    await dispatched.opened
    expect(await delivery).toMatchObject({ status: 503, body: { error } })
    held.open()
    await noTransactionLeft()
    await prisma.$disconnect()
    expect(await recordsOf(database, id)).toEqual(NEVER)
  })

  // prisma/prisma#29952: a timeout during COMMIT.
  it('gives up waiting for COMMIT, and says that only the next delivery knows the outcome', async () => {
    const commit = await holdCommitOf(database, 'slow commit')
    await start((tx, event) => credit(tx, event), { timeout: 400 })
    const delivery = timed(deliver('slow commit'))
    await commit.reached()
    const answer = await delivery
    expect(answer).toMatchObject({ status: 503, body: { error: 'EVENT_TIMEOUT' } })
    expect(answer.body.message).toContain('did not answer COMMIT')
    expect(answer.ms).toBeLessThan(400 + 2_000 + 500)
    const duplicate = deliver('slow commit')
    await commit.release()
    expect(await duplicate).toMatchObject({ status: 200, body: { outcome: 'duplicate' } })
    expect(await recordsOf(database, 'slow commit')).toEqual(ONCE)
  })

  it('bounds the wait for a connection too, and the handler is not called then', async () => {
    const handled: string[] = []
    prisma = database.prisma({ max: 1 })
    await start((_tx, { id }) => void handled.push(id), { maxWait: 400 })
    const held = new Latch()
    const entered = new Latch()
    const other = prisma.$transaction(() => (entered.open(), held.opened))
    await entered.opened
    const answer = await timed(deliver('no connection'))
    expect(answer).toMatchObject({ status: 503, body: { error: 'TRANSACTION_NOT_STARTED' } })
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(answer.ms).toBeLessThan(400 + 500)
    held.open()
    await other
    expect(await deliver('no connection')).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    expect(handled).toEqual(['no connection'])
  })

  // prisma/prisma#12277, cobuildwithus/murph#1454
  it('names the base client as the likely cause when the handler has not used its tx', async () => {
    prisma = database.prisma({ max: 1 })
    await start((_tx, event) => credit(prisma, event), { timeout: 400 })
    const answer = await timed(deliver('base client'))
    expect(answer).toMatchObject({ status: 503, body: { error: 'EVENT_TIMEOUT' } })
    expect(answer.body.message).toContain('if it uses the base client instead')
    expect(running.log.at('warn').join()).toContain('if it uses the base client instead')
    expect(answer.ms).toBeLessThan(400 + 500)
  })
})
