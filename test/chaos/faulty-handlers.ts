import { Body, Controller, Headers, HttpCode, Post } from '@nestjs/common'
import { PrismaService } from './prisma.service.js'
import type { Transfer } from './transfer.js'
import { applyTransfer, BEHAVIOUR_HEADER, SOURCE, TIMEOUT } from './transfer.js'

// What is written instead of this library. A run has to find their faults.

const TRANSACTION = { timeout: TIMEOUT, maxWait: TIMEOUT }

/** Claims first, and on its own: when the rest fails the event is lost, since it is a duplicate from then on. */
@Controller()
export class ClaimOutside {
  constructor(private readonly prisma: PrismaService) {}

  @Post('events')
  @HttpCode(200)
  async receive(@Body() event: Transfer, @Headers(BEHAVIOUR_HEADER) behaviour: string): Promise<unknown> {
    const claim = { source: SOURCE, eventId: event.id, eventType: event.type }
    const { count } = await this.prisma.processedEvent.createMany({ data: [claim], skipDuplicates: true })
    if (count === 0) return { outcome: 'duplicate' }
    await this.prisma.$transaction((tx) => applyTransfer(tx, event, JSON.parse(behaviour)), TRANSACTION)
    return { outcome: 'processed' }
  }
}

/**
 * Looks, claims and applies in one transaction, which seems right. But two can look before either claims, and the upsert,
 * there "so that a race does not throw", lets both go on; and after a swallowed error COMMIT is ROLLBACK, without an error.
 */
@Controller()
export class HandWritten {
  constructor(private readonly prisma: PrismaService) {}

  @Post('events')
  @HttpCode(200)
  receive(@Body() event: Transfer, @Headers(BEHAVIOUR_HEADER) behaviour: string): Promise<unknown> {
    const key = { source: SOURCE, eventId: event.id }
    return this.prisma.$transaction(async (tx) => {
      const where = { source_eventId: key }
      if (await tx.processedEvent.findUnique({ where })) return { outcome: 'duplicate' }
      await tx.processedEvent.upsert({ where, create: { ...key, eventType: event.type }, update: {} })
      await applyTransfer(tx, event, JSON.parse(behaviour))
      return { outcome: 'processed' }
    }, TRANSACTION)
  }
}
