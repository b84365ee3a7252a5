import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { TransactionOptions, WebhookIdempotencyOptions } from '../src/index.js'
import type { DatabaseErrorKind } from '../src/prisma-errors.js'
import { kindOf } from '../src/prisma-errors.js'
import { PrismaPg } from '@prisma/adapter-pg'
import type { Prisma } from '../prisma/generated/client.js'
import { PrismaClient } from '../prisma/generated/client.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import { checkAccountsAtCommit } from './support/commits.js'
import type { Handler } from './support/corvel.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { Latch } from './support/latch.js'
import type { Tx } from './support/ledger.js'
import { credit, NEVER, ONCE, openAccount, recordsOf, tally } from './support/ledger.js'
import { untilBlocked, withSession } from './support/sessions.js'
import { until } from './support/until.js'

const driverError = (cause: object, message = 'x') =>
  Object.assign(new Error(message), { name: 'DriverAdapterError', cause })
const prismaError = (code: string, cause?: object) =>
  Object.assign(new Error(code), { code, meta: cause && { driverAdapterError: driverError(cause) } })

// The shapes in which versions and drivers were seen to throw: prisma/prisma#29716, #12128, #17945, #26833.
describe.each<[DatabaseErrorKind, [string, unknown][]]>([
  [
    'conflict',
    [
      ['7.10, deadlock or serialization failure', prismaError('P2034')],
      ['7.10, with the cause only', prismaError('P2039', { kind: 'TransactionWriteConflict', originalCode: '40001' })],
      ['6.19, deadlock', driverError({ kind: 'postgres', code: '40P01', originalCode: '40P01' }, 'deadlock detected')],
      ['6.19, serialization failure', driverError({ kind: 'TransactionWriteConflict' })],
      ['of COMMIT', driverError({ kind: 'TransactionWriteConflict', originalCode: '40001' })],
      [
        'of a raw query',
        Object.assign(new Error(), { code: 'P2010', meta: { code: '40001', message: 'restart transaction' } }),
      ],
      [
        'of a raw query, as the Rust engine has it',
        Object.assign(new Error(), { code: 'P2010', meta: { code: '40P01' } }),
      ],
      ['of the driver itself', Object.assign(new Error(), { code: '40P01' })],
      ['MySQL, deadlock', driverError({ kind: 'mysql', code: 1213, originalCode: '1213' })],
      ['MySQL, lock wait', Object.assign(new Error(), { code: 'P2010', meta: { code: '1205' } })],
      ['PostgreSQL, lock_timeout', driverError({ kind: 'postgres', code: '55P03', originalCode: '55P03' })],
    ],
  ],
  [
    'uniqueViolation',
    [
      ['with a code', prismaError('P2002', { kind: 'UniqueConstraintViolation', originalCode: '23505' })],
      ['of COMMIT, without a code', driverError({ kind: 'UniqueConstraintViolation' }, 'UniqueConstraintViolation')],
    ],
  ],
  [
    'missingTable',
    [
      ['with a code', prismaError('P2021')],
      ['of a raw query', Object.assign(new Error(), { code: 'P2010', meta: { code: '42P01' } })],
    ],
  ],
  [
    'unreachable',
    [
      ['no connection in time', prismaError('P2028')],
      ['no server', prismaError('P1001', { kind: 'DatabaseNotReachable' })],
      ['the socket', Object.assign(new Error(), { code: 'ECONNREFUSED' })],
      ['a killed backend', prismaError('P2039', { kind: 'postgres', code: '57P01', originalCode: '57P01' })],
      ['one killed before', new Error('Client has encountered a connection error and is not queryable')],
      ['one whose network broke', new Error('Connection terminated unexpectedly')],
    ],
  ],
  [
    'other',
    [
      ['25P02, 7.10', prismaError('P2039', { kind: 'postgres', code: '25P02', originalCode: '25P02' })],
      ['25P02, 6.19', driverError({ kind: 'postgres', code: '25P02', originalCode: '25P02' })],
      ['a foreign key', prismaError('P2003', { kind: 'ForeignKeyConstraintViolation', originalCode: '23503' })],
      ["the handler's own", new Error('40001')],
      ['nothing', undefined],
      ['a text', '40001'],
      ['one that is its own cause', circular()],
    ],
  ],
])('an error of kind %s', (kind, shapes) => {
  it.each(shapes)('is recognised by its shape: %s', (_, error) => {
    expect(kindOf(error)).toBe(kind)
  })
})

function circular(): Error {
  const error = new Error('again')
  error.cause = error
  return error
}

describe('conflicts', () => {
  let database: TestDatabase
  const applications: RunningApplication[] = []

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
    await openAccount(database, 'other')
    // The server looks for deadlocks after a second otherwise.
    const [{ name }] = (await database.query<{ name: string }>('SELECT current_database() AS name')) as [
      { name: string },
    ]
    await database.query(`ALTER DATABASE "${name}" SET deadlock_timeout = '50ms'`)
  })
  afterEach(async () => {
    await Promise.all(applications.splice(0).map((application) => application.close()))
  })
  afterAll(() => database.drop())

  async function start(
    handle: Handler,
    options: Partial<WebhookIdempotencyOptions> = {},
    transaction?: TransactionOptions,
  ): Promise<RunningApplication> {
    const running = await startApplication({
      controllers: [corvelController(handle, { transaction })],
      options: { prisma: database.prisma(), probe: false, ...options },
    })
    applications.push(running)
    return running
  }

  describe('as the server reports them', () => {
    let prisma: PrismaClient
    beforeAll(() => {
      prisma = database.prisma()
    })

    /** What a transaction ends with when it fails. */
    const failureOf = (work: (tx: Tx) => Promise<unknown>, isolationLevel?: Prisma.TransactionIsolationLevel) =>
      prisma.$transaction(work, { isolationLevel }).then(
        () => undefined,
        (error: unknown) => error,
      )

    it('are recognised for a deadlock', async () => {
      const both = [new Latch(), new Latch()]
      const crossing = (first: string, second: string, mine: number) =>
        failureOf(async (tx) => {
          await tx.account.update({ where: { id: first }, data: { credits: 1 } })
          both[mine]!.open()
          await Promise.all(both.map(({ opened }) => opened))
          await tx.account.update({ where: { id: second }, data: { credits: 1 } })
        })
      const errors = await Promise.all([crossing('acme', 'other', 0), crossing('other', 'acme', 1)])
      expect(errors.map(kindOf)).toContain('conflict')
    })

    it.each(['RepeatableRead', 'Serializable'] as const)('are recognised for a stale snapshot, %s', async (level) => {
      const statements: ((tx: Tx) => Promise<unknown>)[] = [
        (tx) => tx.account.update({ where: { id: 'acme' }, data: { credits: { increment: 1 } } }),
        (tx) => tx.$executeRaw`UPDATE accounts SET credits = credits + 1 WHERE id = 'acme'`,
      ]
      for (const statement of statements) {
        const error = await failureOf(async (tx) => {
          await tx.account.count()
          await database.query(`UPDATE accounts SET credits = credits + 1 WHERE id = 'acme'`)
          await statement(tx)
        }, level)
        expect(kindOf(error)).toBe('conflict')
      }
    })

    it('are recognised when it is COMMIT that fails to serialize', async () => {
      const both = [new Latch(), new Latch()]
      const skewed = (mine: number, id: string) =>
        failureOf(async (tx) => {
          await tx.credit.count()
          both[mine]!.open()
          await Promise.all(both.map(({ opened }) => opened))
          await credit(tx, { id })
        }, 'Serializable')
      const errors = await Promise.all([skewed(0, 'skew 1'), skewed(1, 'skew 2')])
      expect(errors.map(kindOf)).toContain('conflict')
    })

    it('are not seen in an aborted transaction, a killed session or a unique violation', async () => {
      const aborted = failureOf(async (tx) => {
        await tx.$queryRaw`SELECT 1/0`.catch(() => {})
        await tx.account.count()
      })
      const killed = failureOf(async (tx) => {
        const [session] = await tx.$queryRaw<[{ pid: number }]>`SELECT pg_backend_pid() AS pid`
        await database.query('SELECT pg_terminate_backend($1)', [session.pid])
        await tx.account.count()
      })
      const taken = failureOf((tx) => tx.account.create({ data: { id: 'acme' } }))
      expect(kindOf(await aborted)).toBe('other')
      expect(kindOf(await killed)).toBe('unreachable')
      expect(kindOf(await taken)).toBe('uniqueViolation')
    })
  })

  // medusajs/medusa#2948, rudderlabs/rudder-server#4241, prisma/prisma#17105: above Read Committed a duplicate is an error.
  it.each<[string, () => [Partial<WebhookIdempotencyOptions>, TransactionOptions?]]>([
    ['RepeatableRead by the module', () => [{ transaction: { isolationLevel: 'RepeatableRead' } }]],
    ['Serializable by the module', () => [{ transaction: { isolationLevel: 'Serializable' } }]],
    ['Serializable by the decorator', () => [{}, { isolationLevel: 'Serializable' }]],
    ["RepeatableRead by the client's own options", () => [{ prisma: clientWith('RepeatableRead') }]],
    ["Serializable by the client's own options", () => [{ prisma: clientWith('Serializable') }]],
  ])(
    'are retried, so that 20 duplicates in two processes are 1 processed and 19 duplicates: %s',
    async (name, options) => {
      const levels = new Set<string>()
      const handle: Handler = async (tx, event) => {
        const [row] = await tx.$queryRaw<[{ level: string }]>`SELECT current_setting('transaction_isolation') AS level`
        levels.add(row.level)
        await credit(tx, event)
      }
      const instances = [await start(handle, ...options()), await start(handle, ...options())]
      for (const id of [1, 2, 3].map((n) => `${name} ${n}`)) {
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, n) => instances[n % 2]!.deliver(CORVEL, { id })),
        )
        expect(tally(answers.map(({ status, body }) => `${status} ${body.outcome}`))).toEqual({
          '200 processed': 1,
          '200 duplicate': 19,
        })
        expect(await recordsOf(database, id)).toEqual(ONCE)
      }
      expect([...levels]).toEqual([name.startsWith('Serializable') ? 'serializable' : 'repeatable read'])
    },
  )

  const clients: PrismaClient[] = []
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.$disconnect()))
  })
  function clientWith(isolationLevel: Prisma.TransactionIsolationLevel): PrismaClient {
    const adapter = new PrismaPg({ connectionString: database.url })
    const client = new PrismaClient({ adapter, transactionOptions: { isolationLevel } })
    clients.push(client)
    return client
  }

  /** Delivers an event that another session claims at the same time, so that the claim meets a conflict. */
  async function deliverContested(claimRetries: number, id: string) {
    const handled: string[] = []
    const { deliver } = await start((_tx, event) => void handled.push(event.id), {
      claimRetries,
      transaction: { isolationLevel: 'RepeatableRead' },
    })
    const answer = await withSession(database, async (other) => {
      await other.query('BEGIN')
      await other.query(`INSERT INTO processed_events (source, event_id, event_type) VALUES ('corvel', $1, '')`, [id])
      const delivery = deliver(CORVEL, { id })
      await untilBlocked(database)
      await other.query('COMMIT')
      return delivery
    })
    expect(handled).toEqual([])
    return answer
  }

  it('end with 503 when the claim met more of them than claimRetries', async () => {
    const answer = await deliverContested(0, 'contested')
    expect(answer).toMatchObject({ status: 503, body: { error: 'CLAIM_CONFLICT' } })
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(await deliverContested(1, 'contested again')).toMatchObject({ status: 200, body: { outcome: 'duplicate' } })
  })

  it('include that a lock_timeout of the database ends the wait of a claim', async () => {
    const { deliver } = await start((tx, event) => credit(tx, event), {
      claimRetries: 1,
      prisma: database.prisma({ options: '-c lock_timeout=50ms' }),
    })
    await withSession(database, async (other) => {
      await other.query('BEGIN')
      await other.query(`INSERT INTO processed_events (source, event_id, event_type) VALUES ('corvel', 'locked', '')`)
      const answer = await deliver(CORVEL, { id: 'locked' })
      expect(answer).toMatchObject({ status: 503, body: { error: 'CLAIM_CONFLICT' } })
    })
    expect(await deliver(CORVEL, { id: 'locked' })).toMatchObject({ status: 200, body: { outcome: 'processed' } })
  })

  describe('after the handler has started', () => {
    /** Two events whose handlers lock two accounts in opposite order; the first time both hold one of them. */
    async function deliverCrossing(handlerRetries: number, ids: [string, string]) {
      const latches = new Map(ids.map((id) => [id, new Latch()]))
      const runs: string[] = []
      const { deliver } = await start(
        async (tx, event) => {
          const order = event.id === ids[0] ? ['acme', 'other'] : ['other', 'acme']
          runs.push(event.id)
          await credit(tx, event)
          await tx.account.update({ where: { id: order[0] }, data: { credits: 1 } })
          latches.get(event.id)!.open()
          await Promise.all([...latches.values()].map(({ opened }) => opened))
          await tx.account.update({ where: { id: order[1] }, data: { credits: 1 } })
        },
        { handlerRetries },
      )
      const answers = await Promise.all(ids.map((id) => deliver(CORVEL, { id })))
      return { runs, statuses: answers.map(({ status }) => status).toSorted((a, b) => a - b) }
    }

    it('are not retried unless asked for, since a handler may do more than work with tx', async () => {
      const ids: [string, string] = ['crossing 1', 'crossing 2']
      const { runs, statuses } = await deliverCrossing(0, ids)
      expect(runs).toHaveLength(2)
      expect(statuses).toEqual([200, 503])
      const records = await Promise.all(ids.map((id) => recordsOf(database, id)))
      expect(records).toEqual(expect.arrayContaining([ONCE, NEVER]))
    })

    it('are retried in a new transaction when asked for', async () => {
      const ids: [string, string] = ['crossing 3', 'crossing 4']
      const { runs, statuses } = await deliverCrossing(1, ids)
      expect(runs).toHaveLength(3)
      expect(statuses).toEqual([200, 200])
      for (const id of ids) expect(await recordsOf(database, id)).toEqual(ONCE)
    })

    // prisma/prisma#11183: 40001 of COMMIT is normal on CockroachDB.
    it('are retried when it is COMMIT that meets them, and afterCommit hooks of the failed try do not run', async () => {
      const ids = ['skewed 1', 'skewed 2']
      const latches = new Map(ids.map((id) => [id, new Latch()]))
      const hooks: string[] = []
      const runs: string[] = []
      const { deliver } = await start(
        async (tx, event, { afterCommit }) => {
          const run = `run ${runs.push(event.id)}`
          await tx.credit.count()
          latches.get(event.id)!.open()
          await Promise.all([...latches.values()].map(({ opened }) => opened))
          await credit(tx, event)
          afterCommit(() => void hooks.push(run))
        },
        { handlerRetries: 2, transaction: { isolationLevel: 'Serializable' } },
      )
      const answers = await Promise.all(ids.map((id) => deliver(CORVEL, { id })))
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      expect(runs.length).toBeGreaterThan(2)
      for (const id of ids) expect(await recordsOf(database, id)).toEqual(ONCE)
      await until('both hooks have run', () => hooks.length >= 2)
      expect(hooks).toHaveLength(2)
    })
  })

  // prisma/prisma#17303, #26366: errors of COMMIT come without a code.
  it('are no reason to retry when COMMIT fails for another reason, and nothing is left then', async () => {
    const failing = await createDatabase()
    await checkAccountsAtCommit(failing)
    const hooks: string[] = []
    const { deliver } = await start(
      async (tx, event, { afterCommit }) => {
        afterCommit(() => void hooks.push(event.id))
        await credit(tx, event)
      },
      { prisma: failing.prisma({ max: 3 }), handlerRetries: 3 },
    )
    // prisma/prisma#28468: each failed COMMIT cost Prisma 6 a connection of the pool.
    for (let time = 0; time < 5; time++) expect((await deliver(CORVEL, { id: 'fails at COMMIT' })).status).toBe(500)
    expect(await recordsOf(failing, 'fails at COMMIT')).toEqual(NEVER)
    await openAccount(failing)
    expect(await deliver(CORVEL, { id: 'fails at COMMIT' })).toMatchObject({
      status: 200,
      body: { outcome: 'processed' },
    })
    await until('the hook has run', () => hooks.length > 0)
    expect(hooks).toEqual(['fails at COMMIT'])
    await failing.drop()
  })
})
