import type { INestApplication, Type } from '@nestjs/common'
import { Body, Controller, Inject, Post } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Prisma, PrismaClient } from '../prisma/generated/client.js'
import { IdempotentWebhook, PermanentWebhookError, WebhookIdempotencyModule, WebhookTransaction } from '../src/index.js'
import type { DeliveryAnswer } from '../src/testing/index.js'
import { deliverTwice, race, refuseCommit } from '../src/testing/index.js'
import type { RunningApplication } from './support/application.js'
import { RecordedLog, startApplication } from './support/application.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { Latch } from './support/latch.js'

interface Credit {
  id: string
  credits: number
}

const PRISMA = Symbol('PRISMA')
const body: Credit = { id: 'evt_1', credits: 100 }

async function credit(tx: Prisma.TransactionClient, { id, credits }: Credit): Promise<void> {
  await tx.account.update({ where: { id: 'acct' }, data: { credits: { increment: credits } } })
  await tx.credit.create({ data: { accountId: 'acct', source: 'corvel', eventId: id, amount: credits } })
}

@Controller()
class RightController {
  @Post('right')
  @IdempotentWebhook({ source: 'right' })
  async right(@Body() event: Credit, @WebhookTransaction() tx: Prisma.TransactionClient): Promise<void> {
    await credit(tx, event)
  }

  @Post('own-reply')
  @IdempotentWebhook({ source: 'own-reply', duplicateReply: 'had it' })
  async ownReply(@Body() event: Credit, @WebhookTransaction() tx: Prisma.TransactionClient): Promise<string> {
    await credit(tx, event)
    return 'took it'
  }

  @Post('rejecting')
  @IdempotentWebhook({ source: 'rejecting' })
  async rejecting(): Promise<void> {
    throw new PermanentWebhookError('the account was closed')
  }
}

/** What people write instead, each with one of the usual faults. */
@Controller()
class FaultyController {
  private readonly seen = new Set<string>()
  private readonly everybodyLooked = new Latch()
  private looking = 0

  constructor(@Inject(PRISMA) private readonly prisma: PrismaClient) {}

  @Post('no-claim')
  async noClaim(@Body() event: Credit): Promise<void> {
    await this.prisma.$transaction((tx) => credit(tx, event))
  }

  @Post('look-first')
  async lookFirst(@Body() event: Credit): Promise<unknown> {
    const isNew = (await this.prisma.credit.count({ where: { eventId: event.id } })) === 0
    if (++this.looking === 3) this.everybodyLooked.open()
    await this.everybodyLooked.opened
    if (!isNew) return { outcome: 'duplicate' }
    return this.prisma.$transaction((tx) => credit(tx, event))
  }

  @Post('in-memory')
  async inMemory(@Body() event: Credit): Promise<unknown> {
    if (this.seen.has(event.id)) return { outcome: 'duplicate' }
    this.seen.add(event.id)
    return this.prisma.$transaction((tx) => credit(tx, event))
  }

  @Post('claim-outside')
  async claimOutside(@Body() event: Credit): Promise<unknown> {
    const data = [{ source: 'claim-outside', eventId: event.id, eventType: 'paid' }]
    const { count } = await this.prisma.processedEvent.createMany({ data, skipDuplicates: true })
    if (count === 0) return { outcome: 'duplicate' }
    return this.prisma.$transaction((tx) => credit(tx, event))
  }
}

describe('the testing tools', () => {
  let database: TestDatabase
  let prisma: PrismaClient
  let running: RunningApplication[]

  beforeAll(async () => {
    database = await createDatabase()
    prisma = database.prisma({ max: 5 })
  })

  afterAll(() => database.drop())

  beforeEach(async () => {
    running = []
    await database.query('TRUNCATE processed_events, credits, accounts')
    await prisma.account.create({ data: { id: 'acct' } })
  })

  afterEach(() => Promise.all(running.map(({ close }) => close())))

  async function start(controller: Type, client: PrismaClient = prisma): Promise<INestApplication> {
    const application = await startApplication({
      controllers: [controller],
      providers: [{ provide: PRISMA, useValue: client }],
      options: { prisma: client, probe: false },
    })
    running.push(application)
    return application.app
  }

  const effect = async () => (await prisma.account.findUniqueOrThrow({ where: { id: 'acct' } })).credits

  describe('deliverTwice', () => {
    it('finds a decorated handler to process the first delivery only', async () => {
      const outcomes = await deliverTwice(await start(RightController), { path: '/right', body }, { effect })
      expect(outcomes).toMatchObject({ processed: 1, duplicates: 1, rejected: 0, refused: 0, effects: [0, 100, 100] })
      expect(outcomes.answers.map(({ status, body }) => [status, body])).toEqual([
        [200, { outcome: 'processed' }],
        [200, { outcome: 'duplicate' }],
      ])
    })

    it('finds a handler without @IdempotentWebhook() to credit twice', async () => {
      const outcomes = await deliverTwice(await start(FaultyController), { path: '/no-claim', body }, { effect })
      expect(outcomes).toMatchObject({ processed: 2, duplicates: 0, effects: [0, 100, 200] })
    })

    it('counts rejected events, and deliveries that are refused', async () => {
      const app = await start(RightController)
      expect(await deliverTwice(app, { path: '/rejecting', body })).toMatchObject({ rejected: 1, duplicates: 1 })
      expect(await deliverTwice(app, { path: '/right', body: { id: '' } })).toMatchObject({ refused: 2 })
      expect(await deliverTwice(app, { path: '/nowhere', body })).toMatchObject({ refused: 2, effects: [] })
    })

    it("counts as processed what it cannot tell, until it is told what the handler's own answers mean", async () => {
      const app = await start(RightController)
      const untold = await deliverTwice(app, { path: '/own-reply', body }, { effect })
      expect(untold).toMatchObject({ processed: 2, duplicates: 0, effects: [0, 100, 100] })

      const outcomeOf = (answer: DeliveryAnswer) => (answer.body === 'had it' ? 'duplicate' : undefined)
      const delivery = { path: '/own-reply', body: { ...body, id: 'evt_2' } }
      expect(await deliverTwice(app, delivery, { outcomeOf })).toMatchObject({ processed: 1, duplicates: 1 })
    })

    it('sends strings and headers as they are', async () => {
      const app = await start(RightController)
      const delivery = {
        path: '/right',
        body: '{"id" :"evt_1","credits":100}',
        headers: { 'content-type': 'text/plain' },
      }
      expect(await deliverTwice(app, delivery)).toMatchObject({ refused: 2 })
      const asJson = { ...delivery, headers: { 'Content-Type': 'application/json' } }
      expect(await deliverTwice(app, asJson)).toMatchObject({ processed: 1, duplicates: 1 })
    })

    it('takes a URL for a target, with the path or without', async () => {
      await start(RightController)
      const { url } = running[0]!
      expect(await deliverTwice(`${url}/right`, { body })).toMatchObject({ processed: 1, duplicates: 1 })
      expect(await deliverTwice(new URL(url), { path: '/right', body })).toMatchObject({ duplicates: 2 })
    })

    it('has an application listen that does not, also when two ask for it at once', async () => {
      const testing = await Test.createTestingModule({
        imports: [WebhookIdempotencyModule.forRoot({ prisma, probe: false })],
        controllers: [RightController],
      })
        .setLogger(new RecordedLog())
        .compile()
      const app = testing.createNestApplication()
      const both = [body, { ...body, id: 'evt_2' }].map((body) => deliverTwice(app, { path: '/right', body }))
      expect(await Promise.all(both)).toMatchObject([{ processed: 1 }, { processed: 1 }])
      await app.close()
    })
  })

  describe('race', () => {
    it('finds one delivery processed of those that arrive at once', async () => {
      const outcomes = await race(await start(RightController), { path: '/right', body }, { times: 12, effect })
      expect(outcomes).toMatchObject({ processed: 1, duplicates: 11, effects: [0, 100] })
      expect(outcomes.answers).toHaveLength(12)
    })

    it('finds a handler that looks before it inserts to credit several times', async () => {
      const outcomes = await race(await start(FaultyController), { path: '/look-first', body }, { times: 3, effect })
      expect(outcomes).toMatchObject({ processed: 3, duplicates: 0, effects: [0, 300] })
    })

    it('finds what only replicas do wrong, which share no memory', async () => {
      const delivery = { path: '/in-memory', body }
      const replicas = [await start(FaultyController), await start(FaultyController)]
      expect(await race(replicas, delivery, { effect })).toMatchObject({ processed: 2, effects: [0, 200] })
      const right = [await start(RightController), await start(RightController)]
      const outcomes = await race(right, { path: '/right', body }, { effect })
      expect(outcomes).toMatchObject({ processed: 1, duplicates: 9, effects: [200, 300] })
    })
  })

  describe('refuseCommit', () => {
    it('finds a decorated handler to leave nothing behind, and to process the next delivery', async () => {
      const app = await start(RightController)
      const commits = refuseCommit(prisma)
      const outcomes = await deliverTwice(app, { path: '/right', body }, { effect })
      expect(outcomes).toMatchObject({ refused: 1, processed: 1, effects: [0, 0, 100] })
      expect(outcomes.answers[0]!.status).toBe(500)
      expect(commits.count).toBe(1)
    })

    it('finds a handler that claims outside of its transaction to lose the event', async () => {
      const app = await start(FaultyController)
      refuseCommit(prisma)
      const outcomes = await deliverTwice(app, { path: '/claim-outside', body }, { effect })
      expect(outcomes).toMatchObject({ refused: 1, duplicates: 1, processed: 0, effects: [0, 0, 0] })
    })

    it('hands a waiting delivery the event of one whose COMMIT is refused', async () => {
      const app = await start(RightController)
      refuseCommit(prisma)
      const outcomes = await race(app, { path: '/right', body }, { effect })
      expect(outcomes).toMatchObject({ refused: 1, processed: 1, duplicates: 8, effects: [0, 100] })
    })

    it('refuses as many transactions as asked for with the error given, until it is restored', async () => {
      const error = new Error('the database has gone')
      const commits = refuseCommit(prisma, { times: 3, error })
      await expect(prisma.$transaction((tx) => credit(tx, body))).rejects.toBe(error)
      await expect(prisma.$transaction((tx) => credit(tx, body))).rejects.toBe(error)
      commits.restore()
      await prisma.$transaction((tx) => credit(tx, body))
      expect(commits.count).toBe(2)
      expect(await effect()).toBe(100)
    })

    it('counts no transaction that does not come as far as COMMIT, and leaves batches alone', async () => {
      const commits = refuseCommit(prisma)
      const failing = prisma.$transaction(async () => Promise.reject(new Error('the work failed')))
      await expect(failing).rejects.toThrow('the work failed')
      await prisma.$transaction([prisma.account.update({ where: { id: 'acct' }, data: { credits: 7 } })])
      expect(commits.count).toBe(0)
      await expect(prisma.$transaction((tx) => credit(tx, body))).rejects.toThrow('COMMIT was refused')
      expect(await effect()).toBe(7)
    })

    it('lets two that share a client end in any order', async () => {
      const first = refuseCommit(prisma)
      const second = refuseCommit(prisma)
      first.restore()
      await expect(prisma.$transaction((tx) => credit(tx, body))).rejects.toThrow('COMMIT was refused')
      await prisma.$transaction((tx) => credit(tx, body))
      expect([first.count, second.count]).toEqual([0, 1])
    })

    it('works on extended clients', async () => {
      const extended = prisma.$extends({ name: 'extension' }) as unknown as PrismaClient
      const app = await start(RightController, extended)
      refuseCommit(extended)
      const outcomes = await deliverTwice(app, { path: '/right', body }, { effect })
      expect(outcomes).toMatchObject({ refused: 1, processed: 1, effects: [0, 0, 100] })
    })
  })
})
