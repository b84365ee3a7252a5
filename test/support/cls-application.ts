// Plays deliveries to services that use @nestjs-cls/transactional, and says what became of them; see transactional-host.spec.ts.
// In a process of its own: these packages are CommonJS and require NestJS, which jest's ES modules do not allow.
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { TransactionHost as Host } from '@nestjs-cls/transactional'
import cls from 'nestjs-cls'
import transactional from '@nestjs-cls/transactional'
import type { TransactionalAdapterPrisma } from '@nestjs-cls/transactional-adapter-prisma'
import adapters from '@nestjs-cls/transactional-adapter-prisma'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../../prisma/generated/client.js'
import { joinWebhookTransaction, WebhookIdempotencyModule, WebhookIdempotencyService } from '../../src/index.js'

const { ClsModule } = cls
const { ClsPluginTransactional, Transactional, TransactionHost } = transactional
const PRISMA = Symbol('prisma')
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) })

@Module({ providers: [{ provide: PRISMA, useValue: prisma }], exports: [PRISMA] })
class PrismaModule {}

@Injectable()
class Credits {
  constructor(readonly host: Host<TransactionalAdapterPrisma<PrismaClient>>) {}

  async plain(eventId: string) {
    await this.host.tx.credit.create({ data: { accountId: 'acme', source: 'plain', eventId, amount: 1 } })
  }

  async transactional(eventId: string) {
    await this.host.tx.credit.create({ data: { accountId: 'acme', source: 'transactional', eventId, amount: 1 } })
  }
}
const inTransaction = Object.getOwnPropertyDescriptor(Credits.prototype, 'transactional')!
Transactional()(Credits.prototype, 'transactional', inTransaction)
Object.defineProperty(Credits.prototype, 'transactional', inTransaction)
Reflect.defineMetadata('design:paramtypes', [TransactionHost], Credits)

@Module({
  imports: [
    PrismaModule,
    ClsModule.forRoot({
      global: true,
      plugins: [
        new ClsPluginTransactional({
          imports: [PrismaModule],
          adapter: joinWebhookTransaction(new adapters.TransactionalAdapterPrisma({ prismaInjectionToken: PRISMA })),
        }),
      ],
    }),
    WebhookIdempotencyModule.forRoot({ prisma: PRISMA }),
  ],
  providers: [Credits],
})
class Application {}

const app = await NestFactory.createApplicationContext(Application, { logger: false })
const credits = app.get(Credits)
const webhooks = app.get(WebhookIdempotencyService)

const written: Record<string, number> = {}
async function play(scene: string, failure?: Error): Promise<void> {
  const event = { source: 'corvel', id: scene }
  await webhooks
    .process(event, async () => {
      await credits.plain(scene)
      await credits.transactional(scene)
      if (failure) throw failure
    })
    .catch((error: unknown) => {
      if (error !== failure) throw error
    })
  written[scene] = await prisma.credit.count({ where: { eventId: scene } })
}

await play('processed')
await play('failed', new Error('the handler fails'))
await play('processed')
await credits.plain('outside')
await credits.transactional('outside')
written.outside = await prisma.credit.count({ where: { eventId: 'outside' } })
await app.close()
await prisma.$disconnect()
process.send!(written)
