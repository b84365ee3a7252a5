import { createInterface } from 'node:readline'

/** @import { DiffResult } from '@prisma/schema-engine-wasm' */
/** @import { Engine } from './engine.mjs' */

/** @typedef {{ id: number, method?: string, params?: unknown }} Request */

const SERVER_ERROR = 4466

/**
 * Answers the CLI's JSON-RPC requests, one a line, until it closes stdin.
 * @param {() => Promise<Engine>} connect
 */
export async function serve(connect) {
  /** @type {Engine | undefined} */
  let engine
  for await (const line of createInterface({ input: process.stdin })) {
    /** @type {Request} */
    const { id, method, params } = JSON.parse(line)
    if (!method) continue // the CLI's reply to `print`
    try {
      engine ??= await connect()
      const result = await engine.call(method, params)
      if (method === 'diff') print(/** @type {DiffResult} */ (result))
      send({ id, result: result ?? {} })
    } catch (error) {
      sendError(id, /** @type {Error} */ (error))
    }
  }
  process.exit()
}

/** @param {DiffResult} diff */
function print({ stdout }) {
  if (stdout) send({ id: 'print', method: 'print', params: { content: stdout } })
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
