import { setTimeout as sleep } from 'node:timers/promises'
import type { OnApplicationShutdown, Provider } from '@nestjs/common'
import { PrismaPg } from '@prisma/adapter-pg'
import type { Prisma } from '../../prisma/generated/client.js'
import { PrismaClient } from '../../prisma/generated/client.js'
import type { ApplicationConfig } from '../harness/application-process.js'
import type { BenchEvent } from '../harness/bench-event.js'
import { SOURCE } from '../harness/bench-event.js'

export class BenchPrisma extends PrismaClient implements OnApplicationShutdown {
  constructor({ databaseUrl, poolSize }: ApplicationConfig) {
    super({ adapter: new PrismaPg({ connectionString: databaseUrl, max: poolSize }) })
  }

  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect()
  }
}

export function prismaOf(config: ApplicationConfig): Provider {
  return { provide: BenchPrisma, useFactory: () => new BenchPrisma(config) }
}

/** The effect of one event: a single statement, so that what stands around it weighs as much as it can. */
export async function applyEvent(tx: Prisma.TransactionClient, event: BenchEvent): Promise<void> {
  await tx.credit.create({ data: creditOf(event) })
  if (event.holdMs) await sleep(event.holdMs)
}

export function claimOf({ id, type }: BenchEvent) {
  return { source: SOURCE, eventId: id, eventType: type }
}

export async function applyEvents(tx: Prisma.TransactionClient, events: readonly BenchEvent[]): Promise<void> {
  await tx.credit.createMany({ data: events.map(creditOf) })
}

function creditOf({ id, account, amount }: BenchEvent) {
  return { accountId: account, source: SOURCE, eventId: id, amount }
}
