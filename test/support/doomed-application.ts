// An application in a process of its own, so that a test can end it; see doomed-process.ts.
import { once } from 'node:events'
import { Body, Controller, Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../../prisma/generated/client.js'
import { IdempotentWebhook, WebhookIdempotencyModule, WebhookTransaction } from '../../src/index.js'
import type { CreditEvent, Tx } from './ledger.js'
import { credit } from './ledger.js'

/** What the process tells the test. */
export type Message = { listening: string } | { written: string }

const tell = (message: Message) => process.send!(message)

@Controller()
class Corvel {
  @Post('corvel')
  @IdempotentWebhook({ source: 'corvel' })
  async invoicePaid(@Body() event: CreditEvent, @WebhookTransaction() tx: Tx) {
    await credit(tx, event)
    tell({ written: event.id })
    if (process.env.STAYS_IN_HANDLER && event.type !== 'passing') await once(process, 'message')
  }
}

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) })

@Module({
  imports: [WebhookIdempotencyModule.forRoot({ prisma, transaction: { timeout: 60_000 } })],
  controllers: [Corvel],
})
class Application {}

const app = await NestFactory.create(Application, { logger: false })
app.enableShutdownHooks()
await app.listen(0, '127.0.0.1')
tell({ listening: await app.getUrl() })
