import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Deadline } from '../src/deadline.js'
import { GuardedTransaction } from '../src/guarded-transaction.js'
import { TransactionAbortedError, TransactionClosedError, WebhookIdempotencyService } from '../src/index.js'
import { Prisma } from '../prisma/generated/client.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { Handler } from './support/corvel.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { Latch } from './support/latch.js'
import type { Tx } from './support/ledger.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'
import { prismaThatAsks } from './support/statements.js'

/** What applications add to their clients; the methods swallow what fails, as careless ones do. */
const careless = Prisma.defineExtension({
  client: {
    async $divideByZero() {
      await (Prisma.getExtensionContext(this) as unknown as Tx).$queryRaw`SELECT 1/0`.catch(() => {})
    },
  },
  model: {
    account: {
      async openTwice(id: string) {
        const accounts: Tx['account'] = Prisma.getExtensionContext(this) as any
        await accounts.create({ data: { id } })
        await accounts.create({ data: { id } }).catch(() => {})
      },
      async idOf(id: string) {
        const accounts: Tx['account'] = Prisma.getExtensionContext(this) as any
        return (await accounts.findUnique({ where: { id } }))?.id
      },
    },
  },
  result: { account: { label: { needs: { id: true }, compute: ({ id }) => `account ${id}` } } },
})

describe('the tx of a handler', () => {
  let database: TestDatabase
  let running: RunningApplication
  let service: WebhookIdempotencyService
  let handle: Handler
  let statements: string[] = []
  let id: string
  let count = 0

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
    const prisma = prismaThatAsks(database, (sql) => statements.push(sql)).$extends(careless)
    running = await startApplication({
      controllers: [corvelController((...args) => handle(...args))],
      options: { prisma, handlerRetries: 0 },
    })
    service = running.app.get(WebhookIdempotencyService)
  })
  beforeEach(() => {
    id = `event ${++count}`
    statements = []
  })
  afterAll(async () => {
    await running.close()
    await database.drop()
  })

  const process = <Value>(apply: (tx: Tx) => Promise<Value>) => service.process({ source: 'corvel', id }, apply)
  const records = () => recordsOf(database, id)

  it.each<[string, (tx: Tx) => Promise<unknown>]>([
    [
      'reads and writes of models',
      async (tx) => [
        await credit(tx, { id }),
        await tx.credit.findMany({ where: { eventId: id }, select: { amount: true } }),
      ],
    ],
    [
      'counts and aggregates',
      (tx) =>
        Promise.all([tx.account.count(), tx.credit.aggregate({ where: { eventId: id }, _sum: { amount: true } })]),
    ],
    ['groups', (tx) => tx.account.groupBy({ by: ['id'], _count: true })],
    [
      'relations read step by step',
      async (tx) => [
        await credit(tx, { id }),
        await tx.account
          .findUnique({ where: { id: 'acme' } })
          .entries({ where: { eventId: id }, select: { amount: true } }),
      ],
    ],
    ['raw queries', (tx) => tx.$queryRaw`SELECT id FROM accounts WHERE id = ${'acme'}`],
    ['raw statements', (tx) => tx.$executeRaw`UPDATE accounts SET credits = 0 WHERE id = ${'acme'}`],
    ['raw queries made of text', (tx) => tx.$queryRawUnsafe('SELECT id FROM accounts WHERE id = $1', 'acme')],
    [
      'statements side by side',
      (tx) => Promise.all([1, 2, 3].map(() => tx.account.findUnique({ where: { id: 'acme' } }))),
    ],
    [
      'nested transactions',
      (tx) =>
        tx.$transaction(async (inner) => [
          await credit(inner, { id }),
          await inner.credit.count({ where: { eventId: id } }),
        ]),
    ],
    ["methods of the client's extensions", (tx) => (tx as any).account.idOf('acme')],
    [
      "fields of the client's extensions",
      async (tx) => ((await tx.account.findUnique({ where: { id: 'acme' } })) as any).label,
    ],
    ['names of models', async (tx) => [(tx.account as any).$name, tx.account.fields.id.name, 'account' in tx]],
  ])('does %s as Prisma does', async (_, work) => {
    const bare = await withoutGuard(work)
    const outcome = await process(work)
    expect(JSON.stringify(outcome)).toBe(JSON.stringify({ outcome: 'processed', value: bare }))
  })

  /** What the same work yields in one of Prisma's own transactions, which leaves nothing. */
  async function withoutGuard(work: (tx: Tx) => Promise<unknown>): Promise<unknown> {
    const undone = new Error('undone')
    let yielded: unknown
    const prisma = database.prisma({ max: 1 }).$extends(careless)
    const ended = prisma.$transaction(async (tx) => {
      yielded = await work(tx as unknown as Tx)
      throw undone
    })
    await expect(ended).rejects.toBe(undone)
    return yielded
  }

  it('sends nothing of its own on the ordinary path', async () => {
    await process((tx) => credit(tx, { id }))
    expect(statements.map((sql) => sql.split(' ', 3).join(' '))).toEqual([
      'INSERT INTO "public"."processed_events"',
      'INSERT INTO "public"."credits"',
      'COMMIT',
    ])
  })

  it('sends nothing of a statement that nobody awaits', async () => {
    await process(async (tx) => void tx.account.create({ data: { id } }))
    expect(statements.filter((sql) => sql.includes('accounts'))).toEqual([])
  })

  it('waits before COMMIT for statements that were started and not awaited', async () => {
    await process(async (tx) => void tx.$executeRaw`SELECT pg_sleep(0.05)`.then(() => credit(tx, { id })))
    expect(await records()).toEqual(ONCE)
    expect(statements.at(-1)).toBe('COMMIT')
  })

  it('lets an error of the database through unchanged', async () => {
    let thrown: unknown
    const ended = process(async (tx) => {
      await tx.account.create({ data: { id: 'acme' } }).catch((error: unknown) => {
        thrown = error
        throw error
      })
    })
    await expect(ended).rejects.toMatchObject({ code: 'P2002' })
    await expect(ended).rejects.toBe(thrown)
    expect(await records()).toEqual(NEVER)
  })

  // prisma/prisma#20496, #22536: COMMIT of an aborted transaction rolls back, and $transaction resolves.
  describe('when the handler swallows the error of a statement', () => {
    it.each<[string, (tx: Tx) => Promise<unknown>]>([
      ['a unique violation', (tx) => tx.account.create({ data: { id: 'acme' } }).catch(() => {})],
      ['a broken relation', (tx) => credit(tx, { id, account: 'nobody' }).catch(() => {})],
      ['a raw query', (tx) => tx.$queryRaw`SELECT 1/0`.catch(() => {})],
      ['one of several at once', (tx) => Promise.allSettled([tx.account.count(), tx.$queryRawUnsafe('SELECT 1/0')])],
      ['one that nobody awaited', async (tx) => void tx.$executeRaw`SELECT 1/0`.then(undefined, () => {})],
      ["a method of an extension's model", (tx) => (tx as any).account.openTwice(id)],
      ["a method of an extension's client", (tx) => (tx as any).$divideByZero()],
      [
        'a statement within a nested transaction that it swallows too',
        (tx) =>
          tx
            .$transaction((inner) => inner.$queryRaw`SELECT 1/0`.catch(() => {}))
            .catch(() => tx.$queryRaw`SELECT 1/0`.catch(() => {})),
      ],
    ])('answers 500 instead of losing the event: %s', async (_, mishap) => {
      let isCareless = true
      handle = async (tx, event) => {
        await credit(tx, event)
        if (isCareless) await mishap(tx)
      }
      expect((await running.deliver(CORVEL, { id })).status).toBe(500)
      expect(await records()).toEqual(NEVER)
      expect(statements).not.toContain('COMMIT')
      isCareless = false
      expect(await running.deliver(CORVEL, { id })).toMatchObject({ status: 200, body: { outcome: 'processed' } })
      expect(await records()).toEqual(ONCE)
    })

    it('says which mistake it was, what the error was and how to expect it', async () => {
      const ended = process((tx) => tx.account.create({ data: { id: 'acme' } }).catch(() => {}))
      await expect(ended).rejects.toBeInstanceOf(TransactionAbortedError)
      await expect(ended).rejects.toMatchObject({ cause: { code: 'P2002' } })
      await expect(ended).rejects.toThrow(/skipDuplicates.*nested tx\.\$transaction\(\)/)
    })

    // dj-stripe/dj-stripe#903
    it.each<[string, (tx: Tx) => Promise<unknown>]>([
      [
        'within a savepoint',
        (tx) => tx.$transaction((inner) => inner.account.create({ data: { id: 'acme' } })).catch(() => {}),
      ],
      ['that never reached the database', (tx) => tx.account.create({ data: { nothing: 1 } as never }).catch(() => {})],
      ['that found nothing', (tx) => tx.account.findUniqueOrThrow({ where: { id: 'nobody' } }).catch(() => {})],
    ])('processes the event, after a look at the claim, when the error was one %s', async (_, mishap) => {
      const outcome = await process(async (tx) => {
        await mishap(tx)
        await credit(tx, { id })
      })
      expect(outcome.outcome).toBe('processed')
      expect(await records()).toEqual(ONCE)
      expect(
        statements.filter((sql) => sql.startsWith('SELECT COUNT') && sql.includes('processed_events')),
      ).toHaveLength(1)
    })

    it('needs no look when the error was expected with skipDuplicates', async () => {
      await process(async (tx) => {
        await tx.account.createMany({ data: [{ id: 'acme' }], skipDuplicates: true })
        await credit(tx, { id })
      })
      expect(await records()).toEqual(ONCE)
      expect(statements.filter((sql) => sql.startsWith('SELECT'))).toEqual([])
    })
  })

  describe('after the event', () => {
    it.each([
      ['committed', async () => {}],
      ['was rolled back', () => Promise.reject(new Error('no'))],
    ])('refuses every use with a clear error when it %s', async (_, end) => {
      let tx!: Tx
      let lazy!: PromiseLike<number>
      let nested!: Tx
      await process(async (given) => {
        tx = given
        lazy = tx.account.count()
        await tx.$transaction(async (inner) => (nested = inner))
        await end()
      }).catch(() => {})
      expect(() => tx.account.count()).toThrow(TransactionClosedError)
      expect(() => tx.$queryRaw`SELECT 1`).toThrow(/has ended.*Await everything the handler starts/)
      expect(() => tx.$transaction(async () => {})).toThrow(TransactionClosedError)
      expect(() => nested.account.count()).toThrow(TransactionClosedError)
      await expect(lazy).rejects.toThrow(TransactionClosedError)
    })

    it('refuses what work that the handler left behind does later', async () => {
      const over = new Latch()
      let late!: Promise<void>
      await process(async (tx) => {
        late = over.opened.then(() => credit(tx, { id }))
      })
      over.open()
      await expect(late).rejects.toThrow(TransactionClosedError)
      expect(await records()).toEqual({ claims: 1, credits: 0 })
    })
  })

  // mysqljs/mysql#853, roundcube/roundcubemail#7528: there, statements after a deadlock would each commit alone.
  it('refuses further statements after a conflict in databases where that ends the transaction', async () => {
    const conflict = Object.assign(new Error('deadlock'), { code: 'P2034' })
    const client = { credit: { create: async () => Promise.reject(conflict), count: async () => 1 } }
    const deadline = new Deadline(1_000, () => new Error('too late'))
    const guarded = new GuardedTransaction(client, deadline, { conflictEndsTransaction: true })
    expect(await guarded.client.credit.count()).toBe(1)
    await expect(guarded.client.credit.create()).rejects.toBe(conflict)
    expect(() => guarded.client.credit.count()).toThrow(/after a conflict/)
    deadline.clear()
  })
})
