// The adapter of Prisma 6 cannot read PostgreSQL's catalogs, so that `prisma db push` fails where no engine was downloaded.
const { readFileSync } = require('node:fs')
const { join } = require('node:path')
const { Client } = require('pg')

async function migrate() {
  const client = new Client(process.env.DATABASE_URL)
  await client.connect()
  await client.query(readFileSync(join(__dirname, 'schema.sql'), 'utf8'))
  await client.end()
}

migrate()
