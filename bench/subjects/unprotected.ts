import type { DynamicModule } from '@nestjs/common'
import { Body, Controller, HttpCode, Module, Post } from '@nestjs/common'
import type { ApplicationConfig } from '../harness/application-process.js'
import type { BenchBatch, BenchEvent } from '../harness/bench-event.js'
import { applyEvent, applyEvents, BenchPrisma, prismaOf } from './bench-prisma.js'

@Controller()
class EventsController {
  constructor(private readonly prisma: BenchPrisma) {}

  @Post('events')
  @HttpCode(200)
  async event(@Body() event: BenchEvent): Promise<{ outcome: string }> {
    await applyEvent(this.prisma, event)
    return { outcome: 'processed' }
  }

  @Post('batches')
  @HttpCode(200)
  async batch(@Body() { events }: BenchBatch): Promise<{ outcome: string }> {
    await applyEvents(this.prisma, events)
    return { outcome: 'processed' }
  }
}

@Module({})
class UnprotectedModule {}

export function moduleOf(config: ApplicationConfig): DynamicModule {
  return { module: UnprotectedModule, controllers: [EventsController], providers: [prismaOf(config)] }
}
