import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { IdempotentWebhookOptions, WebhookIdempotencyOptions, WebhookSource } from '../src/index.js'
import { InvalidSignatureError, PermanentWebhookError } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { Handler } from './support/corvel.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { Latch } from './support/latch.js'
import { openAccount } from './support/ledger.js'
import { until } from './support/until.js'

const SECRET = 'card 4242'
const SIGNATURE = 'c0ffee'

describe('the log', () => {
  let database: TestDatabase
  let running: RunningApplication

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
  })
  afterEach(() => running.close())
  afterAll(() => database.drop())

  const corvel: WebhookSource = {
    verify({ headers }) {
      if (headers.get('corvel-signature') !== SIGNATURE) throw new InvalidSignatureError('it is not that of the body')
    },
    identify: ({ body }) => body.batch ?? body,
  }

  async function start(handle: Handler, options: Partial<WebhookIdempotencyOptions & IdempotentWebhookOptions> = {}) {
    running = await startApplication({
      controllers: [corvelController(handle)],
      options: { prisma: database.prisma(), probe: false, sources: { corvel }, ...options },
    })
    // Prisma compiles its first queries for longer than the bounds here are.
    await deliver('warm-up')
    running.log.lines.length = 0
  }

  const deliver = (id: unknown, more: object = {}, signature = SIGNATURE) =>
    running.deliver(CORVEL, { id, type: 'invoice.paid', note: SECRET, ...more }, { 'corvel-signature': signature })

  const lines = () => running.log.lines.map(({ level, message }) => `${level}: ${message}`)

  it('says of every delivery what became of which event, at the level that an operator wants', async () => {
    await start(
      (_tx, { id }, { afterCommit }) => {
        if (id === 'e2') throw new PermanentWebhookError('the account was closed')
        if (id === 'e3') return new Promise(() => {})
        if (id === 'e4') afterCommit(() => Promise.reject(new Error('no mail today')))
      },
      { transaction: { timeout: 500 } },
    )
    const expected: [() => Promise<unknown>, RegExp][] = [
      [() => deliver('e1'), /^verbose: processed corvel\/e1 \(invoice\.paid\)$/],
      [() => deliver('e1'), /^debug: duplicate corvel\/e1 \(invoice\.paid\)$/],
      [() => deliver('e2'), /^error: rejected corvel\/e2 \(invoice\.paid\): the account was closed/],
      [() => deliver('e3'), /^warn: refused a delivery of CorvelController\.invoicePaid: .*did not end within 500 ms/],
      [() => deliver(''), /^warn: refused a delivery of CorvelController\.invoicePaid: The event ID .*empty string/],
      [
        () => deliver('e5', {}, 'forged'),
        /^warn: refused an unverified delivery to CorvelController\.invoicePaid: it is not that of the body$/,
      ],
      [
        () => deliver('', { batch: [{ id: 'b1' }, { id: 'b2' }, { id: 'b3' }] }),
        /^verbose: processed corvel\/b1 \(unknown\) and 2 more$/,
      ],
    ]
    for (const [happening, line] of expected) {
      running.log.lines.length = 0
      await happening()
      expect(lines()).toEqual([expect.stringMatching(line)])
    }
    running.log.lines.length = 0
    await deliver('e4')
    await until('the hook has failed', () => running.log.at('error').length > 0)
    expect(running.log.at('error')).toEqual([
      expect.stringMatching(/^an afterCommit hook of corvel\/e4 \(invoice\.paid\) failed.*no mail today/s),
    ])
  })

  it('warns when a delivery waited in vain', async () => {
    const entered = new Latch()
    const held = new Latch()
    await start(
      async (_tx, { id }) => {
        if (id === 'warm-up') return
        entered.open()
        await held.opened
      },
      { waitTimeout: 400 },
    )
    const first = deliver('awaited')
    await entered.opened
    await deliver('awaited')
    held.open()
    await first
    expect(running.log.at('warn')).toEqual([
      expect.stringMatching(/still in progress in another delivery after 400 ms/),
    ])
  })

  // LanternOps/breeze#1448, ridafkih/keeper.sh#416: network calls within the transaction.
  it('does not blame a handler that ends after its deadline for the answer that was given for it', async () => {
    const [late, ended] = [new Latch(), new Latch()]
    await start(
      async (_tx, { id }) => {
        if (id !== 'late') return
        await late.opened
        setImmediate(ended.open)
      },
      { transaction: { timeout: 300 } },
    )
    expect(await deliver('late')).toMatchObject({ status: 503 })
    late.open()
    await ended.opened
    expect(running.log.at('error')).toEqual([])
  })

  it('warns once of a handler that held its transaction for long, and says for how long', async () => {
    await start(
      async (tx, { id }) => {
        if (id === 'slow') await tx.$executeRaw`SELECT pg_sleep(0.6)`
      },
      { transaction: { timeout: 1_000 } },
    )
    await deliver('quick')
    expect(running.log.at('warn')).toEqual([])
    await deliver('slow')
    await deliver('slow')
    expect(running.log.at('warn')).toEqual([
      expect.stringMatching(
        /^corvel\/slow \(invoice\.paid\) held its transaction for [6-9]\d\d ms of at most 1000 ms$/,
      ),
    ])
  })

  it('never has what an event carries, nor signatures', async () => {
    await start(
      async (tx, event) => {
        if (event.id === 'e2') throw new PermanentWebhookError('no')
        if (event.id === 'e3') await new Promise(() => {})
        if (event.id === 'e4') await tx.account.create({ data: { id: 'acme' } }).catch(() => {})
      },
      { transaction: { timeout: 500 } },
    )
    for (const id of ['e1', 'e1', 'e2', 'e3', 'e4', '', SECRET + '\n', { note: SECRET }]) await deliver(id)
    await deliver('e5', {}, `${SIGNATURE}0`)
    await running.deliver(CORVEL, `{ "note": "${SECRET}"`, { 'corvel-signature': SIGNATURE })
    expect(running.log.lines.length).toBeGreaterThanOrEqual(9)
    expect(lines().join('\n')).not.toContain(SECRET)
    expect(lines().join('\n')).not.toContain(SIGNATURE)
  })
})
