import { randomBytes, randomUUID } from 'node:crypto'
import type { INestApplication } from '@nestjs/common'
import { ConsoleLogger } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { BillingConfig } from './billing.config.js'
import type { BillingDatabase } from './billing.database.js'
import { openDatabase } from './billing.database.js'
import { BillingModule } from './billing.module.js'
import type { InvoicePaid } from './corvel.event.js'
import { sign } from './hmac-signature.js'
import { PrismaService } from './prisma.service.js'

const ACCOUNT = 'acct_1'
const port = Number(process.env.PORT || 3000)

try {
  await start()
} catch (error) {
  console.error(explain(error))
  process.exitCode = 1
}

async function start(): Promise<void> {
  const database = await openDatabase()
  const config: BillingConfig = {
    databaseUrl: database.url,
    corvelSecret: process.env.CORVEL_SECRET ?? randomBytes(24).toString('hex'),
    partnerSecret: process.env.PARTNER_SECRET ?? randomBytes(24).toString('hex'),
    stripeSecret: process.env.STRIPE_SECRET ?? randomBytes(24).toString('hex'),
    githubSecret: process.env.GITHUB_SECRET ?? randomBytes(24).toString('hex'),
  }
  try {
    stopOnSignal(await serve(config), database)
  } catch (error) {
    await database.close()
    throw error
  }
  console.log(instructions(config))
}

async function serve(config: BillingConfig): Promise<INestApplication> {
  const logger = new ConsoleLogger({ logLevels: ['debug', 'verbose', 'warn', 'error', 'fatal'] }) // duplicates are debug
  const app = await NestFactory.create(BillingModule.forRoot(config), { rawBody: true, logger, abortOnError: false })
  try {
    await openAccount(app.get(PrismaService))
    return await app.listen(port).then(() => app)
  } catch (error) {
    await app.close()
    throw error
  }
}

async function openAccount(prisma: PrismaService): Promise<void> {
  await prisma.account.upsert({ where: { id: ACCOUNT }, create: { id: ACCOUNT }, update: {} })
}

/** The server goes last: deliveries in progress still need it. */
function stopOnSignal(app: INestApplication, database: BillingDatabase): void {
  const stop = () => app.close().then(database.close)
  process.once('SIGINT', () => void stop())
  process.once('SIGTERM', () => void stop())
}

function instructions({ corvelSecret }: BillingConfig): string {
  const event: InvoicePaid = {
    id: `evt_${randomUUID()}`,
    type: 'invoice.paid',
    data: { account: ACCOUNT, credits: 100 },
  }
  const body = JSON.stringify(event)
  const url = `http://localhost:${port}`
  return `
The billing example listens on ${url}. Ctrl-C stops it.

Deliver an event as Corvel Payments would. Do it twice: the account is credited once.

curl -i ${url}/webhooks/corvel -H 'content-type: application/json' -H 'corvel-signature: ${sign(corvelSecret, body)}' -d '${body}'

See the account:

curl ${url}/accounts/${ACCOUNT}
`
}

function explain(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code !== 'EADDRINUSE') return message
  return `Port ${port} is taken. Stop what listens there, or choose another port: PORT=${port + 1} npm start`
}
