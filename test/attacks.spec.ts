// What a review that set out to lose events found; each lost, doubled or wrongly answered one.
import { Body, Controller, HttpException, Post } from '@nestjs/common'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { PrismaClient } from '../prisma/generated/client.js'
import type { WebhookIdempotencyOptions } from '../src/index.js'
import { ConfigurationError, IdempotentWebhook, WebhookContext, WebhookIdempotencyService } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { Handler } from './support/corvel.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import type { Tx } from './support/ledger.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'

let database: TestDatabase
let running: RunningApplication[] = []

beforeAll(async () => {
  database = await createDatabase()
  await openAccount(database)
})
afterAll(async () => {
  for (const application of running) await application.close()
  await database.drop()
})

async function start(controllers: any[], options: Partial<WebhookIdempotencyOptions> = {}) {
  const application = await startApplication({ controllers, options: { prisma: database.prisma(), ...options } })
  running = [...running, application]
  return application
}
const handle = (handler: Handler, options: Partial<WebhookIdempotencyOptions> = {}) =>
  start([corvelController(handler)], options)

const openAcmeAgain = (tx: Tx) => tx.account.create({ data: { id: 'acme' } })

describe('a handler', () => {
  it('that writes beside a nested transaction which is rolled back does not lose that write', async () => {
    const { deliver } = await handle(async (tx, event) => {
      await Promise.all([tx.$transaction((nested) => openAcmeAgain(nested as Tx)).catch(() => {}), credit(tx, event)])
    })
    expect(await deliver(CORVEL, { id: 'beside' })).toMatchObject({ status: 500 })
    expect(await recordsOf(database, 'beside')).toEqual(NEVER)
  })

  it('that writes before and after a nested transaction which is rolled back is processed', async () => {
    const { deliver } = await handle(async (tx, event) => {
      await credit(tx, event)
      await tx.$transaction((nested) => openAcmeAgain(nested as Tx)).catch(() => {})
      await tx.account.update({ where: { id: 'acme' }, data: { credits: 1 } })
    })
    expect(await deliver(CORVEL, { id: 'around' })).toMatchObject({ status: 200 })
    expect(await recordsOf(database, 'around')).toEqual(ONCE)
  })

  it('whose client swallows errors in a query extension is not taken for processed', async () => {
    const prisma = database.prisma().$extends({
      query: {
        account: {
          create: ({ args, query }) => query(args).catch(() => null as never),
        },
      },
    })
    const { deliver } = await handle(
      async (tx, event) => {
        await credit(tx, event)
        await openAcmeAgain(tx)
      },
      { prisma: prisma as unknown as PrismaClient },
    )
    expect(await deliver(CORVEL, { id: 'swallowed' })).toMatchObject({ status: 500 })
    expect(await recordsOf(database, 'swallowed')).toEqual(NEVER)
  })

  it('that throws an exception of a 2xx status does not end the deliveries of what was rolled back', async () => {
    const { deliver } = await handle(async (tx, event) => {
      await credit(tx, event)
      throw new HttpException('accepted', 202)
    })
    expect(await deliver(CORVEL, { id: 'thrown' })).toMatchObject({ status: 500 })
    expect(await recordsOf(database, 'thrown')).toEqual(NEVER)
  })
})

describe('start-up refuses', () => {
  const refusalOf = (controllers: any[], options: Partial<WebhookIdempotencyOptions> = {}) =>
    start(controllers, options).then(
      () => undefined,
      (error: unknown) => error,
    )

  it('a client that commits the statements of a transaction outside of it, and leaves nothing of its look', async () => {
    const base = database.prisma()
    const escaping = base.$extends({
      query: {
        async $allOperations({ args, query }) {
          const [, result] = await base.$transaction([base.$executeRaw`SELECT 1`, query(args) as never])
          return result
        },
      },
    })
    const before = await base.processedEvent.count()
    const refusal = await refusalOf([], { prisma: escaping as unknown as PrismaClient })
    expect(refusal).toBeInstanceOf(ConfigurationError)
    expect(String(refusal)).toContain('commits statements of a transaction outside of it')
    expect(await base.processedEvent.count()).toBe(before)
  })

  it('a method that a decorator above has replaced, since nothing would guard it', async () => {
    const Wrap: MethodDecorator = (_, __, descriptor: PropertyDescriptor) => {
      const method = descriptor.value
      descriptor.value = function (...args: unknown[]) {
        return method.apply(this, args)
      }
    }
    @Controller()
    class WrappedController {
      @Post('wrapped')
      @Wrap
      @IdempotentWebhook({ source: 'wrapped' })
      receive(@Body() body: unknown) {
        return body
      }
    }
    expect(String(await refusalOf([WrappedController]))).toMatch(
      /WrappedController\.receive has @IdempotentWebhook\(\), but was replaced by a decorator above it/,
    )
  })

  it('a method that is bound on the instance', async () => {
    @Controller()
    class BoundController {
      constructor() {
        this.receive = this.receive.bind(this)
      }

      @Post('bound')
      @IdempotentWebhook({ source: 'bound' })
      receive(@Body() body: unknown) {
        return body
      }
    }
    expect(String(await refusalOf([BoundController]))).toMatch(/BoundController\.receive .* replaced on the instance/)
  })

  it('a client of its own for sources that are named by a function', async () => {
    const prisma = database.prisma()
    const refusal = await refusalOf([corvelController(() => {}, { source: () => 'tenant', prisma })])
    expect(String(refusal)).toMatch(/CorvelController\.invoicePaid has both a source that is a function and a client/)
  })
})

describe('a source', () => {
  it('that is named by a function cannot take the name of another handler’s', async () => {
    @Controller()
    class TenantController {
      @Post('tenant')
      @IdempotentWebhook({ source: ({ headers }) => headers.get('x-tenant') ?? '' })
      receive() {}
    }
    const { deliver } = await start([TenantController, corvelController((tx, event) => credit(tx, event))])
    expect(await deliver('/tenant', { id: 'taken' }, { 'x-tenant': 'corvel' })).toMatchObject({ status: 400 })
    expect(await deliver('/tenant', { id: 'taken' }, { 'x-tenant': 'acme' })).toMatchObject({ status: 200 })
    expect(await deliver(CORVEL, { id: 'taken' })).toMatchObject({ body: { outcome: 'processed' } })
    expect(await recordsOf(database, 'taken')).toEqual(ONCE)
  })

  it('of batches keeps all of its events when the decorator says the type', async () => {
    @Controller()
    class BatchController {
      @Post('typed')
      @IdempotentWebhook({ source: 'typed', type: () => 'told' })
      receive(@WebhookContext() { events }: WebhookContext) {
        return events.map(({ id, type }) => `${id} ${type}`)
      }
    }
    const sources = { typed: { identify: ({ body }: { body: any }) => body } }
    const { deliver } = await start([BatchController], { sources })
    expect(await deliver('/typed', [{ id: 'a' }, { id: 'b' }])).toMatchObject({ body: ['a told', 'b told'] })
    expect(await deliver('/typed', [{ id: 'a' }, { id: 'c' }])).toMatchObject({ body: ['c told'] })
    expect(await deliver('/typed', [])).toMatchObject({ status: 200 })
  })

  it('whose verify answers false, or whose handshake is a promise, is taken at its word', async () => {
    const forged = await handle(() => {}, {
      sources: { corvel: { verify: (() => false) as never, identify: ({ body }) => body } },
    })
    expect(await forged.deliver(CORVEL, { id: 'false' })).toMatchObject({ status: 401 })
    const slow = await handle((tx, event) => credit(tx, event), {
      sources: { corvel: { handshake: (async () => undefined) as never, identify: ({ body }) => body } },
    })
    expect(await slow.deliver(CORVEL, { id: 'promise' })).toMatchObject({ body: { outcome: 'processed' } })
    expect(await recordsOf(database, 'promise')).toEqual(ONCE)
  })
})

describe('prune()', () => {
  it.each([
    ['no time', { olderThan: undefined as never }],
    ['an invalid time', { olderThan: new Date(Number.NaN) }],
    ['no batch size', { olderThan: new Date(), batchSize: 0 }],
  ])('refuses %s, and deletes nothing', async (_, options) => {
    const { app } = await handle((tx, event) => credit(tx, event))
    const before = await database.query('SELECT 1 FROM processed_events')
    await expect(app.get(WebhookIdempotencyService).prune(options)).rejects.toThrow(ConfigurationError)
    expect(await database.query('SELECT 1 FROM processed_events')).toEqual(before)
  })
})
