import { randomUUID } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from '../../prisma/generated/client.js'

export interface TestDatabase {
  url: string
  /** A client with a pool of its own, which `drop()` disconnects. */
  prisma(pool?: pg.PoolConfig): PrismaClient
  /** The rows that a statement yields, outside of every Prisma client. */
  query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>
  drop(): Promise<void>
}

/** Clones the migrated template into a database of the caller's own. */
export async function createDatabase(): Promise<TestDatabase> {
  const name = `test_${randomUUID()}`
  await asAdmin(async (admin) => {
    // PostgreSQL copies no template that another session is copying; the lock ends with the session.
    await admin.query(`SELECT pg_advisory_lock(hashtext('template_webhooks'))`)
    await admin.query(`CREATE DATABASE "${name}" TEMPLATE template_webhooks`)
  })
  return connect(name)
}

function connect(name: string): TestDatabase {
  const url = urlOf(name)
  const pool = new pg.Pool({ connectionString: url })
  // It ends before its sessions have, which DROP DATABASE then terminates; without a listener that ends the test.
  pool.on('error', () => {})
  const clients: PrismaClient[] = []
  return {
    url,
    prisma(options) {
      const client = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, ...options }) })
      clients.push(client)
      return client
    },
    async query(sql, values) {
      return (await pool.query(sql, values)).rows
    },
    async drop() {
      await Promise.all([pool.end(), ...clients.map((client) => client.$disconnect())])
      await asAdmin((admin) => admin.query(`DROP DATABASE "${name}" WITH (FORCE)`))
    },
  }
}

async function asAdmin(run: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client(urlOf('postgres'))
  await admin.connect()
  try {
    await run(admin)
  } finally {
    await admin.end()
  }
}

function urlOf(database: string): string {
  const url = new URL(process.env.TEST_POSTGRES_URL ?? '')
  url.pathname = database
  return url.href
}
