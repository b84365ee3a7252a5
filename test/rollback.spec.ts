import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common'
import { BadRequestException, Body, Controller, HttpException, Post } from '@nestjs/common'
import { IdempotentWebhook, WebhookContext, WebhookIdempotencyService } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import { checkAccountsAtCommit } from './support/commits.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import type { CreditEvent, Tx } from './support/ledger.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'
import { until } from './support/until.js'

/** What the handler does after its write; nothing when undefined. */
let afterwards: ((tx: Tx) => unknown) | undefined
/** The events whose afterCommit hook has run. */
const hooksRun: string[] = []

class HasPositiveAmount implements PipeTransform {
  transform(event: CreditEvent & { amount: number }, { type }: ArgumentMetadata) {
    if (type === 'body' && event.amount <= 0) throw new BadRequestException(['amount must be positive'])
    return event
  }
}

@Controller()
class Corvel {
  @Post('corvel')
  @IdempotentWebhook({ source: 'corvel' })
  async invoicePaid(
    @WebhookContext() { tx, afterCommit }: WebhookContext<Tx>,
    @Body(HasPositiveAmount) event: CreditEvent,
  ) {
    afterCommit(() => hooksRun.push(event.id))
    await credit(tx, event)
    await afterwards?.(tx)
  }
}

describe('an event that could not be processed', () => {
  let database: TestDatabase
  let application: RunningApplication

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
    await checkAccountsAtCommit(database)
    application = await startApplication({
      controllers: [Corvel],
      options: { prisma: database.prisma({ max: 3 }), transaction: { maxWait: 1000 } },
    })
  })

  afterAll(async () => {
    await application?.close()
    await database.drop()
  })

  beforeEach(() => {
    afterwards = undefined
  })

  async function expectToBeProcessedNow(id: string, event: object = {}): Promise<void> {
    expect(await recordsOf(database, id)).toEqual(NEVER)
    afterwards = undefined
    const { status, body } = await application.deliver('/corvel', { id, ...event })
    expect([status, body]).toEqual([200, { outcome: 'processed' }])
    expect(await recordsOf(database, id)).toEqual(ONCE)
    await until('the hook of the committed delivery has run', () => hooksRun.includes(id))
    expect(hooksRun.filter((each) => each === id)).toHaveLength(1)
  }

  it('because the handler threw leaves nothing behind, and is processed when it comes again', async () => {
    afterwards = () => {
      throw new Error('the ledger is closed')
    }
    const { status, body } = await application.deliver('/corvel', { id: 'evt_thrown' })
    expect([status, body]).toEqual([500, { statusCode: 500, message: 'Internal server error' }])
    expect(application.log.at('error').join()).toContain('the ledger is closed')
    await expectToBeProcessedNow('evt_thrown')
  })

  it('because the handler threw an HttpException gets its status and its body', async () => {
    afterwards = () => {
      throw new HttpException({ reason: 'no such plan', plan: 'gold' }, 422)
    }
    const { status, body } = await application.deliver('/corvel', { id: 'evt_422' })
    expect([status, body]).toEqual([422, { reason: 'no such plan', plan: 'gold' }])
    await expectToBeProcessedNow('evt_422')
  })

  it('because what process() was given threw leaves nothing behind, and the error is passed on as it is', async () => {
    const webhooks = application.app.get(WebhookIdempotencyService)
    const error = Object.freeze(new TypeError('the ledger is closed'))
    const processed = webhooks.process({ source: 'corvel', id: 'evt_job' }, async (tx: Tx, { afterCommit }) => {
      afterCommit(() => hooksRun.push('evt_job'))
      await credit(tx, { id: 'evt_job' })
      throw error
    })
    expect(await processed.catch((thrown: unknown) => thrown)).toBe(error)
    await expectToBeProcessedNow('evt_job')
  })

  it('because a statement failed leaves nothing behind', async () => {
    afterwards = (tx) => tx.$queryRaw`SELECT * FROM no_such_table`
    expect((await application.deliver('/corvel', { id: 'evt_statement' })).status).toBe(500)
    await expectToBeProcessedNow('evt_statement')
  })

  it('because a pipe refused it leaves nothing behind, and gets the status of the pipe', async () => {
    const { status, body } = await application.deliver('/corvel', { id: 'evt_pipe', amount: -1 })
    expect([status, body.message]).toEqual([400, ['amount must be positive']])
    await expectToBeProcessedNow('evt_pipe', { amount: 1 })
  })

  it('because COMMIT failed leaves nothing behind, and is not answered with 200', async () => {
    const account = 'opened later'
    expect((await application.deliver('/corvel', { id: 'evt_commit', account })).status).toBe(500)
    await openAccount(database, account)
    await expectToBeProcessedNow('evt_commit', { account })
  })

  // https://github.com/prisma/prisma/issues/28468
  it('because COMMIT failed gives its connection back', async () => {
    for (let failure = 0; failure < 5; failure++) {
      const { status } = await application.deliver('/corvel', { id: `evt_leak_${failure}`, account: 'nobody' })
      expect(status).toBe(500)
    }
    const open = await database.query(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
    )
    expect(open).toEqual([])
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => expectToBeProcessedNow(`evt_after_leak_${id}`)))
  })
})
