// Applies the migrations to an empty database and holds them against the schema.
import { spawnSync } from 'node:child_process'
import { startPostgres } from './postgres.mjs'

const COMMANDS = [
  'migrate deploy',
  'migrate status',
  'migrate diff --from-migrations prisma/migrations --to-schema prisma/schema.prisma --exit-code',
]

const postgres = await startPostgres({ durable: false })
try {
  const env = { ...process.env, DATABASE_URL: postgres.urlOf('check_migrations') }
  for (const command of COMMANDS) {
    console.log(`prisma ${command}`)
    const { status } = spawnSync(process.execPath, ['node_modules/prisma/build/index.js', ...command.split(' ')], {
      env,
      stdio: 'inherit',
    })
    if (status !== 0) process.exitCode = 1
  }
} finally {
  await postgres.stop()
}
