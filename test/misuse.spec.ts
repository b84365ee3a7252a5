import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { APP_INTERCEPTOR } from '@nestjs/core'
import {
  Body,
  Controller,
  Get,
  Injectable,
  Next,
  Post,
  Res,
  Sse,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common'
import type { Type } from '@nestjs/common'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { Response } from 'express'
import { EMPTY } from 'rxjs'
import type { WebhookIdempotencyOptions } from '../src/index.js'
import type * as library from '../src/index.js'
import {
  ConfigurationError,
  IdempotentWebhook,
  IdempotentWebhookInterceptor,
  MissingTableError,
  WebhookTransaction,
} from '../src/index.js'
import type { ApplicationOptions, RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import type { Tx } from './support/ledger.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'
import { countTransactions } from './support/transactions.js'

let database: TestDatabase
const started: RunningApplication[] = []

beforeAll(async () => {
  database = await createDatabase()
  await openAccount(database)
})
afterEach(async () => {
  await Promise.all(started.splice(0).map((running) => running.close()))
})
afterAll(() => database.drop())

async function start({
  options,
  ...application
}: Omit<ApplicationOptions, 'options'> & { options?: Partial<WebhookIdempotencyOptions> }) {
  const running = await startApplication({
    ...application,
    options: { prisma: database.prisma({ max: 3 }), probe: false, ...options },
  })
  started.push(running)
  return running
}

/** What an application that must not start is refused with. */
async function refusalOf(application: Parameters<typeof start>[0]): Promise<Error> {
  return start(application).then(
    () => Promise.reject(new Error('It started')),
    (error: Error) => error,
  )
}

describe('start-up refuses', () => {
  const deliveries: [string, RegExp, () => Type][] = [
    [
      // nestjs/nest#9089, #174, #2401: answered before COMMIT, or for a duplicate never.
      '@Res() without passthrough',
      /CorvelController\.invoicePaid takes @Res\(\) without passthrough.*Write @Res\(\{ passthrough: true \}\)/,
      () => {
        class CorvelController {
          @Post()
          @IdempotentWebhook()
          invoicePaid(@Body() _event: unknown, @Res() response: Response) {
            response.json({})
          }
        }
        return CorvelController
      },
    ],
    [
      '@Next()',
      /CorvelController\.invoicePaid takes @Next\(\).*Return the body instead/,
      () => {
        class CorvelController {
          @Post()
          @IdempotentWebhook()
          invoicePaid(@Next() next: () => void) {
            next()
          }
        }
        return CorvelController
      },
    ],
    [
      'server-sent events',
      /CorvelController\.invoicePaid is an @Sse\(\) stream.*Use @Post\(\) and return a plain body/,
      () => {
        class CorvelController {
          @Sse()
          @IdempotentWebhook()
          invoicePaid() {
            return EMPTY
          }
        }
        return CorvelController
      },
    ],
    [
      'a StreamableFile for an answer',
      /CorvelController\.invoicePaid returns a StreamableFile.*Return a plain body/,
      () => {
        class CorvelController {
          @Post()
          @IdempotentWebhook()
          invoicePaid(): StreamableFile {
            return new StreamableFile(Buffer.from(''))
          }
        }
        return CorvelController
      },
    ],
    [
      'a name that no source of the module has',
      /@IdempotentWebhook\('corvel'\) on CorvelController\.invoicePaid names a source.*it has stripe\. Add it to the option sources/,
      () => {
        class CorvelController {
          @Post()
          @IdempotentWebhook('corvel')
          invoicePaid() {}
        }
        return CorvelController
      },
    ],
    [
      'two handlers of one source',
      /CorvelController\.invoicePaid and CorvelController\.invoiceVoided both handle the source "corvel".*Give each its own/,
      () => {
        class CorvelController {
          @Post('paid')
          @IdempotentWebhook({ source: 'corvel' })
          invoicePaid() {}

          @Post('voided')
          @IdempotentWebhook({ source: 'corvel' })
          invoiceVoided() {}
        }
        return CorvelController
      },
    ],
    [
      'a method that receives nothing',
      /CorvelController\.invoicePaid has @IdempotentWebhook\(\), but receives nothing.*Add @Post\(\)/,
      () => {
        class CorvelController {
          @Get()
          nothing() {}

          @IdempotentWebhook()
          invoicePaid() {}
        }
        return CorvelController
      },
    ],
  ]
  it.each(deliveries)('%s, naming the method and the remedy', async (_, message, controller) => {
    const decorated = controller()
    Controller('corvel')(decorated)
    const sources = { stripe: { identify: () => ({ id: '1' }) } }
    const refusal = await refusalOf({ controllers: [decorated], options: { sources } })
    expect(refusal).toBeInstanceOf(ConfigurationError)
    expect(refusal.message).toMatch(message)
  })

  it('decorated methods of providers, such as resolvers, naming the method and the remedy', async () => {
    @Injectable()
    class InvoiceResolver {
      @IdempotentWebhook()
      invoicePaid() {}
    }
    const refusal = await refusalOf({ providers: [InvoiceResolver] })
    expect(refusal.message).toMatch(
      /InvoiceResolver\.invoicePaid .*not a controller.*WebhookIdempotencyService\.process\(\)/,
    )
  })

  it.each<[string, RegExp, () => Partial<WebhookIdempotencyOptions>]>([
    ['no client', /The option prisma is missing.*\{ prisma: PrismaService \}/, () => ({ prisma: undefined })],
    ['an object that is no client', /has no \$transaction\(\).*Prisma 6\.16/, () => ({ prisma: {} as never })],
    [
      'a token that nobody provides',
      /provider PrismaService, which no module.*Add it to/,
      () => ({ prisma: class PrismaService {} as never }),
    ],
    ['a model that the client does not have', /no model "claims".*Copy the model/, () => ({ model: 'claims' })],
    [
      'a database that is not supported',
      /sqlserver; supported are .*Use one of them/,
      () => ({ prisma: clientOf('sqlserver') }),
    ],
    [
      'a client that does not say its database',
      /does not say which database.*option provider/,
      () => ({ prisma: clientOf(undefined) }),
    ],
    ['times that are none', /transaction\.timeout is -1.*above 0/, () => ({ transaction: { timeout: -1 } })],
    ['counts that are none', /claimRetries is 1\.5.*whole number/, () => ({ claimRetries: 1.5 })],
  ])('%s, naming the option and the remedy', async (_, message, options) => {
    const refusal = await refusalOf({ options: options() })
    expect(refusal.message).toMatch(message)
  })

  function clientOf(provider: string | undefined): WebhookIdempotencyOptions['prisma'] {
    const model = { createMany() {}, create() {} }
    return { _activeProvider: provider, $transaction: () => {}, processedEvent: model } as never
  }
})

describe('@Res({ passthrough: true })', () => {
  async function startWith(use: (response: Response) => void) {
    @Controller('webhooks')
    class CorvelController {
      @Post('corvel')
      @IdempotentWebhook({ source: 'corvel' })
      async invoicePaid(
        @Body() event: { id: string },
        @WebhookTransaction() tx: Tx,
        @Res({ passthrough: true }) response: Response,
      ) {
        await credit(tx, event)
        use(response)
      }
    }
    return start({ controllers: [CorvelController] })
  }

  it('is allowed, and duplicates are answered', async () => {
    const { deliver } = await startWith((response) => response.header('x-seen', 'yes'))
    const first = await deliver(CORVEL, { id: 'passed through' })
    expect(first).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    expect(first.headers.get('x-seen')).toBe('yes')
    expect(await deliver(CORVEL, { id: 'passed through' })).toMatchObject({
      status: 200,
      body: { outcome: 'duplicate' },
    })
    expect(await recordsOf(database, 'passed through')).toEqual(ONCE)
  })

  it.each([
    ['then ends', ONCE, () => {}],
    [
      'then fails',
      NEVER,
      () => {
        throw new Error('too late')
      },
    ],
  ])('is an error in the log when the handler answers by it and %s', async (ending, records, end) => {
    const id = `early and ${ending}`
    const { deliver, log } = await startWith((response) => {
      response.status(202).send({ early: true })
      end()
    })
    expect(await deliver(CORVEL, { id })).toMatchObject({ status: 202, body: { early: true } })
    expect(log.at('error').join()).toMatch(/CorvelController\.invoicePaid sent its answer before COMMIT/)
    expect(await recordsOf(database, id)).toEqual(records)
  })
})

it('rolls a handler back that answers with a stream, which would start before COMMIT', async () => {
  const { deliver, log } = await start({
    controllers: [
      corvelController(async (tx, event) => {
        await credit(tx, event)
        return new StreamableFile(Buffer.from('streamed'))
      }),
    ],
  })
  expect(await deliver(CORVEL, { id: 'streamed' })).toMatchObject({ status: 500 })
  expect(log.at('error').join()).toMatch(/CorvelController\.invoicePaid answered by a stream.*Return a plain value/)
  expect(await recordsOf(database, 'streamed')).toEqual(NEVER)
})

// nestjs/nest#1004, #1016, nestjs/axios#623: the inner one would wait for the claim of the outer one until the deadline.
describe('an interceptor that is bound twice', () => {
  const runs: string[] = []

  function controllerWith(...decorators: ClassDecorator[]): Type {
    return Reflect.decorate(
      decorators,
      corvelController(async (tx, event) => {
        runs.push(event.id)
        await credit(tx, event)
      }),
    ) as Type
  }

  it.each<[string, (copy: typeof library) => Pick<ApplicationOptions, 'controllers' | 'imports' | 'providers'>]>([
    [
      'to the class and to the method',
      () => ({ controllers: [controllerWith(UseInterceptors(IdempotentWebhookInterceptor))] }),
    ],
    [
      'to the application and to the method',
      () => ({
        controllers: [controllerWith()],
        providers: [{ provide: APP_INTERCEPTOR, useClass: IdempotentWebhookInterceptor }],
      }),
    ],
    [
      'by two copies of the library',
      (copy) => ({ controllers: [controllerWith(UseInterceptors(copy.IdempotentWebhookInterceptor))] }),
    ],
    [
      'by two copies of the library with a module each',
      (copy) => ({
        controllers: [controllerWith(UseInterceptors(copy.IdempotentWebhookInterceptor))],
        imports: [copy.WebhookIdempotencyModule.forRoot({ prisma: database.prisma(), probe: false })],
      }),
    ],
  ])('%s claims and calls the handler once, and at once', async (how, application) => {
    const transactions = countTransactions(database.prisma({ max: 2 }))
    const { deliver } = await start({ ...application(await secondCopy()), options: { prisma: transactions.client } })
    await deliver(CORVEL, { id: `${how}, warm-up` })
    transactions.count = 0
    const began = performance.now()
    expect(await deliver(CORVEL, { id: how })).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    expect(performance.now() - began).toBeLessThan(1_000)
    expect(transactions.count).toBe(1)
    expect(runs.filter((id) => id === how)).toHaveLength(1)
    expect(await recordsOf(database, how)).toEqual(ONCE)
    expect(await deliver(CORVEL, { id: how })).toMatchObject({ status: 200, body: { outcome: 'duplicate' } })
  })

  /** Modules of their own for the same source, as when an application and one of its packages install the library each. */
  async function secondCopy(): Promise<typeof library> {
    await mkdir('build', { recursive: true })
    const copy = await mkdtemp(join(process.cwd(), 'build', 'copy-'))
    copies.push(copy)
    await cp('src', copy, { recursive: true })
    return import(join(copy, 'index.ts'))
  }
  const copies: string[] = []
  afterAll(() => Promise.all(copies.map((copy) => rm(copy, { recursive: true }))))
})

describe('the probe of the table at start-up', () => {
  let broken: TestDatabase

  async function startWith(
    statements: string[],
    options: Partial<WebhookIdempotencyOptions> = {},
  ): Promise<RunningApplication> {
    broken = await createDatabase()
    for (const statement of statements) await broken.query(statement)
    return start({ options: { prisma: broken.prisma({ max: 2 }), probe: true, ...options } })
  }
  afterEach(() => broken.drop())

  const ICU = `CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level1', deterministic = false)`
  const alter = (column: string, type: string) => `ALTER TABLE processed_events ALTER COLUMN ${column} TYPE ${type}`

  // unkeyed/unkey#4091, apitable/apitable#1450, letsencrypt/boulder#8749
  it.each<[string, RegExp, string[]]>([
    [
      'a second unique key on the ID',
      /lose events: it takes equal IDs of two sources for one/,
      ['CREATE UNIQUE INDEX ON processed_events (event_id)'],
    ],
    ['a second unique key on the type', /lose events/, ['CREATE UNIQUE INDEX ON processed_events (event_type)']],
    ['a second unique key on the time', /lose events/, ['CREATE UNIQUE INDEX ON processed_events (received_at)']],
    [
      'IDs whose case and accents do not count',
      /lose events: it takes the ID ".*EVT" for another one/,
      [ICU, alter('event_id', 'text COLLATE alike')],
    ],
    [
      'a key made of lower case',
      /lose events/,
      [
        'ALTER TABLE processed_events DROP CONSTRAINT processed_events_pkey',
        'CREATE UNIQUE INDEX ON processed_events (source, lower(event_id))',
      ],
    ],
    [
      'no unique key at all',
      /process events twice/,
      ['ALTER TABLE processed_events DROP CONSTRAINT processed_events_pkey'],
    ],
    ['IDs that are too short', /refuse events: .*too long/, [alter('event_id', 'varchar(191)')]],
    [
      'a column that nobody fills',
      /refuse events: .*[Nn]ull constraint/,
      ['ALTER TABLE processed_events ADD COLUMN tenant text NOT NULL'],
    ],
  ])('refuses %s', async (_, message, statements) => {
    const refusal = await startWith(statements).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(refusal).toBeInstanceOf(ConfigurationError)
    expect((refusal as Error).message).toMatch(message)
    expect((refusal as Error).message).toMatch(/The table of the model "processedEvent".*mend it with a migration/)
    expect(await broken.query('SELECT FROM processed_events')).toEqual([])
  })

  it('refuses a missing table', async () => {
    const refusal = await startWith(['DROP TABLE processed_events']).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(refusal).toBeInstanceOf(MissingTableError)
    expect((refusal as Error).message).toMatch(/not in the database.*npx prisma migrate dev/)
  })

  it('leaves no rows behind', async () => {
    await startWith([])
    expect(await broken.query('SELECT FROM processed_events')).toEqual([])
  })

  it('is not run when the application asks for none', async () => {
    const { log } = await startWith(['CREATE UNIQUE INDEX ON processed_events (event_id)'], { probe: false })
    expect(log.at('warn')).toEqual([])
  })

  it('only warns when the database cannot be reached yet, and deliveries are answered with 503 until it can', async () => {
    const url = new URL(database.url)
    url.port = '1'
    broken = await createDatabase()
    const { deliver, log } = await start({
      controllers: [corvelController(() => {})],
      options: { prisma: broken.prisma({ connectionString: url.href }), probe: true },
    })
    expect(log.at('warn')).toEqual([expect.stringMatching(/the table was not checked at start-up/)])
    expect(await deliver(CORVEL, { id: 'nowhere' })).toMatchObject({
      status: 503,
      body: { error: 'TRANSACTION_NOT_STARTED' },
    })
  })

  // Found by test/chaos: a process that starts while the database restarts must not take the table for the reason.
  it('lets an application start whose connection is killed during the probe, and says so', async () => {
    const { log } = await startWith([
      `CREATE FUNCTION kill_session() RETURNS trigger LANGUAGE plpgsql
       AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END'`,
      'CREATE TRIGGER kill_session BEFORE INSERT ON processed_events FOR EACH ROW EXECUTE FUNCTION kill_session()',
    ])
    expect(log.at('warn')).toEqual([expect.stringMatching(/the table was not checked at start-up/)])
  })
})
