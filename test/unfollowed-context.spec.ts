import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Provider, Type } from '@nestjs/common'
import { Controller, Inject, Injectable, Post, Scope, UseGuards } from '@nestjs/common'
import { IdempotentWebhook, joinWebhookTransaction, WebhookContext, WebhookIdempotencyService } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'

/** What all copies of the library in this process share. */
const shared = () => (globalThis as any)[Symbol.for('nestjs-webhook-idempotency:active-events')]

let database: TestDatabase
let running: RunningApplication | undefined

beforeAll(async () => {
  database = await createDatabase()
  await openAccount(database)
})
beforeEach(() => {
  shared().areFollowed = false
})
afterEach(async () => {
  await running?.close()
  running = undefined
})
afterAll(() => database.drop())

const start = (controller: Type, providers: Provider[] = []) =>
  startApplication({ controllers: [controller], providers, options: { prisma: database.prisma() } })

describe('in an application that injects the service nowhere', () => {
  it('no event is followed, and handlers have their transaction and their context', async () => {
    running = await start(
      corvelController(async (tx, event, context) => {
        expect(context.tx).toBe(tx)
        expect(context.event.id).toBe(event.id)
        await credit(tx, event)
      }),
    )
    expect(await running.deliver(CORVEL, { id: 'unfollowed' })).toMatchObject({ status: 200 })
    expect(await recordsOf(database, 'unfollowed')).toEqual(ONCE)
    expect(shared()).toMatchObject({ areFollowed: false, unfollowed: 0 })
  })

  it('the context that a service finds by itself is refused once, so that nothing is written outside', async () => {
    running = await start(
      corvelController(async (_, event) => {
        const { context } = running!.app.get(WebhookIdempotencyService)
        await credit(context?.tx ?? database.prisma(), event)
      }),
    )
    const refused = await running.deliver(CORVEL, { id: 'found' })
    expect(refused).toMatchObject({ status: 503, body: { error: 'UNKNOWN_CONTEXT' } })
    expect(refused.body.message).toContain('inject the service instead of taking it from ModuleRef.get()')
    expect(await recordsOf(database, 'found')).toEqual(NEVER)
    expect(await running.deliver(CORVEL, { id: 'found' })).toMatchObject({ status: 200 })
    expect(await recordsOf(database, 'found')).toEqual(ONCE)
  })

  it('the context is undefined, not refused, where no event is in progress', async () => {
    running = await start(corvelController(() => {}))
    expect(running.app.get(WebhookIdempotencyService).context).toBeUndefined()
  })

  it('an event of process() is followed from the first one on', async () => {
    running = await start(corvelController(() => {}))
    const webhooks = running.app.get(WebhookIdempotencyService)
    const outcome = await webhooks.process({ source: 'jobs', id: 'first' }, async (_, context) => {
      expect(webhooks.context).toBe(context)
    })
    expect(outcome.outcome).toBe('processed')
  })
})

describe('events are followed from the start where the service is injected', () => {
  @Injectable()
  class ByConstructor {
    constructor(readonly webhooks: WebhookIdempotencyService) {}
  }
  @Injectable()
  class ByProperty {
    @Inject(WebhookIdempotencyService) readonly webhooks!: WebhookIdempotencyService
  }
  const byFactory = {
    provide: 'factory',
    inject: [WebhookIdempotencyService],
    useFactory: (service: unknown) => service,
  }
  const byAlias = { provide: 'alias', useExisting: WebhookIdempotencyService }

  it.each<[string, Provider[]]>([
    ['a constructor', [ByConstructor]],
    ['a property', [ByProperty]],
    ['a factory', [byFactory]],
    ['another name', [byAlias]],
    ['a provider of a request', [{ provide: 'scoped', scope: Scope.REQUEST, useClass: ByConstructor }]],
  ])('into %s', async (_, providers) => {
    running = await start(
      corvelController((_tx, event, context) => {
        expect(running!.app.get(WebhookIdempotencyService).context).toBe(context)
        return { seen: event.id }
      }),
      providers,
    )
    expect(await running.deliver(CORVEL, { id: `by ${_}` })).toMatchObject({ status: 200, body: { seen: `by ${_}` } })
  })

  it('into a guard', async () => {
    @Injectable()
    class Guard {
      constructor(readonly webhooks: WebhookIdempotencyService) {}
      canActivate() {
        return true
      }
    }
    @Controller()
    class Guarded {
      @Post('guarded')
      @UseGuards(Guard)
      @IdempotentWebhook({ source: 'guarded' })
      handle(@WebhookContext() context: WebhookContext) {
        expect(running!.app.get(WebhookIdempotencyService).context).toBe(context)
      }
    }
    running = await start(Guarded)
    expect(await running.deliver('/guarded', { id: 'guarded' })).toMatchObject({ status: 200 })
  })

  it('or a TransactionHost joins them', () => {
    joinWebhookTransaction({ connectionToken: 'x', optionsFactory: () => ({}) as any })
    expect(shared().areFollowed).toBe(true)
  })
})
