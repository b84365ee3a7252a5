import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg'
import { PostgresAdapterFactory } from './postgres-adapter-factory.mjs'

/** @returns {Promise<string>} */
export async function engineVersion() {
  await loadWasm()
  return bindings.version()
}

/**
 * @param {string} url
 * @param {string[] | undefined} schemaFiles
 */
export async function createEngine(url, schemaFiles) {
  await loadWasm()
  return bindings.SchemaEngine.new(
    { datamodels: schemaFiles?.map((file) => [file, readFileSync(file, 'utf8')]) },
    ignoreLogs,
    bindMigrationAwareSqlAdapterFactory(new PostgresAdapterFactory(url)),
  )
}

function ignoreLogs() {}

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
