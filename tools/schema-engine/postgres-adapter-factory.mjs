import { randomUUID } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import { ColumnTypeEnum, DriverAdapterError } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { parsePostgresUrl } from './postgres-url.mjs'

/** @import { SqlDriverAdapter, SqlResultSet, SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils' */

// Catalogs have columns of the type "char", which the adapter does not know: they pass through it as text that is marked.
const CHAR = 18
const TEXT = 25
const CHAR_MARK = '\0char'

/**
 * `@prisma/adapter-pg` with what migrations need besides.
 * @implements {SqlMigrationAwareDriverAdapterFactory}
 */
export class PostgresAdapterFactory {
  provider = /** @type {const} */ ('postgres')
  adapterName = '@prisma/adapter-pg'

  /** @param {string} url */
  constructor(url) {
    this.connection = parsePostgresUrl(url)
  }

  /** @returns {Promise<SqlDriverAdapter>} */
  connect() {
    return connect(this.connection)
  }

  /** @returns {Promise<SqlDriverAdapter>} */
  async connectToShadowDb() {
    const database = `prisma_migrate_shadow_db_${randomUUID()}`
    const main = await this.connect()
    await main.executeScript(`CREATE DATABASE "${database}"`)
    const shadow = await connect({ ...this.connection, database })
    const disconnect = shadow.dispose.bind(shadow)
    // The adapter's own dispose() drops the database while still connected to it, which PostgreSQL refuses.
    shadow.dispose = async () => {
      await disconnect()
      await main.executeScript(`DROP DATABASE "${database}"`)
      await main.dispose()
    }
    return shadow
  }
}

/**
 * @param {pg.ClientConfig} connection
 * @returns {Promise<SqlDriverAdapter>}
 */
async function connect(connection) {
  const adapter = await new PrismaPg({ ...connection, Client: CatalogClient }).connect()
  const queryRaw = adapter.queryRaw.bind(adapter)
  adapter.queryRaw = async (query) => readMarks(await queryRaw(query))
  // The adapter's own executeScript() splits at every semicolon, also in strings and function bodies.
  adapter.executeScript = (script) => executeScript(adapter.underlyingDriver(), script)
  return adapter
}

/**
 * @param {pg.Pool} pool
 * @param {string} script
 */
async function executeScript(pool, script) {
  try {
    await pool.query(script)
  } catch (error) {
    throw error instanceof pg.DatabaseError ? toDriverAdapterError(error) : error
  }
}

/** @param {pg.DatabaseError} error */
function toDriverAdapterError({ code = '', severity = '', message, detail, column, hint }) {
  return new DriverAdapterError({ kind: 'postgres', code, severity, message, detail, column, hint })
}

class CatalogClient extends pg.Client {
  /** @param {pg.ClientConfig} [config] */
  constructor(config) {
    super(config)
    this.connection.on('rowDescription', ({ fields }) => {
      for (const field of fields) if (field.dataTypeID === CHAR) markAsChar(field)
    })
  }
}

/** @param {pg.FieldDef} field */
function markAsChar(field) {
  field.dataTypeID = TEXT
  field.name += CHAR_MARK
}

/**
 * @param {SqlResultSet} result
 * @returns {SqlResultSet}
 */
function readMarks({ columnNames, columnTypes, ...result }) {
  return {
    ...result,
    columnNames: columnNames.map((name) => name.replace(CHAR_MARK, '')),
    columnTypes: columnTypes.map((type, index) =>
      columnNames[index]?.endsWith(CHAR_MARK) ? ColumnTypeEnum.Character : type,
    ),
  }
}
