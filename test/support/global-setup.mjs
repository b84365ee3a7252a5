import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import pg from 'pg'
import { startPostgres } from '../../tools/postgres.mjs'

export const TEMPLATE = 'template_webhooks'

/** Starts the tests' PostgreSQL, or takes the one of DATABASE_URL, and migrates the database that the tests clone. */
export default async function setUp() {
  const url = process.env.DATABASE_URL ?? (await startOwn())
  const template = new URL(url)
  template.pathname = TEMPLATE
  await dropTemplate(url)
  await migrate(template.href)
  process.env.TEST_POSTGRES_URL = url
}

async function startOwn() {
  const postgres = await startPostgres({ durable: false, settings: { max_connections: '300' } })
  Object.assign(globalThis, { testPostgres: postgres })
  return postgres.url
}

/** @param {string} url */
async function dropTemplate(url) {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`)
  await client.end()
}

/** @param {string} url */
async function migrate(url) {
  const cli = ['node_modules/prisma/build/index.js', 'migrate', 'deploy']
  await promisify(execFile)(process.execPath, cli, { env: { ...process.env, DATABASE_URL: url } })
}
