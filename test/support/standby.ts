import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from '../../prisma/generated/client.js'
import { startPostgres } from '../../tools/postgres.mjs'

/** A migrated server, and a standby of it that will not hear of anything that happens after it was made. */
export interface ServerWithStandby {
  query(sql: string, values?: unknown[]): Promise<unknown>
  /** A client that reads from the standby what it reads outside of transactions, as behind a proxy that balances reads. */
  prismaThatReadsFromStandby(): PrismaClient
  stop(): Promise<void>
}

/** @param sql - what both of them have seen */
export async function startWithStandby(sql: string): Promise<ServerWithStandby> {
  const parent = await mkdtemp(join(tmpdir(), 'standby-'))
  execFileSync('chmod', ['755', parent])
  const directory = join(parent, 'primary')
  const first = await startPostgres({ directory, durable: false })
  await query(first.url, [...migrations(), sql].join(';\n'))
  await first.stop()
  const copy = join(parent, 'standby')
  execFileSync('cp', ['-a', directory, copy])
  await writeFile(join(copy, 'standby.signal'), '')
  const primary = await startPostgres({ directory, durable: false })
  const standby = await startPostgres({ directory: copy, durable: false })
  return {
    query: (text, values) => query(primary.url, text, values),
    prismaThatReadsFromStandby: () => new PrismaClient({ adapter: balanced(primary.url, standby.url) }),
    async stop() {
      await Promise.all([primary.stop(), standby.stop()])
      await rm(parent, { recursive: true })
    },
  }
}

function migrations(): string[] {
  const folders = readdirSync('prisma/migrations', { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const names = folders.map(({ name }) => name).toSorted()
  return names.map((name) => readFileSync(join('prisma/migrations', name, 'migration.sql'), 'utf8'))
}

function balanced(primary: string, standby: string): PrismaPg {
  const reads = new PrismaPg({ connectionString: standby }).connect()
  return new Proxy(new PrismaPg({ connectionString: primary }), {
    get(factory, key) {
      const value: unknown = Reflect.get(factory, key, factory)
      if (key !== 'connect') return typeof value === 'function' ? value.bind(factory) : value
      return async () => {
        const adapter = await factory.connect()
        const standbyAdapter = await reads
        adapter.queryRaw = (statement) => standbyAdapter.queryRaw(statement)
        const dispose = adapter.dispose.bind(adapter)
        adapter.dispose = async () => void (await Promise.all([dispose(), standbyAdapter.dispose()]))
        return adapter
      }
    },
  })
}

async function query(url: string, sql: string, values?: unknown[]): Promise<unknown> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql, values)).rows
  } finally {
    await client.end()
  }
}
