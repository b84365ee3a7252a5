import { Body, Controller, Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { ApplicationConfig } from './harness/application-process.js'
import type { BenchEvent } from './harness/bench-event.js'
import { SOURCE } from './harness/bench-event.js'
import { applyEvent, BenchPrisma, prismaOf } from './subjects/bench-prisma.js'

export type StartedWith = 'nothing' | 'module' | 'query' | 'probe'

/** What a start took and left behind; times in ms, sizes in bytes. */
export interface Start {
  imported: number
  ready: number
  heap: number
  rss: number
}

const [variant, databaseUrl] = process.argv.slice(2) as [StartedWith, string]
const config: ApplicationConfig = { subject: 'ours', databaseUrl, poolSize: 10 }

const importBegan = performance.now()
const isProtected = variant === 'module' || variant === 'probe'
const library = isProtected ? await import('nestjs-webhook-idempotency') : undefined
const imported = library ? performance.now() - importBegan : 0

@Controller()
class EventsController {
  constructor(private readonly prisma: BenchPrisma) {}

  @Post('events')
  @(library?.IdempotentWebhook({ source: SOURCE }) ?? (() => {}))
  async event(@Body() event: BenchEvent): Promise<void> {
    await applyEvent(this.prisma, event)
  }
}

@Module({
  imports: library
    ? [library.WebhookIdempotencyModule.forRoot({ prisma: BenchPrisma, probe: variant === 'probe' })]
    : [],
  controllers: [EventsController],
  providers: [prismaOf(config)],
})
class StartedModule {}

const app = await NestFactory.create(StartedModule, { logger: ['fatal'] })
if (variant === 'query') await app.get(BenchPrisma).$transaction((tx) => tx.processedEvent.count())
await app.listen(0, '127.0.0.1')
const ready = performance.now()
globalThis.gc?.()
const { heapUsed, rss } = process.memoryUsage()
await app.close()
console.log(JSON.stringify({ imported, ready, heap: heapUsed, rss } satisfies Start))
