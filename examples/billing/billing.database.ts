import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { startPostgres } from '../../tools/postgres.mjs'

export interface BillingDatabase {
  url: string
  /** Ends what was started for it. */
  close(): Promise<void>
}

const require = createRequire(import.meta.url)
/** Where package.json is: this file runs compiled, from another folder than its source. */
const ROOT = dirname(require.resolve('nestjs-webhook-idempotency/package.json'))

/** The migrated database that DATABASE_URL names, else one that is kept in a folder of the project. */
export async function openDatabase(): Promise<BillingDatabase> {
  const given = process.env.DATABASE_URL
  if (given) return migrated(given, async () => {})
  const server = await startPostgres({ directory: join(ROOT, '.data/postgres') })
  return migrated(server.urlOf('billing'), server.stop)
}

/** A migrated database that nobody has used, gone after `close()`: on the server of DATABASE_URL, else on one of its own. */
export async function openFreshDatabase(): Promise<BillingDatabase> {
  const name = `billing_${randomUUID()}`
  const given = process.env.DATABASE_URL
  if (given) return migrated(onSameServer(given, name), () => dropDatabase(given, name))
  const server = await startPostgres({ durable: false })
  return migrated(server.urlOf(name), server.stop)
}

async function migrated(url: string, close: () => Promise<void>): Promise<BillingDatabase> {
  try {
    await migrate(url)
    return { url, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** As one would in production: `prisma migrate deploy`, which also creates a database that is not there. */
async function migrate(url: string): Promise<void> {
  const env = { ...process.env, DATABASE_URL: url, PRISMA_HIDE_UPDATE_MESSAGE: '1', CHECKPOINT_DISABLE: '1' }
  const prisma = require.resolve('prisma/build/index.js')
  try {
    await promisify(execFile)(process.execPath, [prisma, 'migrate', 'deploy'], { cwd: ROOT, env })
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    throw new Error(`prisma migrate deploy failed:\n${stdout ?? ''}${stderr ?? ''}`, { cause: error })
  }
}

function onSameServer(url: string, database: string): string {
  const other = new URL(url)
  other.pathname = database
  return other.href
}

async function dropDatabase(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`)
  } finally {
    await client.end()
  }
}
