import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Body, Controller, Injectable, Post } from '@nestjs/common'
import {
  IdempotentWebhook,
  TransactionClosedError,
  WebhookContext,
  WebhookIdempotencyService,
  WebhookTransaction,
} from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { Latch } from './support/latch.js'
import type { CreditEvent, Tx } from './support/ledger.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'
import { until } from './support/until.js'

type Handle = (event: CreditEvent, context: WebhookContext<Tx, CreditEvent>) => unknown
let handle: Handle

/** Three services deep, none of which is given the transaction. */
@Injectable()
class Ledger {
  constructor(private readonly webhooks: WebhookIdempotencyService) {}

  async write(event: CreditEvent): Promise<void> {
    await credit(this.webhooks.context!.tx, event)
  }

  get eventId(): string | undefined {
    return this.webhooks.context?.event.id
  }
}

@Injectable()
class Accounts {
  constructor(private readonly ledger: Ledger) {}

  async credit(event: CreditEvent): Promise<void> {
    await this.ledger.write(event)
  }
}

@Injectable()
class Billing {
  constructor(private readonly accounts: Accounts) {}

  async paid(event: CreditEvent): Promise<void> {
    await this.accounts.credit(event)
  }
}

@Controller()
class Webhooks {
  @Post('corvel')
  @IdempotentWebhook({ source: 'corvel' })
  corvel(@Body() event: CreditEvent, @WebhookContext() context: WebhookContext<Tx, CreditEvent>) {
    return handle(event, context)
  }

  @Post('transaction-of-nothing')
  transactionOfNothing(@WebhookTransaction() _tx: Tx) {}

  @Post('context-of-nothing')
  contextOfNothing(@WebhookContext() _context: WebhookContext) {}
}

let database: TestDatabase
let application: RunningApplication
let webhooks: WebhookIdempotencyService

beforeAll(async () => {
  database = await createDatabase()
  await openAccount(database)
  application = await startApplication({
    controllers: [Webhooks],
    providers: [Billing, Accounts, Ledger],
    options: { prisma: database.prisma() },
  })
  webhooks = application.app.get(WebhookIdempotencyService)
})

afterAll(async () => {
  await application?.close()
  await database.drop()
})

const deliver = async (event: CreditEvent) => {
  const { status, body } = await application.deliver('/corvel', event)
  return [status, body]
}
const PROCESSED = [200, { outcome: 'processed' }]

describe('the context of an event', () => {
  it('is seen by services three levels below the handler, whose writes commit with the claim', async () => {
    handle = (event) => application.app.get(Billing).paid(event)
    expect(await deliver({ id: 'evt_deep' })).toEqual(PROCESSED)
    expect(await recordsOf(database, 'evt_deep')).toEqual(ONCE)
  })

  it('takes their writes away with the claim when the handler fails', async () => {
    handle = async (event) => {
      await application.app.get(Billing).paid(event)
      throw new Error('after the write')
    }
    expect((await deliver({ id: 'evt_deep_failure' }))[0]).toBe(500)
    expect(await recordsOf(database, 'evt_deep_failure')).toEqual(NEVER)
  })

  it('is given to the handler with everything that it knows', async () => {
    let seen: WebhookContext<Tx, CreditEvent> | undefined
    handle = (_, context) => {
      seen = context
      expect(webhooks.context).toBe(context)
    }
    const event = { id: 'evt_known', type: 'invoice.paid', account: 'acme' }
    expect(await deliver(event)).toEqual(PROCESSED)
    const identified = { source: 'corvel', id: 'evt_known', type: 'invoice.paid', payload: event }
    expect(seen).toMatchObject({ source: 'corvel', event: identified, events: [identified] })
    expect(seen!.signal).toBeInstanceOf(AbortSignal)
    expect(seen!.signal.aborted).toBe(false)
  })

  it('is given to what process() applies, with the same transaction', async () => {
    const outcome = await webhooks.process({ source: 'jobs', id: 'job_1' }, async (tx: Tx, context) => {
      expect(webhooks.context).toBe(context)
      expect(context.tx).toBe(tx)
      await application.app.get(Billing).paid({ id: 'job_1' })
      return context.event
    })
    const event = { source: 'jobs', id: 'job_1', type: 'unknown', payload: undefined }
    expect(outcome).toEqual({ outcome: 'processed', value: event })
  })

  it('is never that of another event that is handled at the same time', async () => {
    const ledger = application.app.get(Ledger)
    const ids = ['evt_together_1', 'evt_together_2', 'evt_together_3']
    const entered = new Map(ids.map((id) => [id, new Latch()]))
    const seen = new Map<string, (string | undefined)[]>()
    handle = async ({ id }, { tx }) => {
      const before = ledger.eventId
      entered.get(id)!.open()
      await Promise.all([...entered.values()].map(({ opened }) => opened))
      const [{ pid }] = await tx.$queryRaw<[{ pid: number }]>`SELECT pg_backend_pid() AS pid`
      const [{ pid: below }] = await webhooks.context!.tx.$queryRaw`SELECT pg_backend_pid() AS pid`
      expect(below).toBe(pid)
      await application.app.get(Billing).paid({ id })
      seen.set(id, [before, ledger.eventId, await Promise.resolve().then(() => ledger.eventId)])
    }
    expect(await Promise.all(ids.map((id) => deliver({ id })))).toEqual(ids.map(() => PROCESSED))
    expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(ids.map((id) => [id, [id, id, id]])))
    expect(await Promise.all(ids.map((id) => recordsOf(database, id)))).toEqual(ids.map(() => ONCE))
  })

  it('is undefined outside of an event, and after it', async () => {
    expect(webhooks.context).toBeUndefined()
    const ended = new Latch()
    let later: Promise<unknown> | undefined
    handle = () => {
      later = ended.opened.then(() => webhooks.context)
    }
    await deliver({ id: 'evt_left_running' })
    ended.open()
    expect(await later).toBeUndefined()
    expect(webhooks.context).toBeUndefined()
  })

  it.each([
    ['@WebhookTransaction()', '/transaction-of-nothing', 'Webhooks.transactionOfNothing'],
    ['@WebhookContext()', '/context-of-nothing', 'Webhooks.contextOfNothing'],
  ])('is missed with a clear error by %s on a method that handles no event', async (decorator, path, method) => {
    expect((await application.deliver(path, {})).status).toBe(500)
    expect(application.log.at('error').join('\n')).toContain(
      `${decorator} is used on ${method}, which handles no event. Add @IdempotentWebhook() to the method.`,
    )
  })
})

describe('the transaction of an event', () => {
  it('is refused after the event, with a sentence that says why', async () => {
    let kept: Tx | undefined
    let model: Tx['credit'] | undefined
    handle = async (event, { tx }) => {
      kept = tx
      model = tx.credit
      await credit(tx, event)
    }
    expect(await deliver({ id: 'evt_late' })).toEqual(PROCESSED)
    const late = [
      () => credit(kept!, { id: 'evt_late' }),
      () => model!.count(),
      () => kept!.$queryRaw`SELECT 1`,
      () => kept!.$executeRaw`DELETE FROM credits`,
    ]
    for (const use of late) {
      const used = (async () => use())()
      await expect(used).rejects.toThrow(TransactionClosedError)
      await expect(used).rejects.toThrow(
        /the transaction of this event has ended.* Await everything the handler starts/,
      )
    }
    expect(await recordsOf(database, 'evt_late')).toEqual(ONCE)
  })

  it('is refused to a statement that was made in time and is awaited too late', async () => {
    let statement: PromiseLike<unknown> | undefined
    handle = (event, { tx }) => {
      statement = tx.credit.create({ data: { accountId: 'acme', source: 'corvel', eventId: event.id, amount: 1 } })
    }
    expect(await deliver({ id: 'evt_lazy' })).toEqual(PROCESSED)
    await expect(statement).rejects.toThrow(TransactionClosedError)
    expect(await recordsOf(database, 'evt_lazy')).toEqual({ credits: 0, claims: 1 })
  })
})

describe('afterCommit', () => {
  const ran: string[] = []

  beforeEach(() => {
    ran.length = 0
  })

  it('runs its hooks when other connections see the event, one after the other in the order given', async () => {
    handle = async (event, { tx, afterCommit }) => {
      await credit(tx, event)
      afterCommit(async () => {
        expect(await recordsOf(database, event.id)).toEqual(ONCE)
        ran.push('first')
      })
      afterCommit(() => ran.push('second'))
      await Promise.resolve()
      afterCommit(async () => ran.push('third'))
      expect(ran).toEqual([])
    }
    expect(await deliver({ id: 'evt_hooks' })).toEqual(PROCESSED)
    await until('the last hook has run', () => ran.includes('third'))
    expect(ran).toEqual(['first', 'second', 'third'])
  })

  it('keeps the answer waiting for none of its hooks, and runs none for duplicates', async () => {
    const answered = new Latch()
    handle = (_, { afterCommit }) => {
      afterCommit(async () => {
        await answered.opened
        ran.push('hook')
      })
    }
    expect(await deliver({ id: 'evt_hook_waits' })).toEqual(PROCESSED)
    expect(await deliver({ id: 'evt_hook_waits' })).toEqual([200, { outcome: 'duplicate' }])
    expect(ran).toEqual([])
    answered.open()
    await until('the hook has run', () => ran.length > 0)
    expect(ran).toEqual(['hook'])
  })

  it('logs the failure of a hook, runs the next ones, and leaves answer and event as they are', async () => {
    handle = async (event, { tx, afterCommit }) => {
      await credit(tx, event)
      afterCommit(() => {
        throw new Error('the mail server is away')
      })
      afterCommit(() => Promise.reject(new Error('so is the other one')))
      afterCommit(() => ran.push('last'))
    }
    expect(await deliver({ id: 'evt_hook_fails', type: 'invoice.paid' })).toEqual(PROCESSED)
    await until('the last hook has run', () => ran.includes('last'))
    const errors = application.log.at('error').filter((line) => line.includes('evt_hook_fails'))
    expect(errors).toEqual([
      expect.stringMatching(/^an afterCommit hook of corvel\/evt_hook_fails \(invoice\.paid\) failed .*mail server/),
      expect.stringMatching(/so is the other one/),
    ])
    expect(await recordsOf(database, 'evt_hook_fails')).toEqual(ONCE)
    expect(await deliver({ id: 'evt_hook_fails' })).toEqual([200, { outcome: 'duplicate' }])
  })

  it('may start another event from a hook', async () => {
    const next = new Latch()
    handle = (_, { afterCommit }) => {
      afterCommit(async () => {
        expect(webhooks.context).toBeUndefined()
        await webhooks.process({ source: 'corvel', id: 'evt_next' }, (tx: Tx) => credit(tx, { id: 'evt_next' }))
        next.open()
      })
    }
    expect(await deliver({ id: 'evt_with_next' })).toEqual(PROCESSED)
    await next.opened
    expect(await recordsOf(database, 'evt_next')).toEqual(ONCE)
  })

  it('is refused after the event', async () => {
    let late: WebhookContext['afterCommit'] | undefined
    handle = (_, { afterCommit }) => {
      late = afterCommit
    }
    expect(await deliver({ id: 'evt_late_hook' })).toEqual(PROCESSED)
    expect(() => late!(() => ran.push('late'))).toThrow(TransactionClosedError)
    expect(() => late!(() => ran.push('late'))).toThrow('A handler called afterCommit() too late')
  })
})

describe('an event that is started inside the handler of another one', () => {
  it('is refused with a sentence that says what to do instead', async () => {
    handle = () => webhooks.process({ source: 'jobs', id: 'job_inside' }, async () => {})
    expect((await deliver({ id: 'evt_outside' }))[0]).toBe(500)
    expect(application.log.at('error').join('\n')).toContain(
      'An event of source "jobs" was started inside the handler of an event of source "corvel". ' +
        'Start it from afterCommit(), or apply it with the tx at hand.',
    )
    expect(await recordsOf(database, 'evt_outside')).toEqual(NEVER)
    expect(await recordsOf(database, 'job_inside', 'jobs')).toEqual(NEVER)
  })
})
