import type { DynamicModule } from '@nestjs/common'
import { Body, Controller, HttpCode, Module, Post } from '@nestjs/common'
import type { ApplicationConfig } from '../harness/application-process.js'
import type { BenchBatch, BenchEvent } from '../harness/bench-event.js'
import { applyEvent, applyEvents, BenchPrisma, claimOf, prismaOf } from './bench-prisma.js'

@Controller()
class EventsController {
  constructor(private readonly prisma: BenchPrisma) {}

  @Post('events')
  @HttpCode(200)
  event(@Body() event: BenchEvent): Promise<{ outcome: string }> {
    return this.prisma.$transaction(async (tx) => {
      const { count } = await tx.processedEvent.createMany({ data: [claimOf(event)], skipDuplicates: true })
      if (count === 0) return { outcome: 'duplicate' }
      await applyEvent(tx, event)
      return { outcome: 'processed' }
    })
  }

  @Post('batches')
  @HttpCode(200)
  batch(@Body() { events }: BenchBatch): Promise<{ outcome: string }> {
    return this.prisma.$transaction(async (tx) => {
      const claims = await tx.processedEvent.createManyAndReturn({
        data: events.map(claimOf).toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1)),
        skipDuplicates: true,
        select: { eventId: true },
      })
      if (claims.length === 0) return { outcome: 'duplicate' }
      const claimed = new Set(claims.map(({ eventId }) => eventId))
      await applyEvents(
        tx,
        events.filter(({ id }) => claimed.has(id)),
      )
      return { outcome: 'processed' }
    })
  }
}

@Module({})
class PrismaModule {}

export function moduleOf(config: ApplicationConfig): DynamicModule {
  return { module: PrismaModule, controllers: [EventsController], providers: [prismaOf(config)] }
}
