import type { OnApplicationShutdown } from '@nestjs/common'
import { Inject, Injectable } from '@nestjs/common'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from '../../prisma/generated/client.js'

export const DATABASE_URL = Symbol('DATABASE_URL')

@Injectable()
export class PrismaService extends PrismaClient implements OnApplicationShutdown {
  constructor(@Inject(DATABASE_URL) connectionString: string) {
    super({ adapter: new PrismaPg(poolOf(connectionString), { disposeExternalPool: true }) })
  }

  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect()
  }
}

/**
 * Between the pool and the adapter, nobody listens to the errors of a connection that is refused in the same packet in which
 * it is accepted; the process ends then: https://github.com/brianc/node-postgres/issues/2762
 */
function poolOf(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 6 })
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
