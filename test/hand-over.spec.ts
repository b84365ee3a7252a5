import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Body, ConflictException, Controller, Post } from '@nestjs/common'
import { IdempotentWebhook, WebhookTransaction } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import { untilClaimsWait } from './support/commits.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { Latch } from './support/latch.js'
import type { CreditEvent, Tx } from './support/ledger.js'
import { credit, ONCE, openAccount, recordsOf, tally } from './support/ledger.js'
import { until } from './support/until.js'

let arrived = 0
/** What happens in each call of the handler, in turn, after its write; calls beyond the last one succeed. */
let calls: (() => Promise<void>)[]
let handled: number

@Controller()
class Corvel {
  @Post('corvel')
  @IdempotentWebhook({
    source: 'corvel',
    id: ({ body }) => {
      arrived++
      return body.id
    },
  })
  async invoicePaid(@Body() event: CreditEvent, @WebhookTransaction() tx: Tx) {
    const call = calls[handled++]
    await credit(tx, event)
    await call?.()
  }
}

describe('when the delivery that handles an event fails', () => {
  let database: TestDatabase
  let first: RunningApplication
  let second: RunningApplication

  const start = () => startApplication({ controllers: [Corvel], options: { prisma: database.prisma() } })

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
    ;[first, second] = await Promise.all([start(), start()])
  })

  afterAll(async () => {
    await Promise.all([first?.close(), second?.close()])
    await database.drop()
  })

  beforeEach(() => {
    arrived = handled = 0
  })

  /** A call of the handler that stays in it until the test lets it fail. */
  function failing() {
    const entered = new Latch()
    const failed = new Latch()
    const call = async () => {
      entered.open()
      await failed.opened
      throw new ConflictException('the account is locked')
    }
    return { call, entered: entered.opened, fail: failed.open }
  }

  const send = async (id: string, { deliver }: RunningApplication) => {
    const { status, body } = await deliver('/corvel', { id })
    return status === 200 ? (body.outcome as string) : status
  }

  it('exactly one of those that wait in the same process takes over', async () => {
    const failure = failing()
    calls = [failure.call]
    const original = send('evt_here', first)
    await failure.entered
    const waiting = Array.from({ length: 8 }, () => send('evt_here', first))
    await until('all deliveries have arrived', () => arrived === 9)
    expect(handled).toBe(1)

    failure.fail()
    expect(await original).toBe(409)
    expect(tally(await Promise.all(waiting))).toEqual({ processed: 1, duplicate: 7 })
    expect(handled).toBe(2)
    expect(await recordsOf(database, 'evt_here')).toEqual(ONCE)
  })

  it('exactly one of those that wait in two processes takes over', async () => {
    const failure = failing()
    calls = [failure.call]
    const original = send('evt_both', first)
    await failure.entered
    const waiting = Array.from({ length: 8 }, (_, index) => send('evt_both', index % 2 === 0 ? first : second))
    await until('all deliveries have arrived', () => arrived === 9)
    await untilClaimsWait(database, 1)
    expect(handled).toBe(1)

    failure.fail()
    expect(await original).toBe(409)
    expect(tally(await Promise.all(waiting))).toEqual({ processed: 1, duplicate: 7 })
    expect(handled).toBe(2)
    expect(await recordsOf(database, 'evt_both')).toEqual(ONCE)
  })

  it('one after the other takes over until one succeeds', async () => {
    const failures = [failing(), failing(), failing()] as const
    calls = failures.map(({ call }) => call)
    const deliveries = [send('evt_thrice', first)]
    await failures[0].entered
    deliveries.push(...[first, second, first, second].map((application) => send('evt_thrice', application)))
    await until('all deliveries have arrived', () => arrived === 5)
    for (const { entered, fail } of failures) {
      await entered
      fail()
    }

    expect(tally(await Promise.all(deliveries))).toEqual({ 409: 3, processed: 1, duplicate: 1 })
    expect(handled).toBe(4)
    expect(await recordsOf(database, 'evt_thrice')).toEqual(ONCE)
  })
})
