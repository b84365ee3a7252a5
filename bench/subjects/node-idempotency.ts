import type { DynamicModule } from '@nestjs/common'
import { Body, Controller, HttpCode, Module, Post } from '@nestjs/common'
import { Idempotent, NodeIdempotencyModule, StorageAdapterEnum } from '@node-idempotency/nestjs'
import type { ApplicationConfig } from '../harness/application-process.js'
import type { BenchEvent } from '../harness/bench-event.js'
import { applyEvent, BenchPrisma, prismaOf } from './bench-prisma.js'

@Controller()
class EventsController {
  constructor(private readonly prisma: BenchPrisma) {}

  /** The key is the header `idempotency-key`, which our senders give the event's ID. */
  @Post('events')
  @HttpCode(200)
  @Idempotent()
  async event(@Body() event: BenchEvent): Promise<{ outcome: string }> {
    await applyEvent(this.prisma, event)
    return { outcome: 'processed' }
  }
}

@Module({})
class NodeIdempotencyBenchModule {}

export function moduleOf(config: ApplicationConfig): DynamicModule {
  const redis = { adapter: StorageAdapterEnum.redis, options: { url: config.redisUrl } }
  return {
    module: NodeIdempotencyBenchModule,
    imports: [NodeIdempotencyModule.forRootAsync({ storage: redis, cacheKeyPrefix: config.databaseUrl })],
    controllers: [EventsController],
    providers: [prismaOf(config)],
  }
}
