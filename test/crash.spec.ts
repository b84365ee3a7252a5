import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { Body, Controller, Post } from '@nestjs/common'
import { IdempotentWebhook, WebhookTransaction } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import { holdCommitOf, untilClaimsWait } from './support/commits.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import type { DoomedProcess } from './support/doomed-process.js'
import { startDoomedProcess } from './support/doomed-process.js'
import type { CreditEvent, Tx } from './support/ledger.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'

@Controller()
class Corvel {
  @Post('corvel')
  @IdempotentWebhook({ source: 'corvel' })
  async invoicePaid(@Body() event: CreditEvent, @WebhookTransaction() tx: Tx) {
    await credit(tx, event)
  }
}

describe('when the process is killed', () => {
  let database: TestDatabase
  let survivor: RunningApplication
  const processes: DoomedProcess[] = []

  const start = async (options?: { staysInHandler: boolean }) => {
    const started = await startDoomedProcess(database, options)
    processes.push(started)
    return started
  }

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
    survivor = await startApplication({ controllers: [Corvel], options: { prisma: database.prisma() } })
  })

  afterEach(async () => {
    await Promise.all(processes.splice(0).map((started) => started.kill()))
  })

  afterAll(async () => {
    await survivor?.close()
    await database.drop()
  })

  /** Ends the process while the sender waits for its answer, which never comes. */
  async function kill(doomed: DoomedProcess, answer: Promise<unknown>): Promise<void> {
    const lost = expect(answer).rejects.toThrow()
    await doomed.kill()
    await lost
  }

  it('inside the handler, nothing remains, and the next delivery to it is processed once', async () => {
    const event = { id: 'evt_killed' }
    const doomed = await start({ staysInHandler: true })
    const answer = doomed.deliver(event)
    await doomed.written(event.id)
    await kill(doomed, answer)
    expect(await recordsOf(database, event.id)).toEqual(NEVER)

    const restarted = await start()
    const answers = [await restarted.deliver(event), await restarted.deliver(event)]
    expect(answers.map(({ status, body }) => [status, body.outcome])).toEqual([
      [200, 'processed'],
      [200, 'duplicate'],
    ])
    expect(await recordsOf(database, event.id)).toEqual(ONCE)
  })

  it('inside the handler, a delivery that waits in another process takes over', async () => {
    const event = { id: 'evt_survives' }
    const doomed = await start({ staysInHandler: true })
    const answer = doomed.deliver(event)
    await doomed.written(event.id)
    const waiting = survivor.deliver('/corvel', event)
    await untilClaimsWait(database, 1)
    await kill(doomed, answer)

    const { status, body } = await waiting
    expect([status, body.outcome]).toEqual([200, 'processed'])
    expect(await recordsOf(database, event.id)).toEqual(ONCE)
  })

  it('after COMMIT but before its answer, the next delivery is a duplicate', async () => {
    const event = { id: 'evt_unanswered' }
    const commit = await holdCommitOf(database, event.id)
    try {
      const doomed = await start()
      const answer = doomed.deliver(event)
      await commit.reached()
      await kill(doomed, answer)
      await commit.release()

      const { status, body } = await survivor.deliver('/corvel', event)
      expect([status, body.outcome]).toEqual([200, 'duplicate'])
      expect(await recordsOf(database, event.id)).toEqual(ONCE)
    } finally {
      await commit.release()
    }
  })
})
