import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CanActivate, ExecutionContext } from '@nestjs/common'
import { Body, Controller, Injectable, Post, UnauthorizedException, UseGuards } from '@nestjs/common'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { WebhookSource } from '../src/index.js'
import { IdempotentWebhook, InvalidSignatureError, MissingRawBodyError, WebhookTransaction } from '../src/index.js'
import type { ApplicationOptions, RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import { CORVEL } from './support/corvel.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import type { CreditEvent, Tx } from './support/ledger.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'
import { countTransactions } from './support/transactions.js'

const KEY = 'whsec_corvel'
const sign = (body: string) => createHmac('sha256', KEY).update(body).digest('hex')

/** As an application would write it for a sender of its own. */
const corvel: WebhookSource = {
  verify({ headers, rawBody }) {
    if (!rawBody) throw new MissingRawBodyError(headers.get('content-type'))
    const given = Buffer.from(headers.get('corvel-signature') ?? '')
    const wanted = Buffer.from(sign(rawBody.toString()))
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
      throw new InvalidSignatureError('it does not match')
  },
  identify: ({ body }) => body,
}

@Injectable()
class TokenGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<{ headers: { token?: string } }>().headers.token === 'good'
  }
}

@Controller('webhooks')
class CorvelController {
  @Post('corvel')
  @IdempotentWebhook('corvel')
  async signed(@Body() event: CreditEvent, @WebhookTransaction() tx: Tx) {
    await credit(tx, event)
  }

  @Post('guarded')
  @UseGuards(TokenGuard)
  @IdempotentWebhook({ source: 'guarded' })
  async guarded(@Body() event: CreditEvent, @WebhookTransaction() tx: Tx) {
    await credit(tx, event)
  }

  @Post('careless')
  @IdempotentWebhook({ source: 'careless' })
  async careless(@Body() event: CreditEvent & { genuine: boolean }, @WebhookTransaction() tx: Tx) {
    await credit(tx, event, 'careless')
    if (!event.genuine) throw new UnauthorizedException()
  }
}

// nestjs/nest#767, nestjs/docs.nestjs.com#680, postel-sh/postel#114
describe('a delivery that is not verified', () => {
  let database: TestDatabase
  let running: RunningApplication
  let transactions: ReturnType<typeof countTransactions>

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
  })
  afterEach(() => running.close())
  afterAll(() => database.drop())

  async function start(more: Partial<ApplicationOptions> = {}) {
    transactions = countTransactions(database.prisma())
    running = await startApplication({
      controllers: [CorvelController],
      options: { prisma: transactions.client, probe: false, sources: { corvel } },
      rawBody: true,
      ...more,
    })
    transactions.count = 0
  }

  it('opens no transaction and claims nothing, and the genuine one is processed', async () => {
    await start()
    const body = JSON.stringify({ id: 'signed' })
    const signature = sign(body)
    const tampered = body.replace('signed', 'forged')
    for (const [sent, header] of [
      [tampered, signature],
      [body, `${signature.slice(0, -1)}${signature.endsWith('0') ? '1' : '0'}`],
      [body, ''],
    ] as const) {
      const answer = await running.deliver(CORVEL, sent, { 'corvel-signature': header })
      expect(answer).toMatchObject({
        status: 401,
        body: { error: 'INVALID_SIGNATURE', message: 'The signature was refused.' },
      })
    }
    expect(transactions.count).toBe(0)
    const answer = await running.deliver(CORVEL, body, { 'corvel-signature': signature })
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    expect(await recordsOf(database, 'signed')).toEqual(ONCE)
    expect(await recordsOf(database, 'forged')).toEqual(NEVER)
  })

  it('is refused, and the log says how to keep the raw body, when the application does not keep it', async () => {
    await start({ rawBody: false })
    const body = JSON.stringify({ id: 'no bytes' })
    expect((await running.deliver(CORVEL, body, { 'corvel-signature': sign(body) })).status).toBe(500)
    expect(running.log.at('error').join()).toContain('{ rawBody: true }')
    expect(transactions.count).toBe(0)
  })

  it('is refused by a guard of the application before anything of the event', async () => {
    await start()
    expect((await running.deliver('/webhooks/guarded', { id: 'guarded' }, { token: 'bad' })).status).toBe(403)
    expect(transactions.count).toBe(0)
    const answer = await running.deliver('/webhooks/guarded', { id: 'guarded' }, { token: 'good' })
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'processed' } })
  })

  it('leaves no claim behind even if only its handler finds out', async () => {
    await start()
    expect((await running.deliver('/webhooks/careless', { id: 'late', genuine: false })).status).toBe(401)
    expect(await recordsOf(database, 'late', 'careless')).toEqual(NEVER)
    const genuine = await running.deliver('/webhooks/careless', { id: 'late', genuine: true })
    expect(genuine).toMatchObject({ status: 200, body: { outcome: 'processed' } })
  })
})
