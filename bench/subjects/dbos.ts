import { DBOS } from '@dbos-inc/dbos-sdk'
import { PrismaDataSource } from '@dbos-inc/prisma-datasource'
import type { DynamicModule, OnApplicationShutdown, OnModuleInit } from '@nestjs/common'
import { Body, Controller, HttpCode, Module, Post } from '@nestjs/common'
import type { ApplicationConfig } from '../harness/application-process.js'
import type { BenchEvent } from '../harness/bench-event.js'
import { applyEvent, BenchPrisma, prismaOf } from './bench-prisma.js'

class Workflows implements OnModuleInit, OnApplicationShutdown {
  private readonly source: PrismaDataSource<BenchPrisma>
  private readonly apply: (event: BenchEvent) => Promise<{ outcome: string }>

  constructor(
    prisma: BenchPrisma,
    private readonly config: ApplicationConfig,
  ) {
    this.source = new PrismaDataSource('bench', prisma)
    this.apply = DBOS.registerWorkflow(
      async (event: BenchEvent) => {
        await this.source.runTransaction(() => applyEvent(this.source.client, event), { name: 'apply' })
        return { outcome: 'processed' }
      },
      { name: 'event' },
    )
  }

  async start(event: BenchEvent): Promise<{ outcome: string }> {
    const handle = await DBOS.startWorkflow(this.apply, { workflowID: event.id })(event)
    return handle.getResult()
  }

  async onModuleInit(): Promise<void> {
    const { databaseUrl, poolSize } = this.config
    DBOS.setConfig({
      name: 'bench',
      systemDatabaseUrl: databaseUrl,
      systemDatabasePoolSize: poolSize,
      runAdminServer: false,
      logLevel: 'error',
    })
    await DBOS.launch()
  }

  async onApplicationShutdown(): Promise<void> {
    await DBOS.shutdown()
  }
}

@Controller()
class EventsController {
  constructor(private readonly workflows: Workflows) {}

  @Post('events')
  @HttpCode(200)
  event(@Body() event: BenchEvent): Promise<{ outcome: string }> {
    return this.workflows.start(event)
  }
}

@Module({})
class DbosModule {}

export function moduleOf(config: ApplicationConfig): DynamicModule {
  return {
    module: DbosModule,
    controllers: [EventsController],
    providers: [
      prismaOf(config),
      { provide: Workflows, inject: [BenchPrisma], useFactory: (prisma: BenchPrisma) => new Workflows(prisma, config) },
    ],
  }
}
