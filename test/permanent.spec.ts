import { NotFoundException } from '@nestjs/common'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { IdempotentWebhookOptions, WebhookIdempotencyOptions } from '../src/index.js'
import { PermanentWebhookError, WebhookIdempotencyService } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { Handler } from './support/corvel.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { Latch } from './support/latch.js'
import { credit, NEVER, openAccount, recordsOf, tally } from './support/ledger.js'

const REASON = 'the account was closed'
const CLAIM_ONLY = { claims: 1, credits: 0 }

// torkiv-labs/Nexuq#402, AI-Shipping-Labs/website#285: an event that can never be processed is delivered for ever.
describe('an event that its handler rejects for good', () => {
  let database: TestDatabase
  let running: RunningApplication

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
  })
  afterEach(() => running.close())
  afterAll(() => database.drop())

  async function start(handle: Handler, options: Partial<WebhookIdempotencyOptions & IdempotentWebhookOptions> = {}) {
    const { events, ...module } = options
    running = await startApplication({
      controllers: [corvelController(handle, { events })],
      options: { prisma: database.prisma(), probe: false, ...module },
    })
  }

  const deliver = (id: string) => running.deliver(CORVEL, { id, type: 'invoice.paid' })

  it('is answered with 200 and claimed without its effects, and is a duplicate from then on', async () => {
    const runs: string[] = []
    const hooks: string[] = []
    await start(async (tx, event, { afterCommit }) => {
      runs.push(event.id)
      afterCommit(() => void hooks.push(event.id))
      await credit(tx, event)
      throw new PermanentWebhookError(REASON)
    })
    const answer = await deliver('rejected')
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'rejected' } })
    expect(JSON.stringify(answer.body)).not.toContain(REASON)
    expect(await recordsOf(database, 'rejected')).toEqual(CLAIM_ONLY)
    expect(running.log.at('error')).toEqual([
      expect.stringContaining(`rejected corvel/rejected (invoice.paid): ${REASON}`),
    ])
    expect(await deliver('rejected')).toMatchObject({ status: 200, body: { outcome: 'duplicate' } })
    expect(runs).toEqual(['rejected'])
    expect(hooks).toEqual([])
  })

  it('is a duplicate for deliveries that waited for it', async () => {
    const entered = new Latch()
    const held = new Latch()
    await start(async () => {
      entered.open()
      await held.opened
      throw new PermanentWebhookError(REASON)
    })
    const first = deliver('awaited')
    await entered.opened
    const others = Array.from({ length: 5 }, () => deliver('awaited'))
    held.open()
    const answers = await Promise.all([first, ...others])
    expect(tally(answers.map(({ status, body }) => `${status} ${body.outcome}`))).toEqual({
      '200 rejected': 1,
      '200 duplicate': 5,
    })
  })

  it('is claimed even if the handler took longer than a delivery would wait', async () => {
    await start(
      async (tx) => {
        await tx.$executeRaw`SELECT pg_sleep(0.4)`
        throw new PermanentWebhookError(REASON)
      },
      { waitTimeout: 300 },
    )
    expect(await deliver('slow')).toMatchObject({ status: 200, body: { outcome: 'rejected' } })
    expect(await recordsOf(database, 'slow')).toEqual(CLAIM_ONLY)
  })

  it('is claimed even if the database has given the transaction up', async () => {
    await start((tx) =>
      tx.account.create({ data: { id: 'acme' } }).catch((cause: unknown) => {
        throw new PermanentWebhookError(REASON, { cause })
      }),
    )
    expect(await deliver('given up')).toMatchObject({ status: 200, body: { outcome: 'rejected' } })
    expect(await recordsOf(database, 'given up')).toEqual(CLAIM_ONLY)
  })

  it('takes the other events of its batch with it, as they share a transaction', async () => {
    await start(
      async (tx, _event, { events }) => {
        for (const event of events) await credit(tx, event)
        throw new PermanentWebhookError(REASON)
      },
      { events: ({ body }) => body.ids.map((id: string) => ({ id })) },
    )
    const answer = await running.deliver(CORVEL, { ids: ['batch 1', 'batch 2'] })
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'rejected' } })
    for (const id of ['batch 1', 'batch 2']) expect(await recordsOf(database, id)).toEqual(CLAIM_ONLY)
  })

  it('ends process() with the reason', async () => {
    await start(() => {})
    const outcome = running.app.get(WebhookIdempotencyService).process({ source: 'corvel', id: 'queued' }, async () => {
      throw new PermanentWebhookError(REASON)
    })
    expect(await outcome).toEqual({ outcome: 'rejected', reason: REASON })
  })

  it.each([
    ['an error of the framework', new NotFoundException(), 404],
    ['an error with the same words', Object.assign(new Error(REASON), { code: 'PERMANENT', reason: REASON }), 500],
  ])(
    'is not one whose handler throws %s: that stays as it is, and the event is delivered again',
    async (_, error, status) => {
      let isFailing = true
      const id = `fails with ${status}`
      await start(() => {
        if (isFailing) throw error
      })
      expect((await deliver(id)).status).toBe(status)
      expect(await recordsOf(database, id)).toEqual(NEVER)
      isFailing = false
      expect(await deliver(id)).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    },
  )
})
