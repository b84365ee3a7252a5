import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { WebhookIdempotencyOptions } from '../../src/index.js'
import { EventInProgressError, PermanentWebhookError, WebhookIdempotencyService } from '../../src/index.js'
import type { RunningApplication } from '../support/application.js'
import { startApplication } from '../support/application.js'
import { Latch } from '../support/latch.js'
import type { Client, TestDatabase } from './test-databases.js'
import { serversOf } from './test-databases.js'

type Tx = Pick<Client, 'account' | 'credit' | '$executeRawUnsafe' | '$queryRawUnsafe'>

/** PostgreSQL is asked in both ways that the option `claim` has. */
const subjects = serversOf().flatMap((server) => [
  { ...server, claim: 'createMany' as const },
  ...(server.provider === 'postgresql' ? [{ ...server, claim: 'sql' as const }] : []),
])

describe.each(subjects)('$name, claim by $claim', ({ provider, create, claim }) => {
  let database: TestDatabase
  let prisma: Client
  let first: Instance
  let second: Instance

  beforeAll(async () => {
    database = await create()
    prisma = database.prisma()
    await prisma.account.create({ data: { id: 'acme' } })
    first = await start()
    second = provider === 'sqlite' ? first : await start()
  })

  afterAll(async () => {
    await first?.close()
    if (second !== first) await second?.close()
    await database?.drop()
  })

  /** One replica of an application, with a pool of its own. */
  async function start(options: Partial<WebhookIdempotencyOptions> = {}): Promise<Instance> {
    const application = await startApplication({ options: { prisma: database.prisma(), claim, ...options } })
    return new Instance(application)
  }

  const credits = (source: string) => prisma.credit.count({ where: { source } })
  const ids = async (source: string) =>
    (await prisma.credit.findMany({ where: { source }, orderBy: { id: 'asc' } })).map(({ eventId }) => eventId)
  const claims = async () => prisma.processedEvent.count()

  it('processes an event once, and leaves its claim as it is when it comes again', async () => {
    expect(await first.credit('once', 'evt')).toBe('processed')
    const before = await prisma.processedEvent.findMany()
    expect(await second.credit('once', 'evt')).toBe('duplicate')
    expect(await prisma.processedEvent.findMany()).toEqual(before)
    expect(await credits('once')).toBe(1)
  })

  it('processes 20 events once each that come 10 times at the same time to two instances', async () => {
    const deliveries = Array.from({ length: 20 }, (_, event) =>
      Array.from({ length: 10 }, (__, time) => ({ id: `evt_${event}`, instance: time % 2 === 0 ? first : second })),
    ).flat()
    const outcomes = await Promise.all(deliveries.map(({ id, instance }) => instance.credit('race', id)))
    expect(outcomes.filter((outcome) => outcome === 'processed')).toHaveLength(20)
    expect(outcomes.filter((outcome) => outcome === 'duplicate')).toHaveLength(180)
    expect((await ids('race')).toSorted()).toEqual(Array.from({ length: 20 }, (_, event) => `evt_${event}`).toSorted())
  })

  // apache/hadoop#5673: on MySQL the waiting inserts deadlock when the first one rolls back
  it('hands an event over to one of those that wait when the first delivery fails', async () => {
    const [entered, fail] = [new Latch(), new Latch()]
    const failing = first.service.process({ source: 'hand-over', id: 'evt' }, async (tx: Tx) => {
      await creditWith(tx, 'hand-over', 'evt')
      entered.open()
      await fail.opened
      throw new Error('the first delivery fails')
    })
    await entered.opened
    const waiting = Array.from({ length: 8 }, (_, index) =>
      (index % 2 === 0 ? first : second).credit('hand-over', 'evt'),
    )
    fail.open()
    await expect(failing).rejects.toThrow('the first delivery fails')
    const outcomes = await Promise.all(waiting)
    expect(outcomes.toSorted()).toEqual([...Array.from({ length: 7 }, () => 'duplicate'), 'processed'])
    expect(await credits('hand-over')).toBe(1)
  })

  // unkeyed/unkey#4091, letsencrypt/boulder#8749, indigo-iam/iam#1136
  it('keeps IDs apart that differ in case, accents, emoji or their last character', async () => {
    const alike = ['evt_A', 'evt_a', 'évt', 'evt', 'e\u0301vt', 'evt_😀', 'evt_😁', 'strasse', 'straße']
    const long = [`${'x'.repeat(254)}A`, `${'x'.repeat(254)}B`]
    for (const id of [...alike, ...long]) expect([id, await first.credit('alike', id)]).toEqual([id, 'processed'])
    for (const id of [...alike, ...long]) expect([id, await second.credit('alike', id)]).toEqual([id, 'duplicate'])
    expect(await credits('alike')).toBe(alike.length + long.length)
  })

  it('keeps equal IDs of two sources apart', async () => {
    expect(await first.credit('source a', 'evt')).toBe('processed')
    expect(await first.credit('source b', 'evt')).toBe('processed')
  })

  // guanhui07/blog#562: gap locks between neighbours in the index
  it('processes 300 events with neighbouring IDs that come at the same time', async () => {
    const neighbours = Array.from({ length: 300 }, (_, index) => `evt_${String(index).padStart(6, '0')}`)
    const outcomes: string[] = []
    const queue = neighbours.values()
    const worker = async () => {
      for (const id of queue) outcomes.push(await first.credit('neighbours', id))
    }
    await Promise.all(Array.from({ length: 8 }, worker))
    expect(outcomes).toEqual(neighbours.map(() => 'processed'))
    expect(await credits('neighbours')).toBe(300)
  })

  it('rolls claim and effects back when the handler fails', async () => {
    const before = await claims()
    const failing = first.service.process({ source: 'rollback', id: 'evt' }, async (tx: Tx) => {
      await creditWith(tx, 'rollback', 'evt')
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect([await claims(), await credits('rollback')]).toEqual([before, 0])
    expect(await first.credit('rollback', 'evt')).toBe('processed')
  })

  it('claims a rejected event without its effects', async () => {
    const rejecting = first.service.process({ source: 'rejected', id: 'evt' }, async (tx: Tx) => {
      await creditWith(tx, 'rejected', 'evt')
      throw new PermanentWebhookError('never')
    })
    expect(await rejecting).toEqual({ outcome: 'rejected', reason: 'never' })
    expect(await first.credit('rejected', 'evt')).toBe('duplicate')
    expect(await credits('rejected')).toBe(0)
  })

  it('applies what is new of overlapping batches, in any order', async () => {
    const batch = (instance: Instance, ...batchIds: string[]) =>
      instance.service.processBatch(
        batchIds.map((id) => ({ source: 'batch', id })),
        async (tx: Tx, { events }) => {
          for (const { id } of events) await creditWith(tx, 'batch', id)
          return events.map(({ id }) => id)
        },
      )
    expect(await batch(first, 'b3', 'b1')).toMatchObject({ value: ['b3', 'b1'] })
    expect(await batch(second, 'b4', 'b3', 'b2', 'b4')).toMatchObject({ value: ['b4', 'b2'] })
    expect(await batch(first, 'b1', 'b2')).toEqual({ outcome: 'duplicate' })
    const forth = Array.from({ length: 20 }, (_, index) => `c${String(index).padStart(2, '0')}`)
    await Promise.all([batch(first, ...forth), batch(second, ...forth.toReversed())])
    expect((await ids('batch')).toSorted()).toEqual(['b1', 'b2', 'b3', 'b4', ...forth])
  })

  it('applies 999 new events of a batch of 1000 whose last one is known', async () => {
    const big = Array.from({ length: 1000 }, (_, index) => `big_${String(index).padStart(4, '0')}`)
    await first.credit('big', big.at(-1)!)
    const outcome = await first.service.processBatch(
      big.map((id) => ({ source: 'big', id })),
      async (tx: Tx, { events }) => {
        await tx.credit.createMany({
          data: events.map(({ id }) => ({ accountId: 'acme', source: 'big', eventId: id, amount: 1 })),
        })
        return events.length
      },
    )
    expect(outcome).toEqual({ outcome: 'processed', value: 999 })
    expect(await credits('big')).toBe(1000)
  })

  it('forgets an event, which is processed again then', async () => {
    await first.credit('forget', 'evt')
    expect(await first.service.forget({ source: 'forget', id: 'evt' })).toBe(true)
    expect(await first.service.forget({ source: 'forget', id: 'evt' })).toBe(false)
    expect(await first.credit('forget', 'evt')).toBe('processed')
  })

  it('prunes only what is older, in batches', async () => {
    const kept = await claims()
    for (let index = 0; index < 5; index++) await first.credit('prune', `evt_${index}`)
    await prisma.processedEvent.updateMany({
      where: { eventType: 'prune' },
      data: { receivedAt: new Date('2020-01-01T00:00:00Z') },
    })
    expect(await first.service.prune({ olderThan: new Date('2020-01-02T00:00:00Z'), batchSize: 2 })).toBe(5)
    expect(await claims()).toBe(kept)
  })

  it('stamps claims with a clock that retention can be told by', async () => {
    await first.credit('clock', 'evt')
    const newest = await prisma.processedEvent.findFirstOrThrow({ orderBy: { receivedAt: 'desc' } })
    const minutes = Math.abs(Date.now() - newest.receivedAt.getTime()) / 60_000
    expect(minutes).toBeLessThan(5)
  })

  // letsencrypt/boulder#8749: INSERT IGNORE answers "duplicate" for whatever is wrong with a row
  it('takes no other failure of the insert for a duplicate', async () => {
    const strict = await create()
    const instance = new Instance(await startApplication({ options: { prisma: strict.prisma(), claim, probe: false } }))
    try {
      for (const sql of FAILING_INSERTS[provider]) await strict.execute(sql)
      await expect(instance.credit('failure', 'evt')).rejects.toThrow()
    } finally {
      await instance.close()
      await strict.drop()
    }
  })

  if (provider !== 'sqlite') {
    it('answers that an event is in progress when another instance holds it for too long', async () => {
      const [entered, release] = [new Latch(), new Latch()]
      const impatient = await start({ waitTimeout: 300 })
      const holding = first.service.process({ source: 'wait', id: 'evt' }, async () => {
        entered.open()
        await release.opened
      })
      await entered.opened
      await expect(impatient.credit('wait', 'evt')).rejects.toThrow(EventInProgressError)
      release.open()
      await holding
      expect(await impatient.credit('wait', 'evt')).toBe('duplicate')
      await impatient.close()
    })

    // mysqljs/mysql#853: a deadlock rolls the whole transaction back, and later statements commit alone
    it('commits nothing of a handler that swallows a deadlock and goes on', async () => {
      await prisma.account.createMany({ data: [{ id: 'left' }, { id: 'right' }] })
      const [leftHeld, rightHeld] = [new Latch(), new Latch()]
      const cross = (id: string, own: Latch, other: Latch, accounts: [string, string]) =>
        first.service.process({ source: 'deadlock', id }, async (tx: Tx) => {
          await tx.account.update({ where: { id: accounts[0] }, data: { credits: { increment: 1 } } })
          own.open()
          await other.opened
          await tx.account
            .update({ where: { id: accounts[1] }, data: { credits: { increment: 1 } } })
            .catch(() => undefined)
          await creditWith(tx, 'deadlock', id)
        })
      await Promise.allSettled([
        cross('a', leftHeld, rightHeld, ['left', 'right']),
        cross('b', rightHeld, leftHeld, ['right', 'left']),
      ])
      const credited = await ids('deadlock')
      expect(credited).toHaveLength(1)
      expect(await first.credit('deadlock', credited[0]!)).toBe('duplicate')
      const other = ['a', 'b'].find((id) => id !== credited[0])
      expect(await first.credit('deadlock', other!)).toBe('processed')
    })
  }

  if (provider === 'mysql') {
    // cobuildwithus/murph#1454: a session setting stays on a pooled connection
    it('leaves the settings of the sessions as they are', async () => {
      const settings = await Promise.all(
        Array.from({ length: 10 }, () =>
          first.service.process({ source: 'settings', id: crypto.randomUUID() }, (tx: Tx) =>
            tx.$queryRawUnsafe<{ a: bigint }[]>(
              'SELECT @@innodb_lock_wait_timeout AS a, @@sql_mode = @@GLOBAL.sql_mode AS b',
            ),
          ),
        ),
      )
      const [global] = await prisma.$queryRawUnsafe<{ a: bigint }[]>('SELECT @@GLOBAL.innodb_lock_wait_timeout AS a')
      for (const outcome of settings) {
        if (outcome.outcome !== 'processed') throw new Error('expected a processed event')
        expect(outcome.value[0]!.a).toEqual(global!.a)
      }
    })

    it('refuses at start-up a table whose text keys take different IDs for one', async () => {
      const loose = await create()
      await loose.execute('ALTER TABLE `processed_events` MODIFY `event_id` VARCHAR(191) NOT NULL')
      await expect(startApplication({ options: { prisma: loose.prisma() } })).rejects.toThrow('would lose events')
      await loose.drop()
    })
  }
})

/** What makes each insert of a claim fail, in a way that INSERT IGNORE passes over where there is one. */
const FAILING_INSERTS = {
  postgresql: [`ALTER TABLE processed_events ADD CONSTRAINT refused CHECK (event_type <> 'failure')`],
  mysql: [
    'CREATE TABLE kinds (name VARCHAR(255) NOT NULL PRIMARY KEY) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
    'ALTER TABLE processed_events ADD CONSTRAINT refused FOREIGN KEY (event_type) REFERENCES kinds (name)',
  ],
  sqlite: [
    `CREATE TRIGGER refuse BEFORE INSERT ON processed_events BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END`,
  ],
}

/** One replica, and the effect that is to happen once. */
class Instance {
  readonly service: WebhookIdempotencyService

  constructor(private readonly application: RunningApplication) {
    this.service = application.app.get(WebhookIdempotencyService)
  }

  async credit(source: string, id: string): Promise<string> {
    const { outcome } = await this.service.process({ source, id, type: source }, (tx: Tx) => creditWith(tx, source, id))
    return outcome
  }

  close(): Promise<void> {
    return this.application.close()
  }
}

async function creditWith(tx: Tx, source: string, eventId: string): Promise<void> {
  await tx.credit.create({ data: { accountId: 'acme', source, eventId, amount: 1 } })
}
