import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg'
import { PostgresAdapterFactory } from './postgres-adapter-factory.mjs'

/** @typedef {Record<string, (params: unknown) => unknown>} Methods */

// As WebAssembly the engine opens a shadow database for devDiagnostic but not for these, which then have the schema from
// its cache. The CLI's own devDiagnostic is not enough: migrations that it applies afterwards are not in that cache yet.
const READS_CACHED_HISTORY = new Set(['evaluateDataLoss', 'createMigration'])

// The engine throws its panics in a microtask of its own: the promise that it has returned stays pending for ever.
const panicked = new Promise((_, reject) => process.on('uncaughtException', reject))

/** Prisma's schema engine, connected to one database. */
export class Engine {
  #methods

  /** @param {bindings.SchemaEngine} engine */
  constructor(engine) {
    this.#methods = /** @type {Methods} */ (/** @type {unknown} */ (engine))
  }

  /**
   * @param {string} url
   * @param {string[]} [schemaFiles]
   */
  static async connect(url, schemaFiles) {
    await loadWasm()
    const datamodels = schemaFiles?.map((file) => /** @type {[string, string]} */ ([file, readFileSync(file, 'utf8')]))
    const adapters = bindMigrationAwareSqlAdapterFactory(new PostgresAdapterFactory(url))
    return new Engine(await orPanic(bindings.SchemaEngine.new({ datamodels }, ignoreLogs, adapters)))
  }

  /**
   * @param {string} method
   * @param {unknown} params
   */
  async call(method, params) {
    if (READS_CACHED_HISTORY.has(method)) await this.#run('devDiagnostic', params)
    return this.#run(method === 'getDatabaseVersion' ? 'version' : method, params)
  }

  /**
   * @param {string} method
   * @param {unknown} params
   */
  #run(method, params) {
    const run = this.#methods[method]
    if (!run) throw new Error(`The schema engine has no method "${method}".`)
    return orPanic(run.call(this.#methods, params))
  }
}

/**
 * @template T
 * @param {T} result
 * @returns {Promise<Awaited<T>>}
 */
function orPanic(result) {
  return Promise.race([result, panicked])
}

/** @returns {Promise<string>} */
export async function engineVersion() {
  await loadWasm()
  return bindings.version()
}

// By hand, because Node 20 imports .wasm files only behind a flag.
async function loadWasm() {
  const { WebAssembly } = /** @type {any} */ (globalThis) // @types/node does not declare it
  Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY: { set_message: throwPanic } })
  const wasm = await readFile(new URL('schema_engine_bg.wasm', import.meta.resolve('@prisma/schema-engine-wasm')))
  const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': bindings })
  bindings.__wbg_set_wasm(instance.exports)
  instance.exports.__wbindgen_start()
}

/**
 * Without this a panic would say no more than "unreachable".
 * @param {string} message
 */
function throwPanic(message) {
  throw new Error(message)
}

function ignoreLogs() {}
