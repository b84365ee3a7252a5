// Installs the packed library into applications that are no part of this project. Each runs the contract; those that
// `nest new` makes get the library by `nest add`.
//   npm run test:package                       all of them
//   npm run test:package -- nest11 fastify     those whose name has one of these words
//   npm run test:package -- --tarball a.tgz    a package that was packed before
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startPostgres } from '../../tools/postgres.mjs'
import { runApplication } from './application.mjs'
import { runNewApplication } from './new-application.mjs'

const { values, positionals: words } = parseArgs({ allowPositionals: true, options: { tarball: { type: 'string' } } })
const cache = join(tmpdir(), 'nestjs-webhook-idempotency-applications')
mkdirSync(cache, { recursive: true })

/** @typedef {{ cache: string, tarball: string, url: string }} Options */

/** @type {[name: string, run: (options: Options) => Promise<void>][]} */
const applications = [
  ...readdirSync(new URL('applications', import.meta.url)).map(
    (name) => /** @type {const} */ ([name, (/** @type {Options} */ options) => runApplication(name, options)]),
  ),
  ['new-nest11', (options) => runNewApplication('new-nest11', '11.0.13', options)],
  ['new-nest12', (options) => runNewApplication('new-nest12', '12.0.8', options)],
]
const chosen = applications.filter(([name]) => words.length === 0 || words.some((word) => name.includes(word)))
if (chosen.length === 0) {
  throw new Error(
    `No application has "${words.join(' ')}" in its name: ${applications.map(([name]) => name).join(', ')}.`,
  )
}

const tarball = values.tarball ?? pack(join(cache, 'package.tgz'))
const postgres = await startPostgres({ durable: false })
/** @type {string[]} */
const failed = []
try {
  for (const [name, run] of chosen) {
    const started = performance.now()
    console.log(`\n== ${name}`)
    const failure = await createDatabase(postgres, name)
      .then((url) => run({ cache, tarball, url }))
      .catch((/** @type {Error} */ error) => error)
    if (failure) {
      failed.push(name)
      console.error(failure.message)
    }
    console.log(`${failure ? 'FAILED' : 'ok'} ${name} (${((performance.now() - started) / 1000).toFixed(0)} s)`)
  }
} finally {
  await postgres.stop()
}
console.log(`\n${chosen.length - failed.length} passed, ${failed.length} failed`)
process.exitCode = failed.length > 0 ? 1 : 0

/**
 * @param {import('../../tools/postgres.mjs').Postgres} postgres
 * @param {string} name
 */
async function createDatabase(postgres, name) {
  const client = new pg.Client(postgres.url)
  await client.connect()
  await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`)
  await client.end()
  return postgres.urlOf(name)
}

/** @param {string} file */
function pack(file) {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  execFileSync(process.execPath, ['tools/pack.mjs', file], { cwd: root, stdio: 'inherit' })
  return file
}
