import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { WebhookIdempotencyModule } from 'nestjs-webhook-idempotency'
import { DATABASE_URL, PrismaService } from './prisma.service.js'
import { TIMEOUT } from './transfer.js'
import type { Variant } from './variants.js'
import { VARIANTS } from './variants.js'

/** What one process is told. */
export interface ApplicationConfig {
  databaseUrl: string
  variant: Variant
  isolationLevel?: string
  handlerRetries?: number
}

/** Runs as a process of its own and tells its parent where it listens. */
async function start({ databaseUrl, variant, isolationLevel, handlerRetries }: ApplicationConfig): Promise<void> {
  @Module({
    imports: [
      WebhookIdempotencyModule.forRoot({
        prisma: PrismaService,
        transaction: { timeout: TIMEOUT, maxWait: 1000, isolationLevel },
        waitTimeout: 1500,
        handlerRetries,
      }),
    ],
    controllers: [VARIANTS[variant]],
    providers: [{ provide: DATABASE_URL, useValue: databaseUrl }, PrismaService],
  })
  class ApplicationModule {}

  const app = await NestFactory.create(ApplicationModule, { logger: ['fatal'], abortOnError: false })
  app.enableShutdownHooks()
  await app.listen(0, '127.0.0.1')
  process.send?.(await app.getUrl())
}

process.once('disconnect', () => process.exit())
await start(JSON.parse(process.argv[2]!))
