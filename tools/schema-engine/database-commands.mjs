import pg from 'pg'
import { parsePostgresUrl } from './postgres-url.mjs'

/** @typedef {{ code?: string, message: string }} Failure https://www.prisma.io/docs/orm/reference/error-reference */

/** @type {Record<string, (connection: pg.ClientConfig) => Promise<void>>} */
const commands = {
  'can-connect-to-database': (connection) => query(connection, 'SELECT 1'),
  'create-database': ({ database = '', ...connection }) =>
    query({ ...connection, database: 'postgres' }, `CREATE DATABASE ${pg.escapeIdentifier(database)}`),
}

/**
 * Runs a command that the CLI starts the engine for, and tells failures as the CLI reads them.
 * @param {string | undefined} name
 * @param {string} url
 * @returns {Promise<number>} the exit code
 */
export async function runDatabaseCommand(name = '', url) {
  try {
    const command = commands[name]
    if (!command)
      throw new Error(`The schema engine has no command "${name}", only ${Object.keys(commands).join(', ')}.`)
    await command(parsePostgresUrl(url))
    return 0
  } catch (error) {
    reportFailure(describe(/** @type {Error} */ (error), url))
    return 1
  }
}

/**
 * @param {pg.ClientConfig} connection
 * @param {string} statement
 */
async function query(connection, statement) {
  const client = new pg.Client(connection)
  try {
    await client.connect()
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/**
 * @param {Error & { code?: string }} error
 * @param {string} url
 * @returns {Failure}
 */
function describe(error, url) {
  const { host, username, pathname } = new URL(url)
  switch (error.code) {
    case 'ECONNREFUSED':
    case 'ECONNRESET':
    case 'EHOSTUNREACH':
    case 'ENOTFOUND':
    case 'ETIMEDOUT':
      return { code: 'P1001', message: `Can't reach database server at ${host}. Is it running?` }
    case '28P01':
      return { code: 'P1000', message: `The database server at ${host} refused the credentials of ${username}.` }
    case '3D000':
      return { code: 'P1003', message: `Database ${pathname.slice(1)} does not exist on the server at ${host}.` }
    default:
      return { message: error.message }
  }
}

/** @param {Failure} failure */
function reportFailure({ code, message }) {
  const entry = { level: 'ERROR', target: 'schema_engine::logger', fields: { message, error_code: code } }
  // The CLI skips the first line, which a native engine uses for something else.
  process.stderr.write(`\n${JSON.stringify(entry)}\n`)
}
