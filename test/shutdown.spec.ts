import type { Type } from '@nestjs/common'
import { Global, Injectable, Module } from '@nestjs/common'
import { PrismaPg } from '@prisma/adapter-pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { WebhookIdempotencyOptions } from '../src/index.js'
import { EventsInFlight } from '../src/events-in-flight.service.js'
import { WebhookIdempotencyService } from '../src/index.js'
import { PrismaClient } from '../prisma/generated/client.js'
import type { Answer, ApplicationOptions, RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import { CORVEL, corvelController } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import type { DoomedProcess } from './support/doomed-process.js'
import { startDoomedProcess } from './support/doomed-process.js'
import { Latch } from './support/latch.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'
import { until } from './support/until.js'

// nestjs/nest#7005, nestjs/docs.nestjs.com#2797: the usual recipe disconnects while the server still takes requests.
describe('an application that closes', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
  })
  afterAll(() => database.drop())

  /** The two recipes for a client of Prisma in Nest. */
  function recipe(hook: 'onModuleDestroy' | 'onApplicationShutdown'): Type<PrismaClient> {
    @Injectable()
    class PrismaService extends PrismaClient {
      constructor() {
        super({ adapter: new PrismaPg({ connectionString: database.url }) })
      }
      async [hook]() {
        await this.$disconnect()
      }
    }
    return PrismaService
  }

  type Parts = Pick<ApplicationOptions, 'controllers' | 'imports' | 'providers'>

  /** Nest calls the hooks of the root first, and of the modules farthest from it last. */
  const places: Record<string, (prisma: Type, controller: Type) => Parts> = {
    'the root module': (prisma, controller) => ({ providers: [prisma], controllers: [controller] }),
    'the root module, and the handler below it': (prisma, controller) => {
      @Module({ controllers: [controller] })
      class FeatureModule {}
      return { providers: [prisma], imports: [FeatureModule] }
    },
    'a global module': (prisma, controller) => {
      @Global()
      @Module({ providers: [prisma], exports: [prisma] })
      class PrismaModule {}
      return { imports: [PrismaModule], controllers: [controller] }
    },
    'a module that only the feature imports': (prisma, controller) => {
      @Module({ providers: [prisma], exports: [prisma] })
      class PrismaModule {}
      @Module({ imports: [PrismaModule], controllers: [controller] })
      class FeatureModule {}
      return { imports: [FeatureModule] }
    },
  }

  const start = (options: WebhookIdempotencyOptions, parts: Parts): Promise<RunningApplication> =>
    startApplication({ options: { probe: false, ...options }, ...parts })

  /** A delivery that may meet a closed server. */
  const tryToDeliver = (running: RunningApplication, id: string): Promise<Answer | undefined> =>
    running.deliver(CORVEL, { id }).catch(() => undefined)

  const combinations = Object.keys(places).flatMap((place) =>
    (['onModuleDestroy', 'onApplicationShutdown'] as const).map((hook) => ({ hook, place })),
  )
  it.each(combinations)('ends its events first, with $hook of a client in $place', async ({ hook, place }) => {
    const entered = new Latch()
    const held = new Latch()
    const prisma = recipe(hook)
    const controller = corvelController(async (tx, event) => {
      await credit(tx, event)
      if (event.id.startsWith('warm-up')) return
      entered.open()
      await held.opened
      await tx.account.count()
    })
    const running = await start({ prisma }, places[place]!(prisma, controller))
    const id = `with ${hook} in ${place}`
    await running.deliver(CORVEL, { id: `warm-up ${id}` })
    const first = running.deliver(CORVEL, { id })
    await entered.opened
    const duplicate = running.deliver(CORVEL, { id })
    const inFlight: any = running.app.get(EventsInFlight)
    await until('the duplicate has arrived', () => inFlight.inFlight.size === 2)
    const closing = running.close()
    let late: Answer | undefined
    await until('deliveries are turned away', async () => {
      late = await tryToDeliver(running, `later ${id}`)
      return late?.status !== 200
    })
    expect(late).toMatchObject({ status: 503, body: { error: 'SHUTTING_DOWN' } })
    expect(late!.headers.get('retry-after')).toBe('5')
    held.open()
    expect(await first).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    expect(await duplicate).toMatchObject({ status: 200, body: { outcome: 'duplicate' } })
    await closing
    expect(await tryToDeliver(running, `later ${id}`)).toBeUndefined()
    expect(await recordsOf(database, id)).toEqual(ONCE)
    expect(await recordsOf(database, `later ${id}`)).toEqual(NEVER)
  })

  const short = { transaction: { timeout: 300, maxWait: 300 }, waitTimeout: 200 }
  /** What its deliveries may take one after the other (`maxWait` for a look too), and a second for COMMIT. */
  const BOUND = 2 * 300 + 300 + 200 + 1_000

  it('does not wait for a handler that never ends, and leaves nothing of it', async () => {
    const entered = new Latch()
    const controller = corvelController(async (tx, event) => {
      if (event.id === 'warm-up') return
      await credit(tx, event)
      entered.open()
      await new Promise(() => {})
    })
    const running = await start({ prisma: database.prisma(), ...short }, { controllers: [controller] })
    await running.deliver(CORVEL, { id: 'warm-up' })
    const delivery = running.deliver(CORVEL, { id: 'endless' })
    await entered.opened
    const began = performance.now()
    await running.close()
    expect(performance.now() - began).toBeLessThan(BOUND)
    expect(await delivery).toMatchObject({ status: 503, body: { error: 'EVENT_TIMEOUT' } })
    expect(await recordsOf(database, 'endless')).toEqual(NEVER)
  })

  it('waits for afterCommit hooks, but not for ever', async () => {
    const started = new Latch()
    const prisma = recipe('onApplicationShutdown')
    const controller = corvelController((_tx, event, { afterCommit }) => {
      if (event.id === 'warm-up') return
      afterCommit(() => {
        started.open()
        return new Promise(() => {})
      })
    })
    const running = await start({ prisma, ...short }, { providers: [prisma], controllers: [controller] })
    await running.deliver(CORVEL, { id: 'warm-up' })
    await running.deliver(CORVEL, { id: 'endless hook' })
    await started.opened
    const began = performance.now()
    await running.close()
    const took = performance.now() - began
    expect(took).toBeGreaterThan(BOUND - 50)
    expect(took).toBeLessThan(BOUND + 1_000)
    expect(running.log.at('error').join()).toContain(
      `1 deliveries were still in progress ${BOUND} ms after the shutdown began`,
    )
  })

  it('refuses process() too', async () => {
    const running = await start({ prisma: database.prisma() }, {})
    const service = running.app.get(WebhookIdempotencyService)
    await running.close()
    await expect(service.process({ source: 'corvel', id: 'queued' }, async () => {})).rejects.toMatchObject({
      code: 'SHUTTING_DOWN',
    })
  })

  it('because of SIGTERM ends its events, answers them and exits', async () => {
    doomed = await startDoomedProcess(database, { staysInHandler: true })
    const delivery = doomed.deliver({ id: 'terminated' })
    await doomed.written('terminated')
    const exit = doomed.terminate()
    let later = 0
    await until('deliveries are turned away', async () => {
      const answer = await doomed!.deliver({ id: `later ${++later}`, type: 'passing' })
      return answer.status === 503
    })
    doomed.letHandlersEnd()
    expect(await delivery).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    expect(await exit).toBe('SIGTERM')
    expect(await recordsOf(database, 'terminated')).toEqual(ONCE)
    for (let n = 1; n < later; n++) expect(await recordsOf(database, `later ${n}`)).toEqual(ONCE)
    expect(await recordsOf(database, `later ${later}`)).toEqual(NEVER)
  })

  let doomed: DoomedProcess | undefined
  afterEach(() => doomed?.kill())
})
