import { Controller, Post } from '@nestjs/common'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { WebhookDelivery, WebhookIdempotencyOptions } from '../../src/index.js'
import { IdempotentWebhook, WebhookContext } from '../../src/index.js'
import { stripe } from '../../src/sources/index.js'
import { onFastify, startApplication } from '../support/application.js'
import type { TestDatabase } from '../support/database.js'
import { createDatabase } from '../support/database.js'
import { openAccount } from '../support/ledger.js'
import { fixtureOf, NOW } from './fixtures.js'

const sender = fixtureOf('stripe')
const tenantOf = ({ headers }: WebhookDelivery) => headers.get('x-tenant') ?? ''
const keysOfTenants: Record<string, string> = {
  acme: sender.keys.current.secret,
  globex: sender.keys.previous.secret,
}

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
  await openAccount(database)
})

afterAll(() => database?.drop())

async function creditsOf(source: string): Promise<number> {
  const [row] = await database.query<{ count: number }>('SELECT count(*)::int FROM credits WHERE source = $1', [source])
  return row!.count
}

@Controller()
class StripeController {
  @Post('stripe')
  @IdempotentWebhook('stripe')
  async receive(@WebhookContext() { source, event, tx }: WebhookContext) {
    await tx.credit.create({ data: { accountId: 'acme', source, eventId: event.id, amount: 1 } })
  }
}

const start = (options: Partial<WebhookIdempotencyOptions>, rawBody = true) =>
  startApplication({ controllers: [StripeController], options: { prisma: database.prisma(), ...options }, rawBody })

describe('one endpoint for several tenants', () => {
  it('keeps their equal IDs apart, and checks each with its own secret', async () => {
    const application = await start({
      sources: {
        stripe: {
          ...stripe({ secret: (delivery) => keysOfTenants[tenantOf(delivery)] ?? [], clock: () => NOW }),
          name: (delivery) => `stripe:${tenantOf(delivery)}`,
        },
      },
    })
    const deliver = (tenant: string, key = sender.keys.current) => {
      const { body, headers } = sender.sign(sender.first, key, NOW)
      return application.deliver('/stripe', body, { ...headers, 'X-Tenant': tenant })
    }
    try {
      expect(await deliver('acme')).toMatchObject({ status: 200, body: { outcome: 'processed' } })
      expect(await deliver('globex', sender.keys.previous)).toMatchObject({ body: { outcome: 'processed' } })
      expect(await deliver('acme')).toMatchObject({ body: { outcome: 'duplicate' } })
      expect(await deliver('globex', sender.keys.current)).toMatchObject({ status: 401 })
      expect([await creditsOf('stripe:acme'), await creditsOf('stripe:globex')]).toEqual([1, 1])
    } finally {
      await application.close()
    }
  })

  it('refuses a tenant that could not be stored', async () => {
    const application = await start({
      sources: { stripe: { identify: () => ({ id: 'evt' }), name: (delivery) => tenantOf(delivery) } },
    })
    try {
      for (const tenant of ['', 'x'.repeat(256)]) {
        const answer = await application.deliver('/stripe', {}, { 'x-tenant': tenant })
        expect(answer).toMatchObject({ status: 400, body: { error: 'INVALID_EVENT' } })
      }
    } finally {
      await application.close()
    }
  })
})

describe('a source with a signature', () => {
  it('says which option is missing when the raw body was not kept', async () => {
    const application = await start({ sources: { stripe: sender.source } }, false)
    try {
      const { body, headers } = sender.firstDelivery()
      expect(await application.deliver('/stripe', body, headers)).toMatchObject({ status: 500 })
      expect(application.log.at('error').join()).toContain('rawBody: true')
    } finally {
      await application.close()
    }
  })

  it('says which parser is missing for a content type that none takes', async () => {
    const application = await start({ sources: { stripe: sender.source } })
    try {
      const { body, headers } = sender.firstDelivery()
      const ofAnotherType = { ...headers, 'Content-Type': 'application/vnd.stripe+json' }
      const answer = await application.deliver('/stripe', body, ofAnotherType)
      // Fastify refuses what it has no parser for before any guard.
      if (onFastify) return expect(answer.status).toBe(415)
      expect(answer.status).toBe(500)
      expect(application.log.at('error').join()).toContain(
        "useBodyParser('json', { type: 'application/vnd.stripe+json' })",
      )
    } finally {
      await application.close()
    }
  })
})

describe('retention', () => {
  it.each([
    { days: 29, warnings: 1 },
    { days: 30, warnings: 0 },
  ])('of $days days gives $warnings warnings for a sender that delivers again for 30', async ({ days, warnings }) => {
    const application = await start({ sources: { stripe: sender.source }, retention: { days } })
    try {
      const lines = application.log.at('warn').filter((line) => line.includes('retention.days'))
      expect(lines).toHaveLength(warnings)
    } finally {
      await application.close()
    }
  })
})
