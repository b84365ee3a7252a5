import type { OnApplicationShutdown } from '@nestjs/common'
import { Inject, Injectable } from '@nestjs/common'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../../prisma/generated/client.js'
import type { BillingConfig } from './billing.config.js'
import { BILLING_CONFIG } from './billing.config.js'

@Injectable()
export class PrismaService extends PrismaClient implements OnApplicationShutdown {
  constructor(@Inject(BILLING_CONFIG) { databaseUrl }: BillingConfig) {
    super({ adapter: new PrismaPg({ connectionString: databaseUrl }) })
  }

  /** Not in onModuleDestroy, which Nest calls while deliveries may still be in progress. */
  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect()
  }
}
