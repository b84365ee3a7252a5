import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

/**
 * @typedef {object} Job
 * @property {{ uid: number, gid: number }} [user] whom PostgreSQL runs as
 * @property {{ native: string, initdb: string, pgCtl: string }} binaries
 * @property {string} [directory] keeps the data
 * @property {Record<string, string>} settings
 */

/** @typedef {keyof typeof commands} Command */
/** @typedef {[failure: string | null]} Reply */

const LOG = 'server.log'

/** @type {Job} */
const job = JSON.parse(process.argv[2] ?? '')
const { user } = job
let programs = ''
let initdb = ''
let pgCtl = ''
let directory = job.directory ?? ''
let running = false

const commands = {
  start() {
    placePrograms()
    directory ||= makeTemporary()
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
  for (const temporary of [!job.directory && directory, programs]) {
    if (temporary) rmSync(temporary, { recursive: true })
  }
})

// A project below /root, or in any other folder of root's alone, hides its programs from the user that the server runs as.
function placePrograms() {
  const { native } = job.binaries
  if (user && spawnSync(job.binaries.initdb, ['--version'], { ...user }).status !== 0) {
    programs = makeTemporary()
    cpSync(native, programs, { recursive: true, verbatimSymlinks: true })
  }
  const placed = (/** @type {string} */ program) => (programs ? join(programs, relative(native, program)) : program)
  initdb = placed(job.binaries.initdb)
  pgCtl = placed(job.binaries.pgCtl)
}

function makeTemporary() {
  const temporary = mkdtempSync(join(tmpdir(), 'postgres-'))
  if (user) chownSync(temporary, user.uid, user.gid)
  return temporary
}

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
  const { status } = spawnSync(pgCtl, ['status', '--pgdata', directory], { ...user })
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
  spawnSync(pgCtl, ['stop', '--wait', '--pgdata', directory, '--mode', mode], { ...user })
}

/**
 * @param {string} program
 * @param {string[]} args
 */
function execute(program, args) {
  execFileSync(program, args, { ...user, stdio: 'pipe' })
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
