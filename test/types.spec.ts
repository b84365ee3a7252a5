// What the compiler says of these lines is half of the test: `npm run typecheck` fails when a real client no longer fits, or
// when a line marked with @ts-expect-error is no longer an error. The other half runs.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Body, Controller, Post } from '@nestjs/common'
import type { Prisma } from '../prisma/generated/client.js'
import { PrismaClient } from '../prisma/generated/client.js'
import type { EventIdentity, Outcome, PrismaClientLike, WebhookIdempotencyOptions } from '../src/index.js'
import {
  IdempotentWebhook,
  WebhookContext,
  WebhookIdempotencyModule,
  WebhookIdempotencyService,
  WebhookTransaction,
} from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import type { CreditEvent } from './support/ledger.js'
import { ONCE, openAccount, recordsOf } from './support/ledger.js'

/** A client as applications extend it: each kind of component that Prisma knows. */
function extend(client: PrismaClient, written: string[]) {
  return client.$extends({
    name: 'audited',
    client: { $source: () => 'corvel' },
    model: {
      $allModels: { modelName: () => 'any' },
      credit: {
        async ofEvent(this: unknown, eventId: string) {
          const context = this as Prisma.CreditDelegate
          return context.findFirst({ where: { eventId } })
        },
      },
    },
    query: {
      credit: {
        async create({ args, query }) {
          written.push(args.data.eventId)
          return query({ ...args, data: { ...args.data, amount: 2 * args.data.amount } })
        },
      },
    },
    result: {
      account: {
        label: { needs: { id: true, credits: true }, compute: ({ id, credits }) => `${id}: ${credits}` },
      },
    },
  })
}

type ExtendedClient = ReturnType<typeof extend>
type ExtendedTransaction = Parameters<Parameters<ExtendedClient['$transaction']>[0]>[0]

/** Never called: the compiler reads it. */
function compiled(
  generated: PrismaClient,
  extended: ExtendedClient,
  transaction: Prisma.TransactionClient,
  webhooks: WebhookIdempotencyService,
) {
  const clients: PrismaClientLike[] = [generated, extended, transaction]
  const options: WebhookIdempotencyOptions[] = [
    { prisma: generated },
    { prisma: extended },
    { prisma: PrismaClient },
    { prisma: 'PRISMA' },
    { prisma: Symbol('prisma'), transaction: { isolationLevel: 'Serializable' }, retention: { days: 30 } },
  ]
  WebhookIdempotencyModule.forRoot({ prisma: extended, isGlobal: false })
  WebhookIdempotencyModule.forRootAsync({ useFactory: (client: ExtendedClient) => ({ prisma: client }), inject: ['P'] })

  // @ts-expect-error prisma is required
  options.push({})
  // @ts-expect-error nothing is no client
  options.push({ prisma: undefined })
  // @ts-expect-error an object without $transaction is no client
  options.push({ prisma: {} })
  // @ts-expect-error a client that only takes lists of statements has no interactive transactions
  clients.push({ $transaction: async (statements: Promise<unknown>[]) => Promise.all(statements) })
  // @ts-expect-error an option that does not exist
  options.push({ prisma: generated, retention: { hours: 3 } })
  // @ts-expect-error a database that cannot keep the promises
  options.push({ prisma: generated, provider: 'mongodb' })

  IdempotentWebhook()
  IdempotentWebhook('stripe')
  IdempotentWebhook({ source: 'corvel', prisma: extended, id: ({ body }) => body.id, type: () => undefined })
  IdempotentWebhook({ source: ({ headers }) => `shop ${headers.get('shop')}`, events: ({ body }) => body.events })
  // @ts-expect-error a source is required
  IdempotentWebhook({ id: ({ body }) => body.id })
  // @ts-expect-error an ID is text or a number
  IdempotentWebhook({ source: 'corvel', id: () => new Date() })
  // @ts-expect-error a client without $transaction
  IdempotentWebhook({ source: 'corvel', prisma: { credit: generated.credit } })

  const event = { source: 'corvel', id: 'evt_1' }
  const credited: Promise<Outcome<{ amount: number }>> = webhooks.process(event, (tx: Prisma.TransactionClient) =>
    tx.credit.findFirstOrThrow({ select: { amount: true } }),
  )
  const labelled: Promise<Outcome<string>> = webhooks.process(event, async (tx: ExtendedTransaction, { tx: same }) => {
    const account = await same.account.findFirstOrThrow()
    return (await tx.credit.ofEvent('evt_1')) ? account.label : tx.credit.modelName()
  })
  void webhooks.processBatch([event], async (tx: Prisma.TransactionClient, { events }) => [
    await tx.credit.count(),
    events,
  ])
  // @ts-expect-error the amount is a number
  void webhooks.process(event, (tx: Prisma.TransactionClient) => tx.credit.updateMany({ data: { amount: 'ten' } }))
  // @ts-expect-error a generated client's transaction does not have what the extension adds
  void webhooks.process(event, (tx: Prisma.TransactionClient) => tx.credit.ofEvent('evt_1'))
  // @ts-expect-error an event has a source
  void webhooks.process({ id: 'evt_1' }, async () => {})
  // @ts-expect-error the work is awaited, so it has to give a promise
  void webhooks.process(event, () => 7)
  // @ts-expect-error an ID is text or a number
  const identity: EventIdentity = { id: null }
  return [clients, credited, labelled, identity]
}

async function narrowed(outcome: Outcome<number>): Promise<number> {
  // @ts-expect-error a duplicate has no value
  void outcome.value
  switch (outcome.outcome) {
    case 'processed':
      return outcome.value
    case 'rejected':
      return outcome.reason.length
    case 'duplicate':
      return 0
  }
}

function readOnly(context: WebhookContext<Prisma.TransactionClient, CreditEvent>) {
  const account: string | undefined = context.event.payload.account
  // @ts-expect-error the context says what is, and is not told
  context.source = 'dunmore'
  // @ts-expect-error so do its events
  context.event.id = 'evt_2'
  // @ts-expect-error a hook is a function
  context.afterCommit(Promise.resolve())
  return account
}

@Controller()
class Corvel {
  @Post('corvel')
  @IdempotentWebhook({ source: 'corvel' })
  async invoicePaid(
    @Body() { id, account = 'acme' }: CreditEvent,
    @WebhookTransaction() tx: ExtendedTransaction,
    @WebhookContext() context: WebhookContext<ExtendedTransaction, CreditEvent>,
  ) {
    await tx.credit.create({ data: { accountId: account, source: context.source, eventId: id, amount: 10 } })
    const credit = await context.tx.credit.ofEvent(id)
    const { label } = await tx.account.update({
      where: { id: account },
      data: { credits: { increment: credit!.amount } },
    })
    if (context.event.payload.type === 'fails') throw new Error('after the writes')
    return { label, source: tx.$source(), model: tx.credit.modelName() }
  }
}

describe('a client', () => {
  let database: TestDatabase
  let application: RunningApplication
  const written: string[] = []

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
    const prisma = extend(database.prisma(), written)
    application = await startApplication({ controllers: [Corvel], options: { prisma } })
  })

  afterAll(async () => {
    await application?.close()
    await database.drop()
  })

  it('fits as it is generated, extended, and within a transaction, and nothing else does', () => {
    expect([compiled, narrowed, readOnly]).toHaveLength(3)
  })

  it('that is extended brings its extensions into the transaction of the event', async () => {
    const event = { id: 'evt_extended' }
    const first = await application.deliver('/corvel', event)
    expect([first.status, first.body]).toEqual([200, { label: 'acme: 20', source: 'corvel', model: 'any' }])
    const again = await application.deliver('/corvel', event)
    expect([again.status, again.body]).toEqual([200, { outcome: 'duplicate' }])
    expect(written).toEqual(['evt_extended'])
    expect(await recordsOf(database, 'evt_extended')).toEqual(ONCE)
  })

  it('that is extended takes everything back when the handler fails', async () => {
    const before = await database.query('SELECT credits FROM accounts')
    expect((await application.deliver('/corvel', { id: 'evt_failed', type: 'fails' })).status).toBe(500)
    expect(written).toContain('evt_failed')
    expect(await database.query('SELECT credits FROM accounts')).toEqual(before)
    expect(await recordsOf(database, 'evt_failed')).toEqual({ credits: 0, claims: 0 })
  })

  it('that is extended serves process() too', async () => {
    const outcome = await application.app
      .get(WebhookIdempotencyService)
      .process({ source: 'jobs', id: 'job_1' }, async (tx: ExtendedTransaction) => {
        await tx.credit.create({ data: { accountId: 'acme', source: 'jobs', eventId: 'job_1', amount: 5 } })
        return (await tx.credit.ofEvent('job_1'))?.amount
      })
    expect(outcome).toEqual({ outcome: 'processed', value: 10 })
  })
})
