import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { ClientProxy } from '@nestjs/microservices'
import { ClientProxyFactory, EventPattern, MessagePattern, Transport } from '@nestjs/microservices'
import { Controller } from '@nestjs/common'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lastValueFrom } from 'rxjs'
import { IdempotentWebhook, WebhookContext } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import type { Tx } from './support/ledger.js'
import { credit, NEVER, ONCE, openAccount, recordsOf } from './support/ledger.js'
import { until } from './support/until.js'

let database: TestDatabase
let application: RunningApplication
let client: ClientProxy
let failures = 0

@Controller()
class QueueController {
  @EventPattern('credited')
  @IdempotentWebhook({ source: 'events' })
  async event(@WebhookContext() { event, tx, source }: WebhookContext<Tx>) {
    await credit(tx, event, source)
  }

  @MessagePattern('credit')
  @IdempotentWebhook({ source: 'messages', id: ({ body }) => body.key })
  async message(@WebhookContext() { event, tx, source }: WebhookContext<Tx>) {
    await credit(tx, event, source)
    if (event.payload.fails && failures++ === 0) throw new Error('the first time fails')
    return { credited: event.id }
  }
}

beforeAll(async () => {
  database = await createDatabase()
  await openAccount(database)
  const port = await freePort()
  application = await startApplication({
    controllers: [QueueController],
    options: { prisma: database.prisma() },
    configure: (app) =>
      void app.connectMicroservice({ transport: Transport.TCP, options: { host: '127.0.0.1', port } }),
  })
  await application.app.startAllMicroservices()
  client = ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } })
})

afterAll(async () => {
  client?.close()
  await application?.close()
  await database?.drop()
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const ask = (data: unknown) => lastValueFrom(client.send('credit', data))

describe('a message', () => {
  it('is processed once, and answered as a duplicate then', async () => {
    expect(await ask({ key: 'once' })).toEqual({ credited: 'once' })
    expect(await ask({ key: 'once' })).toEqual({ outcome: 'duplicate' })
    expect(await recordsOf(database, 'once', 'messages')).toEqual(ONCE)
  })

  it('is processed once when it comes many times at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask({ key: 'race' })))
    expect(answers.filter(({ credited }) => credited === 'race')).toHaveLength(1)
    expect(answers.filter(({ outcome }) => outcome === 'duplicate')).toHaveLength(9)
    expect(await recordsOf(database, 'race', 'messages')).toEqual(ONCE)
  })

  it('passes the error of its handler on, so that the broker delivers it again', async () => {
    await expect(ask({ key: 'fails', fails: true })).rejects.toMatchObject({ status: 'error' })
    expect(await recordsOf(database, 'fails', 'messages')).toEqual(NEVER)
    expect(await ask({ key: 'fails', fails: true })).toEqual({ credited: 'fails' })
  })

  it('without an ID is refused with an error, and nothing is written', async () => {
    await expect(ask({ other: 1 })).rejects.toMatchObject({ status: 'error' })
    expect(application.log.at('warn').join()).toContain('The event ID from source "messages" is missing')
  })
})

describe('an event without an answer', () => {
  it('is processed once', async () => {
    for (let time = 0; time < 3; time++)
      await lastValueFrom(client.emit('credited', { id: 'evt' }), { defaultValue: 0 })
    const duplicates = () => application.log.at('debug').filter((line) => line.includes('events/evt'))
    await until('two duplicates are logged', () => duplicates().length === 2)
    expect(await recordsOf(database, 'evt', 'events')).toEqual(ONCE)
  })
})
