import { createInterface } from 'node:readline'

/** @typedef {{ id: number, method?: string, params?: unknown }} Request */
/** @typedef {Record<string, (params: unknown) => unknown>} Engine */

const SERVER_ERROR = 4466

// As WebAssembly the engine opens a shadow database for devDiagnostic but not for these, which then have the schema from
// its cache. The CLI's own devDiagnostic is not enough: migrations that it applies afterwards are not in that cache yet.
const READS_CACHED_HISTORY = new Set(['evaluateDataLoss', 'createMigration'])

/**
 * Answers the CLI's JSON-RPC requests, one a line, until it closes stdin.
 * @param {() => Promise<unknown>} createEngine
 */
export async function serve(createEngine) {
  /** @type {Engine | undefined} */
  let engine
  // The engine's panics are thrown in a microtask of its own and would leave the request unanswered.
  const panic = new Promise((_, reject) => process.on('uncaughtException', reject))
  for await (const line of createInterface({ input: process.stdin })) {
    /** @type {Request} */
    const { id, method, params } = JSON.parse(line)
    if (!method) continue // the CLI's reply to `print`
    try {
      engine ??= /** @type {Engine} */ (await createEngine())
      send({ id, result: await Promise.race([call(engine, method, params), panic]) })
    } catch (error) {
      sendError(id, /** @type {Error} */ (error))
    }
  }
  process.exit()
}

/**
 * @param {Engine} engine
 * @param {string} method
 * @param {unknown} params
 */
async function call(engine, method, params) {
  const run = engine[method === 'getDatabaseVersion' ? 'version' : method]
  if (!run) throw new Error(`The schema engine has no method "${method}".`)
  if (READS_CACHED_HISTORY.has(method)) await engine.devDiagnostic?.(params)
  const result = await run.call(engine, params)
  if (method === 'diff') print(/** @type {import('@prisma/schema-engine-wasm').DiffResult} */ (result).stdout)
  return result ?? {}
}

/** @param {string | null} content */
function print(content) {
  if (content) send({ id: 'print', method: 'print', params: { content } })
}

/**
 * @param {number} id
 * @param {Error & { code?: string }} error
 */
function sendError(id, { code, message }) {
  send({ id, error: { code: SERVER_ERROR, message, data: { is_panic: false, message, error_code: code } } })
}

/** @param {object} message */
function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}
