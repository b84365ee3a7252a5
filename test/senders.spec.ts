import type { Type } from '@nestjs/common'
import { Controller, Post } from '@nestjs/common'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { IdempotentWebhook, WebhookContext } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { startApplication } from './support/application.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import { countTransactions } from './support/transactions.js'
import { fixtureOf, fixtures, NOW } from './sources/fixtures.js'

const examples: { name: string; examples: unknown[] }[] = createRequire(import.meta.url)('@octokit/webhooks-examples')

let database: TestDatabase
let application: RunningApplication
let transactions: { count: number }

beforeAll(async () => {
  database = await createDatabase()
  const prisma = database.prisma()
  await prisma.account.createMany({ data: fixtures.map(({ name }) => ({ id: name })) })
  const counted = countTransactions(prisma)
  transactions = counted
  application = await startApplication({
    controllers: fixtures.map(({ name }) => controllerOf(name)),
    options: {
      prisma: counted.client,
      sources: Object.fromEntries(fixtures.map(({ name, source }) => [name, source])),
    },
    rawBody: true,
  })
})

afterAll(async () => {
  await application?.close()
  await database?.drop()
})

/** Credits one row for each event, so that an event that is applied twice shows. */
function controllerOf(name: string): Type {
  @Controller('webhooks')
  class SenderController {
    @Post(pathOf(name))
    @IdempotentWebhook(name)
    async receive(@WebhookContext() { events, tx }: WebhookContext) {
      for (const { id, source } of events) {
        await tx.credit.create({ data: { accountId: name, source, eventId: id, amount: 1 } })
      }
    }
  }
  return SenderController
}

function pathOf(name: string): string {
  return name.replaceAll(/\W+/g, '-')
}

async function credited(source: string): Promise<string[]> {
  const rows = await database.query<{ event_id: string }>(
    'SELECT event_id FROM credits WHERE source = $1 ORDER BY event_id',
    [source],
  )
  return rows.map(({ event_id }) => event_id)
}

describe.each(fixtures)('a handler of $name', (fixture) => {
  const deliver = ({ body, headers }: ReturnType<typeof fixture.firstDelivery>) =>
    application.deliver(`/webhooks/${pathOf(fixture.name)}`, body, headers)
  const sorted = (ids: (string | number)[]) => ids.map(String).toSorted()

  it('processes an event once, however the sender retries it', async () => {
    const first = await deliver(fixture.firstDelivery())
    expect(first).toMatchObject({ status: 200, body: { outcome: 'processed' } })

    const retry = await deliver(fixture.retry())
    expect(retry.status).toBe(200)
    expect(retry.body).toEqual(fixture.source.duplicateReply ?? { outcome: 'duplicate' })
    expect(await credited(fixture.name)).toEqual(sorted(fixture.ids))

    expect(await deliver(fixture.otherEvent())).toMatchObject({ status: 200, body: { outcome: 'processed' } })
    expect(await credited(fixture.name)).toEqual(sorted([...fixture.ids, ...fixture.otherIds]))
  })

  it('refuses a forged delivery before it opens a transaction', async () => {
    const before = transactions.count
    const forged = await deliver(fixture.forged())
    expect(forged).toMatchObject({ status: 401, body: { message: 'The signature was refused.' } })
    expect(transactions.count).toBe(before)
  })

  for (const { name, delivery, reply } of fixture.handshakes ?? []) {
    it(`answers the handshake ${name} without a transaction`, async () => {
      const before = transactions.count
      const answer = await deliver(delivery)
      expect(answer).toMatchObject({ status: 200, body: reply.body })
      if (reply.contentType) expect(answer.headers.get('content-type')).toContain(reply.contentType)
      expect(transactions.count).toBe(before)
    })
  }

  if (fixture.empty) {
    it('answers an empty batch with 200 and without a transaction', async () => {
      const before = transactions.count
      expect(await deliver(fixture.sign(fixture.empty!, fixture.keys.current, NOW))).toMatchObject({ status: 200 })
      expect(transactions.count).toBe(before)
    })
  }
})

describe('a handler of github', () => {
  const github = fixtureOf('github')
  const deliver = ({ body, headers }: ReturnType<typeof github.firstDelivery>) =>
    application.deliver('/webhooks/github', body, headers)

  it('processes each of the payloads that GitHub publishes once', async () => {
    const before = (await credited('github')).length
    const payloads = examples.flatMap(({ name, examples: bodies }) => bodies.map((body) => ({ name, body })))
    const deliveries = payloads.map(({ name, body }, index) =>
      github.sign(
        { body, headers: { 'X-GitHub-Event': name, 'X-GitHub-Delivery': `payload-${index}` } },
        github.keys.current,
        NOW,
      ),
    )
    expect(deliveries).toHaveLength(329)
    for (const delivery of deliveries) {
      const answers = await Promise.all([deliver(delivery), deliver(delivery)])
      expect(answers.map(({ body }) => String(body.outcome)).toSorted()).toEqual(['duplicate', 'processed'])
    }
    expect((await credited('github')).length - before).toBe(329)
  })
})
