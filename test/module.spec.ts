import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { DynamicModule } from '@nestjs/common'
import { Controller, Global, Injectable, Module, Post } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import type { PrismaClient } from '../prisma/generated/client.js'
import type { WebhookIdempotencyOptions } from '../src/index.js'
import {
  ConfigurationError,
  IdempotentWebhook,
  MissingTableError,
  WebhookIdempotencyModule,
  WebhookIdempotencyService,
} from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { deliver, RecordedLog, startApplication } from './support/application.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'

@Controller()
class Corvel {
  @Post('corvel')
  @IdempotentWebhook({ source: 'corvel' })
  invoicePaid() {}
}

abstract class Database {}
class Settings {
  readonly waitTimeout = 1234
}

let database: TestDatabase
let prisma: PrismaClient

beforeAll(async () => {
  database = await createDatabase()
  prisma = database.prisma()
})

afterAll(async () => {
  await database.drop()
})

describe('the module', () => {
  let running: { close(): Promise<void> } | undefined

  afterEach(async () => {
    await running?.close()
    running = undefined
  })

  /** An application whose modules are given as they are. */
  async function startWith(...imports: (DynamicModule | (new () => object))[]) {
    const testing = await Test.createTestingModule({ imports, controllers: [Corvel] })
      .setLogger(new RecordedLog())
      .compile()
    const app = testing.createNestApplication({ forceCloseConnections: true })
    running = app
    await app.listen(0, '127.0.0.1')
    return app
  }

  async function expectToProcess(app: Awaited<ReturnType<typeof startWith>>, id: string) {
    const url = `${await app.getUrl()}/corvel`
    const outcomes = [await deliver(url, { id }), await deliver(url, { id })].map(({ body }) => body.outcome)
    expect(outcomes).toEqual(['processed', 'duplicate'])
  }

  it('takes a Prisma client', async () => {
    await expectToProcess(await startWith(WebhookIdempotencyModule.forRoot({ prisma })), 'evt_instance')
  })

  it('takes the injection token of a client that any module provides, exported or not', async () => {
    @Module({ providers: [{ provide: Database, useFactory: () => prisma }] })
    class DatabaseModule {}
    const app = await startWith(WebhookIdempotencyModule.forRoot({ prisma: Database }), DatabaseModule)
    await expectToProcess(app, 'evt_token')
  })

  it.each([
    ['a string', 'PRISMA'],
    ['a symbol', Symbol('prisma')],
  ])('takes %s for a token', async (_, token) => {
    @Module({ providers: [{ provide: token, useValue: prisma }] })
    class DatabaseModule {}
    const app = await startWith(DatabaseModule, WebhookIdempotencyModule.forRoot({ prisma: token }))
    await expectToProcess(app, `evt_${String(token)}`)
  })

  it('takes its options from a factory with what that asks for', async () => {
    @Global()
    @Module({ providers: [Settings, { provide: Database, useValue: prisma }], exports: [Settings, Database] })
    class CommonModule {}
    const asked: unknown[] = []
    const app = await startWith(
      WebhookIdempotencyModule.forRootAsync({
        imports: [CommonModule],
        inject: [Settings, Database],
        useFactory: async (...given: [Settings, PrismaClient]): Promise<WebhookIdempotencyOptions> => {
          asked.push(...given)
          return { prisma: given[1], waitTimeout: given[0].waitTimeout }
        },
      }),
    )
    expect(asked).toEqual([expect.any(Settings), prisma])
    await expectToProcess(app, 'evt_async')
  })

  it('gives its service to every module, unless isGlobal is false', async () => {
    @Injectable()
    class RetryJob {
      constructor(readonly webhooks: WebhookIdempotencyService) {}
    }
    @Module({ providers: [RetryJob] })
    class JobsModule {}
    const app = await startWith(JobsModule, WebhookIdempotencyModule.forRoot({ prisma }))
    expect(app.get(RetryJob, { strict: false }).webhooks).toBe(app.get(WebhookIdempotencyService))

    const local = Test.createTestingModule({
      imports: [JobsModule, WebhookIdempotencyModule.forRoot({ prisma, isGlobal: false })],
    })
    await expect(local.compile()).rejects.toThrow(/can't resolve dependencies of the RetryJob/i)
  })

  it('works in the module that imports it when isGlobal is false', async () => {
    const app = await startWith(WebhookIdempotencyModule.forRoot({ prisma, isGlobal: false }))
    await expectToProcess(app, 'evt_local')
    await app.close()
    const async = WebhookIdempotencyModule.forRootAsync({ isGlobal: false, useFactory: () => ({ prisma }) })
    await expectToProcess(await startWith(async), 'evt_local_async')
  })
})

describe('an application does not start, and is told why,', () => {
  const start = (options: object) => startApplication({ controllers: [Corvel], options: { prisma, ...options } })

  async function expectRefusal(options: object, error: new (...args: any[]) => Error, ...sentences: string[]) {
    const refusal = await start(options).then(
      ({ close }) => close(),
      (thrown: unknown) => thrown,
    )
    expect(refusal).toBeInstanceOf(error)
    for (const sentence of sentences) expect((refusal as Error).message).toContain(sentence)
  }

  it.each([
    ['a class', Database, 'Database'],
    ['a string', 'PRISMA', 'PRISMA'],
    ['a symbol', Symbol('prisma'), 'Symbol(prisma)'],
  ])('when prisma is the token of nothing: %s', async (_, token, named) => {
    await expectRefusal(
      { prisma: token },
      ConfigurationError,
      `The option prisma names the provider ${named}, which no module of the application has.`,
      'Add it to the providers of a module, or give the client itself.',
    )
  })

  it('when prisma is missing', async () => {
    const sentence = 'The option prisma is missing. Give WebhookIdempotencyModule.forRoot() a Prisma client'
    await expectRefusal({ prisma: undefined }, ConfigurationError, sentence)
    const factory = WebhookIdempotencyModule.forRootAsync({ useFactory: () => undefined! })
    await expect(Test.createTestingModule({ imports: [factory] }).compile()).rejects.toThrow(sentence)
  })

  it('when prisma is no Prisma client', async () => {
    const sentence = 'The option prisma is not a Prisma client with interactive transactions'
    await expectRefusal({ prisma: { $transaction: 'soon' } }, ConfigurationError, sentence)
  })

  it('when the client does not say which database it uses, or one that is not supported', async () => {
    const client = (provider?: string) =>
      new Proxy(prisma, {
        get: (target, key) => (key === '_activeProvider' ? provider : Reflect.get(target, key, target)),
      })
    await expectRefusal({ prisma: client('mongodb') }, ConfigurationError, 'The database is mongodb; supported are ')
    await expectRefusal({ prisma: client('toString') }, ConfigurationError, 'The database is toString; supported are ')
    await expectRefusal({ prisma: client() }, ConfigurationError, 'does not say which database', 'the option provider')
    const told = await start({ prisma: client(), provider: 'postgresql' })
    await told.close()
  })

  const NUMBER = 'Give a number above 0 and up to 2147483647.'
  it.each([
    ['waitTimeout', { waitTimeout: 0 }, '0', NUMBER],
    ['waitTimeout', { waitTimeout: Number.NaN }, 'NaN', NUMBER],
    ['waitTimeout', { waitTimeout: '5000' }, '5000', NUMBER],
    // A longer timer fires at once: https://nodejs.org/api/timers.html#settimeoutcallback-delay-args
    ['waitTimeout', { waitTimeout: 2 ** 31 }, '2147483648', NUMBER],
    ['waitTimeout', { waitTimeout: Infinity }, 'Infinity', NUMBER],
    ['transaction.timeout', { transaction: { timeout: -1 } }, '-1', NUMBER],
    ['transaction.maxWait', { transaction: { maxWait: 0 } }, '0', NUMBER],
    ['claimRetries', { claimRetries: -1 }, '-1', 'Give a whole number of 0 or more.'],
    ['claimRetries', { claimRetries: 1.5 }, '1.5', 'Give a whole number of 0 or more.'],
    ['handlerRetries', { handlerRetries: Infinity }, 'Infinity', 'Give a whole number of 0 or more.'],
    ['maxEvents', { maxEvents: 0 }, '0', 'Give a whole number of 1 or more.'],
    ['retention.days', { retention: { days: 0 } }, '0', 'Give a number above 0 and up to 36500.'],
    ['retention.everyMinutes', { retention: { everyMinutes: 20_000 } }, '20000', 'up to 17895.'],
    ['retention.batchSize', { retention: { batchSize: 0.5 } }, '0.5', 'Give a whole number of 1 or more.'],
  ])('when %s has a value that cannot be meant: %j', async (option, options, value, fix) => {
    await expectRefusal(options, ConfigurationError, `The option ${option} is ${value}.`, fix)
  })

  const HOW_TO_ADD_THE_MODEL = [
    'Copy the model from node_modules/nestjs-webhook-idempotency/prisma/models/ into your Prisma schema',
    'npx prisma migrate dev',
    'npx prisma migrate deploy',
    'npx prisma generate',
  ]

  it('when the client has no such model', async () => {
    const found = 'The Prisma client has no model "webhookEvent"'
    await expectRefusal({ model: 'webhookEvent' }, MissingTableError, found, ...HOW_TO_ADD_THE_MODEL)
  })

  it('when a model has another shape', async () => {
    await expect(start({ model: 'account' }).then(({ close }) => close())).rejects.toThrow(/source/)
  })

  describe('and so when the table is not in the database', () => {
    const found = 'The table of the model "processedEvent" is not in the database'

    beforeAll(() => database.query('ALTER TABLE processed_events RENAME TO not_migrated'))
    afterAll(() => database.query('ALTER TABLE not_migrated RENAME TO processed_events'))

    it('at once', async () => {
      await expectRefusal({}, MissingTableError, found, ...HOW_TO_ADD_THE_MODEL)
    })

    it('at the first delivery, with the probe turned off', async () => {
      const application: RunningApplication = await start({ probe: false })
      try {
        expect((await application.deliver('/corvel', { id: 'evt_1' })).status).toBe(500)
        const logged = application.log.at('error').join('\n')
        for (const sentence of [found, ...HOW_TO_ADD_THE_MODEL]) expect(logged).toContain(sentence)
        const processed = application.app
          .get(WebhookIdempotencyService)
          .process({ source: 'jobs', id: 'job_1' }, async () => {})
        await expect(processed).rejects.toThrow(MissingTableError)
      } finally {
        await application.close()
      }
    })
  })
})

describe('the probe at start-up', () => {
  const start = (options: object = {}) =>
    startApplication({ controllers: [Corvel], options: { prisma: database.prisma(), ...options } })

  it('leaves nothing in the table', async () => {
    await database.query('TRUNCATE processed_events')
    const application = await start()
    await application.close()
    expect(await database.query('SELECT * FROM processed_events')).toEqual([])
  })

  it.each([
    ['a unique key on a column of its own', 'CREATE UNIQUE INDEX extra ON processed_events (event_type)'],
    ['a unique key on the time', 'CREATE UNIQUE INDEX extra ON processed_events (received_at)'],
    ['a unique key that ignores case', 'CREATE UNIQUE INDEX extra ON processed_events (source, lower(event_id))'],
    ['a unique key over the ID alone', 'CREATE UNIQUE INDEX extra ON processed_events (event_id)'],
    ['a unique key that cuts IDs', 'CREATE UNIQUE INDEX extra ON processed_events (source, left(event_id, 191))'],
  ])('refuses a table that has %s, with what to do', async (_, index) => {
    await database.query(index)
    try {
      const refused = start().then(({ close }) => close())
      await expect(refused).rejects.toThrow(ConfigurationError)
      await expect(refused).rejects.toThrow(/"processedEvent" would lose events: .* mend it with a migration/)
    } finally {
      await database.query('DROP INDEX extra')
    }
  })

  it('refuses a table without its unique key, which could claim an event twice', async () => {
    await database.query('ALTER TABLE processed_events DROP CONSTRAINT processed_events_pkey')
    try {
      const refused = start().then(({ close }) => close())
      await expect(refused).rejects.toThrow(/"processedEvent" would process events twice: .* mend it with a migration/)
    } finally {
      await database.query('ALTER TABLE processed_events ADD PRIMARY KEY (source, event_id)')
    }
  })
})
