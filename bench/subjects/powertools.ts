import {
  IdempotencyAlreadyInProgressError,
  IdempotencyConfig,
  makeIdempotent,
} from '@aws-lambda-powertools/idempotency'
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache'
import type { DynamicModule, OnApplicationShutdown, OnModuleInit } from '@nestjs/common'
import { Body, ConflictException, Controller, HttpCode, Module, Post } from '@nestjs/common'
import { createClient } from '@redis/client'
import type { ApplicationConfig } from '../harness/application-process.js'
import type { BenchEvent } from '../harness/bench-event.js'
import { applyEvent, BenchPrisma, prismaOf } from './bench-prisma.js'

/** It asks its Lambda how much time is left, to know when an event in progress counts as abandoned. */
const LAMBDA = { getRemainingTimeInMillis: () => 5000, functionName: 'bench' }

class Events implements OnModuleInit, OnApplicationShutdown {
  private readonly client
  readonly apply: (event: BenchEvent) => Promise<{ outcome: string }>

  constructor(prisma: BenchPrisma, { redisUrl }: ApplicationConfig) {
    this.client = createClient({ url: redisUrl })
    const config = new IdempotencyConfig({ eventKeyJmesPath: 'id' })
    config.registerLambdaContext(LAMBDA as Parameters<IdempotencyConfig['registerLambdaContext']>[0])
    const apply = async (event: BenchEvent) => {
      await applyEvent(prisma, event)
      return { outcome: 'processed' }
    }
    const client = this.client as unknown as ConstructorParameters<typeof CachePersistenceLayer>[0]['client']
    this.apply = makeIdempotent(apply, { persistenceStore: new CachePersistenceLayer({ client }), config })
  }

  async onModuleInit(): Promise<void> {
    await this.client.connect()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.client.close()
  }
}

@Controller()
class EventsController {
  constructor(private readonly events: Events) {}

  @Post('events')
  @HttpCode(200)
  async event(@Body() event: BenchEvent): Promise<{ outcome: string }> {
    try {
      return await this.events.apply(event)
    } catch (error) {
      if (error instanceof IdempotencyAlreadyInProgressError) throw new ConflictException()
      throw error
    }
  }
}

@Module({})
class PowertoolsModule {}

export function moduleOf(config: ApplicationConfig): DynamicModule {
  return {
    module: PowertoolsModule,
    controllers: [EventsController],
    providers: [
      prismaOf(config),
      { provide: Events, inject: [BenchPrisma], useFactory: (prisma: BenchPrisma) => new Events(prisma, config) },
    ],
  }
}
