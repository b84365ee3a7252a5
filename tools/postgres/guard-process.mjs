import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * @typedef {object} Job
 * @property {{ initdb: string, pgCtl: string }} binaries
 * @property {string} [directory] keeps the data
 * @property {Record<string, string>} settings
 */

/** @typedef {keyof typeof commands} Command */
/** @typedef {[failure: string | null]} Reply */

const LOG = 'server.log'

/** @type {Job} */
const job = JSON.parse(process.argv[2] ?? '')
const { initdb, pgCtl } = job.binaries
let directory = job.directory ?? ''
let running = false

const commands = {
  start() {
    directory ||= mkdtempSync(join(tmpdir(), 'postgres-'))
    if (!existsSync(path('PG_VERSION'))) initialise()
    if (existsSync(path('postmaster.pid'))) refuseSecondServer()
    configure()
    startServer()
  },
  restart() {
    if (running) stopServer('fast')
    startServer()
  },
  crash() {
    stopServer('immediate')
  },
}

process.on('message', (/** @type {Command} */ command) => reply(failureOf(commands[command])))
process.on('disconnect', () => {
  if (running) stopServer('fast')
  const temporary = !job.directory && directory
  if (temporary) rmSync(temporary, { recursive: true })
})

/** @param {string} name */
function path(name) {
  return join(directory, name)
}

/** @param {string | null} failure */
function reply(failure) {
  process.send?.(failure, undefined, undefined, ignoreClosedChannel)
}

function ignoreClosedChannel() {}

function initialise() {
  const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  execute(initdb, ['--pgdata', directory, ...options])
}

function refuseSecondServer() {
  const { status } = spawnSync(pgCtl, ['status', '--pgdata', directory])
  if (status === 0) throw new Error(`A PostgreSQL runs already in ${directory}. Stop it, or use another directory.`)
}

function configure() {
  const lines = Object.entries(job.settings).map(([name, value]) => `${name} = '${value.replace(/['\\]/g, '\\$&')}'\n`)
  writeFileSync(path('postgresql.auto.conf'), lines.join(''))
}

function startServer() {
  rmSync(path(LOG), { force: true })
  execute(pgCtl, ['start', '--wait', '--pgdata', directory, '--log', path(LOG)])
  running = true
}

/** @param {'fast' | 'immediate'} mode */
function stopServer(mode) {
  running = false
  // It fails when there is nothing to stop because the server was killed, which is as good.
  spawnSync(pgCtl, ['stop', '--wait', '--pgdata', directory, '--mode', mode])
}

/**
 * @param {string} program
 * @param {string[]} args
 */
function execute(program, args) {
  execFileSync(program, args, { stdio: 'pipe' })
}

/**
 * @param {() => void} action
 * @returns {string | null}
 */
function failureOf(action) {
  try {
    action()
    return null
  } catch (error) {
    return /** @type {Error} */ (error).message + readLog()
  }
}

function readLog() {
  return existsSync(path(LOG)) ? `\n${readFileSync(path(LOG), 'utf8')}` : ''
}
