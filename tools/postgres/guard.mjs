import { fork } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'

/** @import { Command, Job, Reply } from './guard-process.mjs' */

/** A process between this one and PostgreSQL: it notices the end of this one even by SIGKILL, and cleans up then. */
export class Guard {
  #process
  #ended

  /** @param {Job} job */
  constructor(job) {
    this.#process = fork(fileURLToPath(new URL('guard-process.mjs', import.meta.url)), [JSON.stringify(job)], {
      cwd: tmpdir(),
      detached: true, // or Ctrl-C would end it as well, before it has cleaned up
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#ended = once(this.#process, 'exit')
    this.#letThisProcessEnd()
  }

  async start() {
    try {
      await this.tell('start')
    } catch (error) {
      await this.release()
      throw error
    }
  }

  /** @param {Command} command */
  async tell(command) {
    this.#process.ref() // or this process could end, successfully, before it hears that the guard has ended
    this.#process.channel?.ref()
    this.#process.send(command)
    const [failure] = /** @type {Reply} */ (await Promise.race([once(this.#process, 'message'), this.#unexpectedEnd()]))
    this.#letThisProcessEnd()
    if (failure) throw new Error(failure)
  }

  async release() {
    this.#process.ref()
    if (this.#process.connected) this.#process.disconnect()
    await this.#ended
  }

  #letThisProcessEnd() {
    this.#process.unref()
    this.#process.channel?.unref()
  }

  /** @returns {Promise<Reply>} */
  async #unexpectedEnd() {
    await this.#ended
    return ['The process that guards PostgreSQL has ended.']
  }
}
