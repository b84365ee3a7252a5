import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Answer } from './application.js'
import { deliver } from './application.js'
import type { TestDatabase } from './database.js'
import type { Message } from './doomed-application.js'

/** An application that the test can end. */
export interface DoomedProcess {
  /** @param event - stays in no handler when its type is `passing` */
  deliver(event: { id: string; type?: string }): Promise<Answer>
  /** Resolves when the handler has written the effects of an event, before COMMIT. */
  written(id: string): Promise<void>
  /** Ends it as the kernel would, out of memory: nothing of it runs any more. */
  kill(): Promise<void>
  /** Asks it to end, as a deployment would; resolves with its exit code or the signal that ended it. */
  terminate(): Promise<number | NodeJS.Signals>
  /** Lets handlers go on that stay. */
  letHandlersEnd(): void
}

export async function startDoomedProcess(
  database: TestDatabase,
  { staysInHandler = false } = {},
): Promise<DoomedProcess> {
  const child = fork(pathTo('doomed-application.ts'), {
    execArgv: ['--import', new URL('run-typescript.mjs', import.meta.url).href],
    env: { ...process.env, DATABASE_URL: database.url, STAYS_IN_HANDLER: staysInHandler ? 'yes' : '' },
  })
  const exited = once(child, 'exit')
  const written = new Set<string>()
  const url = await new Promise<string>((resolve, reject) => {
    child.on('message', (message: Message) => {
      if ('listening' in message) resolve(message.listening)
      else written.add(message.written)
    })
    child.on('exit', (code) => reject(new Error(`The process exited with ${code} before it listened`)))
  })
  return {
    deliver: (event) => deliver(`${url}/corvel`, event),
    async written(id) {
      while (!written.has(id)) await once(child, 'message')
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async terminate() {
      child.kill('SIGTERM')
      const [code, signal] = await exited
      return code ?? signal
    },
    letHandlersEnd: () => void child.send('go on'),
  }
}

function pathTo(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}
