import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { PrismaPg } from '@prisma/adapter-pg'
import BetterSqlite3 from 'better-sqlite3'
import mariadb from 'mariadb'
import pg from 'pg'
import { PrismaClient as PostgresClient } from '../../prisma/generated/client.js'
import { PrismaClient as MysqlClient } from '../../prisma/mysql/generated/client.js'
import { PrismaClient as SqliteClient } from '../../prisma/sqlite/generated/client.js'

/** Each test reads and writes only what the three clients share. */
export type Client = PostgresClient

/** A migrated database of the caller's own on one of the servers. */
export interface TestDatabase {
  prisma(): Client
  /** A statement outside of every Prisma client. */
  execute(sql: string): Promise<void>
  drop(): Promise<void>
}

export interface TestServer {
  /** As it stands in the names of the tests. */
  name: string
  provider: 'postgresql' | 'mysql' | 'sqlite'
  create(): Promise<TestDatabase>
}

/** The servers to test, told by URLs: `postgresql:`, `mysql:` (MariaDB too) and `file:` for SQLite. */
export function serversOf(urls = process.env.TEST_DATABASE_URLS): TestServer[] {
  if (!urls) {
    throw new Error(
      'TEST_DATABASE_URLS is not set. Name the servers to test, separated by spaces, such as ' +
        '"postgresql://postgres@localhost:5432/postgres mysql://root@localhost:3306 file:"',
    )
  }
  return urls.split(/\s+/).filter(Boolean).map(serverOf)
}

function serverOf(url: string): TestServer {
  const { protocol, host } = new URL(url)
  if (protocol === 'file:') return { name: 'SQLite', provider: 'sqlite', create: createSqlite }
  if (protocol === 'mysql:') return { name: `MySQL at ${host}`, provider: 'mysql', create: () => createMysql(url) }
  return { name: `PostgreSQL at ${host}`, provider: 'postgresql', create: () => createPostgres(url) }
}

async function createPostgres(server: string): Promise<TestDatabase> {
  const name = newName()
  const url = new URL(server)
  const onServer = async (sql: string) => {
    const admin = new pg.Client(server)
    await admin.connect()
    try {
      await admin.query(sql)
    } finally {
      await admin.end()
    }
  }
  await onServer(`CREATE DATABASE "${name}"`)
  url.pathname = name
  const pool = new pg.Pool({ connectionString: url.href })
  // It ends before its sessions have, which DROP DATABASE then terminates; without a listener that ends the test.
  pool.on('error', () => {})
  const database = withClients(
    () => new PostgresClient({ adapter: new PrismaPg({ connectionString: url.href }) }),
    async (sql) => void (await pool.query(sql)),
    async () => {
      await pool.end()
      await onServer(`DROP DATABASE "${name}" WITH (FORCE)`)
    },
  )
  await migrate(database, 'prisma/migrations')
  return database
}

async function createMysql(server: string): Promise<TestDatabase> {
  const name = newName()
  const { hostname: host, port, username: user, password } = new URL(server)
  const options = { host, port: Number(port || 3306), user: user || 'root', password: decodeURIComponent(password) }
  const admin = await mariadb.createConnection({ ...options, multipleStatements: true })
  await admin.query(`CREATE DATABASE \`${name}\``)
  await admin.query(`USE \`${name}\``)
  const database = withClients(
    () =>
      new MysqlClient({
        adapter: new PrismaMariaDb({ ...options, database: name, connectionLimit: 10 }),
      }) as unknown as Client,
    async (sql) => void (await admin.query(sql)),
    async () => {
      await admin.query(`DROP DATABASE \`${name}\``)
      await admin.end()
    },
  )
  await migrate(database, 'prisma/mysql/migrations')
  return database
}

async function createSqlite(): Promise<TestDatabase> {
  const file = join(tmpdir(), `${newName()}.db`)
  const connection = new BetterSqlite3(file)
  const database = withClients(
    () => new SqliteClient({ adapter: new PrismaBetterSqlite3({ url: `file:${file}` }) }) as unknown as Client,
    async (sql) => void connection.exec(sql),
    async () => {
      connection.close()
      rmSync(file)
    },
  )
  await migrate(database, 'prisma/sqlite/migrations')
  return database
}

function withClients(
  create: () => Client,
  execute: TestDatabase['execute'],
  remove: () => Promise<void>,
): TestDatabase {
  const clients: Client[] = []
  return {
    execute,
    prisma() {
      const client = create()
      clients.push(client)
      return client
    },
    async drop() {
      await Promise.all(clients.map((client) => client.$disconnect()))
      await remove()
    },
  }
}

/** Prisma's engine from npm migrates PostgreSQL only, so the same SQL is run without it. */
async function migrate(database: TestDatabase, folder: string): Promise<void> {
  const migrations = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  for (const { name } of migrations) await database.execute(readFileSync(join(folder, name, 'migration.sql'), 'utf8'))
}

function newName(): string {
  return `test_${randomUUID().replaceAll('-', '')}`
}
