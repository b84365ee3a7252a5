import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { startPostgres } from '../../tools/postgres.mjs'
import { ACCOUNT } from './bench-event.js'

const require = createRequire(import.meta.url)
/** Where package.json is: this file runs compiled, from another folder than its source. */
export const ROOT = dirname(require.resolve('nestjs-webhook-idempotency/package.json'))

const TEMPLATE = 'bench_template'

export interface DatabasesOptions {
  /** Whether COMMIT waits for the disk; false shows more of what the application does, and less of the disk. */
  durable: boolean
}

/** A PostgreSQL with one migrated database for each contestant, so that none works in the rows of another. */
export class Databases {
  private readonly created: string[] = []

  private constructor(
    private readonly admin: pg.Pool,
    private readonly urlOf: (database: string) => string,
    private readonly stop: () => Promise<void>,
  ) {}

  /** On the server of DATABASE_URL, else on one of its own. */
  static async open({ durable }: DatabasesOptions): Promise<Databases> {
    const given = process.env.DATABASE_URL
    if (given)
      return Databases.migrated(
        given,
        (name) => onSameServer(given, name),
        async () => {},
      )
    const server = await startPostgres({ durable, settings: { max_connections: '300' } })
    return Databases.migrated(server.url, server.urlOf, server.stop)
  }

  private static async migrated(
    url: string,
    urlOf: (database: string) => string,
    stop: () => Promise<void>,
  ): Promise<Databases> {
    const admin = poolOf(url)
    const databases = new Databases(admin, urlOf, stop)
    try {
      await admin.query(`DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`)
      databases.created.push(TEMPLATE)
      await migrate(urlOf(TEMPLATE))
      return databases
    } catch (error) {
      await databases.close()
      throw error
    }
  }

  async create(name: string): Promise<Database> {
    const database = `bench_${name}`
    await this.admin.query(`DROP DATABASE IF EXISTS "${database}" WITH (FORCE)`)
    await this.admin.query(`CREATE DATABASE "${database}" TEMPLATE ${TEMPLATE}`)
    this.created.push(database)
    return new Database(this.urlOf(database))
  }

  /** Writes back what the preparation left in memory, so that it does not happen while something is measured. */
  async settle(): Promise<void> {
    await this.admin.query('CHECKPOINT')
  }

  async version(): Promise<string> {
    const { rows } = await this.admin.query<{ server_version: string }>('SHOW server_version')
    return rows[0]!.server_version
  }

  async close(): Promise<void> {
    for (const name of this.created) await this.admin.query(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`)
    await this.admin.end()
    await this.stop()
  }
}

/** One database, seen past the application. */
export class Database {
  private readonly pool: pg.Pool

  constructor(readonly url: string) {
    this.pool = poolOf(url)
  }

  async query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]> {
    return (await this.pool.query<Row>(sql, values)).rows
  }

  async number(sql: string, values?: unknown[]): Promise<number> {
    const [row] = await this.query(sql, values)
    return Number(Object.values(row!)[0])
  }

  /** How many effects there are beyond one for each event. */
  async doubleEffects(): Promise<number> {
    return this.number('SELECT count(*) - count(DISTINCT (source, event_id)) FROM credits')
  }

  close(): Promise<void> {
    return this.pool.end()
  }
}

/** An idle session may be told that its server stops before it has ended by itself. */
function poolOf(url: string): pg.Pool {
  return new pg.Pool({ connectionString: url, max: 1 }).on('error', () => {})
}

async function migrate(url: string): Promise<void> {
  const env = { ...process.env, DATABASE_URL: url, PRISMA_HIDE_UPDATE_MESSAGE: '1', CHECKPOINT_DISABLE: '1' }
  const prisma = require.resolve('prisma/build/index.js')
  await promisify(execFile)(process.execPath, [prisma, 'migrate', 'deploy'], { cwd: ROOT, env })
  const database = new Database(url)
  await database.query('INSERT INTO accounts (id) VALUES ($1)', [ACCOUNT])
  await database.close()
}

function onSameServer(url: string, database: string): string {
  const other = new URL(url)
  other.pathname = database
  return other.href
}
