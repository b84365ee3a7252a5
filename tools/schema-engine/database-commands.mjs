import pg from 'pg'
import { parsePostgresUrl } from './postgres-url.mjs'

/** @typedef {{ code?: string, message: string }} Failure a code of https://www.prisma.io/docs/orm/reference/error-reference */

/** @type {Record<string, (connection: pg.ClientConfig) => Promise<void>>} */
const commands = {
  'can-connect-to-database': (connection) => query(connection, 'SELECT 1'),
  'create-database': ({ database = '', ...connection }) =>
    query({ ...connection, database: 'postgres' }, `CREATE DATABASE ${pg.escapeIdentifier(database)}`),
}

const UNREACHABLE = new Set(['ECONNREFUSED', 'ECONNRESET', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENOTFOUND', 'ETIMEDOUT'])

/**
 * Runs one of the commands that the CLI spawns the engine for, and reports a failure where the CLI looks for it.
 * @param {string | undefined} name
 * @param {string} url
 * @returns {Promise<number>} the exit code
 */
export async function runDatabaseCommand(name = '', url) {
  try {
    const command = commands[name]
    if (!command)
      throw new Error(`The schema engine has no command "${name}". Use one of ${Object.keys(commands).join(', ')}.`)
    await command(parsePostgresUrl(url))
    return 0
  } catch (error) {
    report(/** @type {Failure} */ (error))
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
  } catch (error) {
    throw describe(/** @type {Failure} */ (error), connection)
  } finally {
    await client.end()
  }
}

/**
 * @param {Failure} error
 * @param {pg.ClientConfig} connection
 * @returns {Failure}
 */
function describe({ code = '', message }, { host, port = 5432, user, database }) {
  const server = `database server at ${host}:${port}`
  if (UNREACHABLE.has(code)) return { code: 'P1001', message: `Can't reach the ${server}. Is it running?` }
  if (code === '28P01') return { code: 'P1000', message: `The ${server} refuses the password of the user ${user}.` }
  if (code === '3D000') return { code: 'P1003', message: `The ${server} has no database ${database}.` }
  return { message }
}

/** @param {Failure} failure */
function report({ code, message }) {
  const entry = { level: 'ERROR', target: 'schema_engine::logger', fields: { message, error_code: code } }
  process.stderr.write(`\n${JSON.stringify(entry)}\n`) // the CLI skips the first line
}
