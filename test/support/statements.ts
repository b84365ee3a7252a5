import type pg from 'pg'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../../prisma/generated/client.js'
import type { TestDatabase } from './database.js'

/**
 * A client that asks the test before a statement of a transaction leaves the driver adapter, as a busy machine would delay
 * it there. Whoever asks for one disconnects it.
 */
export function prismaThatAsks(
  database: TestDatabase,
  before: (sql: string) => unknown,
  pool?: pg.PoolConfig,
): PrismaClient {
  const asking = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get(_, key) {
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        if (key === 'connect' || key === 'startTransaction') {
          return async (...args: unknown[]) => asking(await value.apply(target, args))
        }
        if (key !== 'executeRaw' && key !== 'queryRaw') return value.bind(target)
        return async (query: { sql: string }) => {
          await before(query.sql)
          return value.call(target, query)
        }
      },
    })
  return new PrismaClient({ adapter: asking(new PrismaPg({ connectionString: database.url, ...pool })) })
}
