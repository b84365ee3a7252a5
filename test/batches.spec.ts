import { Body, Controller, Post } from '@nestjs/common'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Prisma } from '../prisma/generated/client.js'
import type { WebhookDelivery } from '../src/index.js'
import { IdempotentWebhook, TooManyEventsError, WebhookContext, WebhookIdempotencyService } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { Latch } from './support/latch.js'
import { untilBlocked, withSession } from './support/sessions.js'
import { countTransactions } from './support/transactions.js'

type Context = WebhookContext<Prisma.TransactionClient>
interface Batch {
  events: { id: string; fails?: boolean }[]
}

const MAX_EVENTS = 1000
const events = ({ body }: WebhookDelivery<Batch>) => body.events.map((event) => ({ ...event, payload: event }))

/** One row for each time an event is applied. */
async function credit({ source, tx }: Context, ids: string[]): Promise<void> {
  await tx.credit.createMany({ data: ids.map((eventId) => ({ accountId: 'batches', source, eventId, amount: 1 })) })
}

@Controller()
class BatchController {
  @Post('batch')
  @IdempotentWebhook({ source: 'batch', events })
  async batch(@WebhookContext() context: Context) {
    await credit(
      context,
      context.events.map(({ id }) => id),
    )
    return context.events.map(({ id }) => id)
  }

  @Post('each')
  @IdempotentWebhook({ source: 'each', events, each: true })
  async each(@WebhookContext() context: Context, @Body() batch: Batch) {
    const { event } = context
    if (event.payload.fails) throw new Error(`${event.id} of ${batch.events.length} fails`)
    await credit(context, [event.id])
  }
}

let database: TestDatabase
let first: RunningApplication
let second: RunningApplication
let transactions: { count: number }

beforeAll(async () => {
  database = await createDatabase()
  const prisma = database.prisma()
  await prisma.account.create({ data: { id: 'batches' } })
  const counted = countTransactions(prisma)
  transactions = counted
  // Two instances that claim in the two ways there are: they meet in the table.
  // A deadlock among claims is to show, not to be tried again.
  first = await startApplication({
    controllers: [BatchController],
    options: { prisma: counted.client, claimRetries: 0 },
  })
  second = await startApplication({
    controllers: [BatchController],
    options: { prisma: database.prisma(), claimRetries: 0, claim: 'sql' },
  })
})

afterAll(async () => {
  await first?.close()
  await second?.close()
  await database?.drop()
})

const batch = (...ids: string[]): Batch => ({ events: ids.map((id) => ({ id })) })

/** Event IDs in the order in which they were applied, one for each time. */
async function applied(source: string, prefix = ''): Promise<string[]> {
  const rows = await database.query<{ event_id: string }>(
    'SELECT event_id FROM credits WHERE source = $1 AND event_id LIKE $2 ORDER BY id',
    [source, `${prefix}%`],
  )
  return rows.map(({ event_id }) => event_id)
}

describe('a batch', () => {
  it('is applied once, in the sender’s order, and is a duplicate then', async () => {
    expect(await first.deliver('/batch', batch('o3', 'o1', 'o2'))).toMatchObject({
      status: 200,
      body: ['o3', 'o1', 'o2'],
    })
    expect(await first.deliver('/batch', batch('o3', 'o1', 'o2'))).toMatchObject({ body: { outcome: 'duplicate' } })
    expect(await applied('batch', 'o')).toEqual(['o3', 'o1', 'o2'])
  })

  it('that was partly seen applies only what is new', async () => {
    await first.deliver('/batch', batch('p1', 'p2'))
    expect(await second.deliver('/batch', batch('p3', 'p2', 'p4', 'p1'))).toMatchObject({ body: ['p3', 'p4'] })
    expect(await applied('batch', 'p')).toEqual(['p1', 'p2', 'p3', 'p4'])
  })

  it('that repeats an event applies it once', async () => {
    expect(await first.deliver('/batch', batch('r1', 'r2', 'r1'))).toMatchObject({ body: ['r1', 'r2'] })
    expect(await applied('batch', 'r')).toEqual(['r1', 'r2'])
  })

  it('without events is answered with 200 and opens no transaction', async () => {
    const before = transactions.count
    expect(await first.deliver('/batch', batch())).toMatchObject({ status: 200 })
    expect(transactions.count).toBe(before)
  })

  it('of 1000 events is taken, and one more is refused before a transaction opens', async () => {
    const ids = Array.from({ length: MAX_EVENTS + 1 }, (_, index) => `m${index}`)
    const before = transactions.count
    expect(await first.deliver('/batch', batch(...ids))).toMatchObject({
      status: 400,
      body: { error: 'TOO_MANY_EVENTS' },
    })
    expect(transactions.count).toBe(before)
    expect(await first.deliver('/batch', batch(...ids.slice(1)))).toMatchObject({ status: 200 })
    expect(await applied('batch', 'm')).toHaveLength(MAX_EVENTS)
  })

  it('with one unusable ID is refused as a whole', async () => {
    expect(await first.deliver('/batch', batch('u1', ''))).toMatchObject({
      status: 400,
      body: { error: 'INVALID_EVENT' },
    })
    expect(await applied('batch', 'u')).toEqual([])
  })

  it('overlaps with another one in reverse order, on another instance, without a deadlock', async () => {
    const ids = ['d1', 'd2', 'd3']
    const answers = await withSession(database, async (session) => {
      // Both batches come as far as the event in the middle, so that unordered claims would cross each other for sure.
      await session.query('BEGIN')
      await session.query(`INSERT INTO processed_events VALUES ('batch', 'd2', 'held by the test')`)
      const delivered = [first.deliver('/batch', batch(...ids)), second.deliver('/batch', batch(...ids.toReversed()))]
      await untilBlocked(database, 2)
      await session.query('ROLLBACK')
      return Promise.all(delivered)
    })
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect((await applied('batch', 'd')).toSorted()).toEqual(ids)
  })
})

describe('a handler with each: true', () => {
  it('gets one event after the other, in the sender’s order and in one transaction', async () => {
    const before = transactions.count
    const answer = await first.deliver('/each', batch('e3', 'e1', 'e2', 'e1'))
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    expect(await applied('each', 'e')).toEqual(['e3', 'e1', 'e2'])
    expect(transactions.count).toBe(before + 1)
  })

  it('applies all events or none', async () => {
    const failing = { events: [{ id: 'f1' }, { id: 'f2', fails: true }] }
    expect(await first.deliver('/each', failing)).toMatchObject({ status: 500 })
    expect(await applied('each', 'f')).toEqual([])
    await first.deliver('/each', batch('f1', 'f2'))
    expect(await applied('each', 'f')).toEqual(['f1', 'f2'])
  })
})

describe('processBatch()', () => {
  const service = (application: RunningApplication) => application.app.get(WebhookIdempotencyService)
  const identities = (...ids: string[]) => ids.map((id) => ({ source: 'queue', id }))

  it('applies what is new, and is not called when nothing is', async () => {
    const apply = async (tx: Prisma.TransactionClient, context: Context) => {
      const ids = context.events.map(({ id }) => id)
      await credit(context, ids)
      return ids
    }
    const outcome = await service(first).processBatch(identities('q1', 'q2'), apply)
    expect(outcome).toEqual({ outcome: 'processed', value: ['q1', 'q2'] })
    expect(await service(second).processBatch(identities('q2', 'q3'), apply)).toMatchObject({ value: ['q3'] })
    expect(await service(first).processBatch(identities('q3', 'q1'), apply)).toEqual({ outcome: 'duplicate' })
    expect(await service(first).processBatch([], apply)).toEqual({ outcome: 'duplicate' })
    expect(await applied('queue')).toEqual(['q1', 'q2', 'q3'])
  })

  it('refuses more events than maxEvents', async () => {
    const ids = Array.from({ length: MAX_EVENTS + 1 }, (_, index) => String(index))
    await expect(service(first).processBatch(identities(...ids), async () => undefined)).rejects.toThrow(
      TooManyEventsError,
    )
  })

  it('waits for a delivery that has one of its events, and goes on with the others', async () => {
    const [entered, release] = [new Latch(), new Latch()]
    const one = service(first).processBatch(identities('w2'), async (_, context) => {
      entered.open()
      await release.opened
      await credit(context, ['w2'])
    })
    await entered.opened
    const all = service(first).processBatch(identities('w3', 'w2', 'w1'), async (_, { events: fresh }) =>
      fresh.map(({ id }) => id),
    )
    release.open()
    expect(await one).toMatchObject({ outcome: 'processed' })
    expect(await all).toEqual({ outcome: 'processed', value: ['w3', 'w1'] })
  })
})

describe('any sequence of overlapping, repeated and reordered batches', () => {
  let run = 0
  const ids = fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 8 })

  it('applies each event exactly once, on two instances', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(ids, { minLength: 2, maxLength: 6 }), async (batches) => {
        const prefix = `any${run++}-`
        const answers = await Promise.all(
          batches.map((numbers, index) =>
            (index % 2 === 0 ? first : second).deliver(
              '/batch',
              batch(...numbers.map((number) => `${prefix}${number}`)),
            ),
          ),
        )
        expect(answers.map(({ status }) => status)).toEqual(batches.map(() => 200))
        const expected = [...new Set(batches.flat().map((number) => `${prefix}${number}`))].toSorted()
        expect((await applied('batch', prefix)).toSorted()).toEqual(expected)
      }),
      { numRuns: 40 },
    )
  })
})
