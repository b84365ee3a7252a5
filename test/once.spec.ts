import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Body, Controller, Get, HttpCode, Post } from '@nestjs/common'
import type { Outcome } from '../src/index.js'
import { IdempotentWebhook, WebhookIdempotencyService, WebhookTransaction } from '../src/index.js'
import type { Answer, RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import { holdCommitOf, untilClaimsWait } from './support/commits.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import type { CreditEvent, Tx } from './support/ledger.js'
import { credit, NEVER, ONCE, openAccount, recordsOf, tally } from './support/ledger.js'

/** What the handlers were called with, over all applications. */
const handled: string[] = []
const timesHandled = (id: string) => handled.filter((each) => each === id).length

@Controller()
class Webhooks {
  @Post('corvel')
  @IdempotentWebhook({ source: 'corvel' })
  async corvel(@Body() event: CreditEvent, @WebhookTransaction() tx: Tx) {
    handled.push(event.id)
    await credit(tx, event)
  }

  @Post('dunmore')
  @IdempotentWebhook({ source: 'dunmore' })
  async dunmore(@Body() event: CreditEvent, @WebhookTransaction() tx: Tx) {
    await credit(tx, event, 'dunmore')
  }

  @Post('unnamed')
  @IdempotentWebhook()
  unnamed() {}

  @Post('replies')
  @IdempotentWebhook({ source: 'replies', duplicateReply: { received: 'before' } })
  replies(@Body() { id }: CreditEvent) {
    return { received: id }
  }

  @Post('text')
  @IdempotentWebhook({ source: 'text' })
  text() {
    return '[accepted]'
  }

  @Post('status-above')
  @HttpCode(202)
  @IdempotentWebhook({ source: 'status-above' })
  statusAbove() {}

  @Post('status-below')
  @IdempotentWebhook({ source: 'status-below' })
  @HttpCode(204)
  statusBelow() {}

  @Get('ping')
  ping() {}
}

describe('an event that is delivered again', () => {
  let database: TestDatabase
  let first: RunningApplication
  let second: RunningApplication

  const start = () =>
    startApplication({
      controllers: [Webhooks],
      options: { prisma: database.prisma(), waitTimeout: 20_000, transaction: { timeout: 15_000, maxWait: 15_000 } },
    })

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
    ;[first, second] = await Promise.all([start(), start()])
  })

  afterAll(async () => {
    await Promise.all([first?.close(), second?.close()])
    await database.drop()
  })

  it('is answered with 200 both times, and handled once', async () => {
    const event = { id: 'evt_twice', type: 'invoice.paid' }
    const answers = [await first.deliver('/corvel', event), await first.deliver('/corvel', event)]
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, { outcome: 'processed' }],
      [200, { outcome: 'duplicate' }],
    ])
    expect(timesHandled('evt_twice')).toBe(1)
    expect(await recordsOf(database, 'evt_twice')).toEqual(ONCE)
    // Nest has one logger in the process: that of the application which was created last.
    const logged = [first, second].flatMap(({ log }) => log.at('debug'))
    expect(logged).toContain('duplicate corvel/evt_twice (invoice.paid)')
  })

  it('is answered with 200 by another instance of the application too', async () => {
    await first.deliver('/corvel', { id: 'evt_elsewhere' })
    const answer = await second.deliver('/corvel', { id: 'evt_elsewhere' })
    expect([answer.status, answer.body]).toEqual([200, { outcome: 'duplicate' }])
    expect(await recordsOf(database, 'evt_elsewhere')).toEqual(ONCE)
  })

  it('leaves its claim as it is', async () => {
    const claim = () =>
      database.query(
        `SELECT ctid::text, xmin::text, xmax::text, event_type, received_at FROM processed_events WHERE event_id = 'evt_kept'`,
      )
    await first.deliver('/corvel', { id: 'evt_kept', type: 'invoice.paid' })
    const claimed = await claim()
    await first.deliver('/corvel', { id: 'evt_kept', type: 'invoice.voided' })
    await second.deliver('/corvel', { id: 'evt_kept', type: 'invoice.voided' })
    expect(claimed).toHaveLength(1)
    expect(await claim()).toEqual(claimed)
  })

  // Of five at a time: more sockets would only measure the machine.
  it('is handled once when 50 deliveries of each of 20 events arrive at once at two instances', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `evt_storm_${index}`)
    const answers: Answer[] = []
    for (let index = 0; index < ids.length; index += 5) {
      const deliveries = Array.from({ length: 25 }, () => ids.slice(index, index + 5)).flat()
      const deliverTo = ({ deliver }: RunningApplication) => deliveries.map((id) => deliver('/corvel', { id }))
      answers.push(...(await Promise.all([...deliverTo(first), ...deliverTo(second)])))
    }
    expect(tally(answers.map(({ status }) => status))).toEqual({ 200: 1000 })
    expect(tally(answers.map(({ body }) => body.outcome))).toEqual({ processed: 20, duplicate: 980 })
    expect(ids.map(timesHandled)).toEqual(ids.map(() => 1))
    expect(await Promise.all(ids.map((id) => recordsOf(database, id)))).toEqual(ids.map(() => ONCE))
  })

  it('is another event when it comes from another source', async () => {
    const answers = [
      await first.deliver('/corvel', { id: 'evt_shared' }),
      await first.deliver('/dunmore', { id: 'evt_shared' }),
      await first.deliver('/unnamed', { id: 'evt_shared' }),
    ]
    expect(answers.map(({ body }) => body.outcome)).toEqual(['processed', 'processed', 'processed'])
    expect(await recordsOf(database, 'evt_shared', 'corvel')).toEqual(ONCE)
    expect(await recordsOf(database, 'evt_shared', 'dunmore')).toEqual(ONCE)
    expect(await recordsOf(database, 'evt_shared', 'default')).toEqual({ credits: 0, claims: 1 })
  })

  it('is processed once when it comes over HTTP and through process() at the same time', async () => {
    const id = 'evt_race'
    const replay = (application: RunningApplication): Promise<Outcome<string>> =>
      application.app.get(WebhookIdempotencyService).process({ source: 'corvel', id }, async (tx: Tx) => {
        handled.push(id)
        await credit(tx, { id })
        return 'replayed'
      })
    const deliveries = Array.from({ length: 10 }, async (): Promise<{ outcome: string }[]> => {
      const [delivered, delivered2, replayed, replayed2] = await Promise.all([
        first.deliver('/corvel', { id }),
        second.deliver('/corvel', { id }),
        replay(first),
        replay(second),
      ])
      return [delivered.body, delivered2.body, replayed, replayed2]
    })
    const outcomes = (await Promise.all(deliveries)).flat().map(({ outcome }) => outcome)
    expect(tally(outcomes)).toEqual({ processed: 1, duplicate: 39 })
    expect(timesHandled(id)).toBe(1)
    expect(await recordsOf(database, id)).toEqual(ONCE)
  })

  it('is told apart by process(), which gives the value of the first time only', async () => {
    const webhooks = first.app.get(WebhookIdempotencyService)
    const event = { source: 'jobs', id: 42, type: 'replay' }
    expect(await webhooks.process(event, async () => 'done')).toEqual({ outcome: 'processed', value: 'done' })
    expect(await webhooks.process(event, async () => 'again')).toEqual({ outcome: 'duplicate' })
    expect(await recordsOf(database, '42', 'jobs')).toEqual({ credits: 0, claims: 1 })
  })

  describe('gets the reply', () => {
    const twice = async (path: string): Promise<Answer[]> => {
      const event = { id: `evt_${path.slice(1)}` }
      return [await first.deliver(path, event), await first.deliver(path, event)]
    }

    it('of the handler the first time, and of duplicateReply afterwards', async () => {
      const answers = await twice('/replies')
      expect(answers.map(({ body }) => body)).toEqual([{ received: 'evt_replies' }, { received: 'before' }])
    })

    it('of the handler as it is when it is text', async () => {
      const answers = await twice('/text')
      expect(answers.map(({ body }) => body)).toEqual(['[accepted]', { outcome: 'duplicate' }])
    })

    it.each([
      ['200 when nothing else is said', '/unnamed', 200],
      ['that @HttpCode() above the decorator says', '/status-above', 202],
      ['that @HttpCode() below the decorator says', '/status-below', 204],
    ])('with the status %s, both times', async (_, path, status) => {
      expect((await twice(path)).map((answer) => answer.status)).toEqual([status, status])
    })
  })

  // "200 only when it is safe": a sender does not deliver again what was answered, so an answer before COMMIT can lose it.
  it('gets no answer before COMMIT, the first as little as its duplicates here and elsewhere', async () => {
    const id = 'evt_held'
    const commit = await holdCommitOf(database, id)
    const answered: string[] = []
    const deliver = async (name: string, { deliver }: RunningApplication) => {
      const { status, body } = await deliver('/corvel', { id })
      answered.push(name)
      return [status, body.outcome]
    }
    try {
      const original = deliver('first', first)
      await commit.reached()
      const here = deliver('here', first)
      const elsewhere = deliver('elsewhere', second)
      await untilClaimsWait(database, 1)
      await untilAnswersHadTimeToLeave()
      expect(answered).toEqual([])
      expect(await recordsOf(database, id)).toEqual(NEVER)

      await commit.release()
      expect(await original).toEqual([200, 'processed'])
      expect(await here).toEqual([200, 'duplicate'])
      expect(await elsewhere).toEqual([200, 'duplicate'])
      expect(await recordsOf(database, id)).toEqual(ONCE)
    } finally {
      await commit.release()
    }
  })

  /** An answer that was on its way would have come before those of later requests to the same instances. */
  async function untilAnswersHadTimeToLeave(): Promise<void> {
    for (const { url } of [first, second, first, second]) await fetch(`${url}/ping`)
  }
})
