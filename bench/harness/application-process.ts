import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { SubjectName } from '../subjects/catalog.js'
import type { Profile } from './cpu-profile.js'

/** What an application is told when it starts. */
export interface ApplicationConfig {
  subject: SubjectName
  databaseUrl: string
  redisUrl?: string
  poolSize: number
}

/** What an application can be asked. */
export type Question =
  | { ask: 'usage' }
  | { ask: 'collectGarbage' }
  | { ask: 'prune'; olderThan: string }
  | { ask: 'startProfile' }
  | { ask: 'stopProfile' }
  | { ask: 'stop' }

/** What a process has used since its start, in µs, and holds, in bytes. */
export interface Usage {
  cpu: number
  heap: number
  rss: number
}

export type Reply = { url: string } | { value: unknown } | { error: string }

/** A Nest application in a process of its own, as the bench sees it. */
export class ApplicationProcess {
  private constructor(
    private readonly process: ChildProcess,
    readonly url: string,
  ) {}

  static async start(config: ApplicationConfig, execArgv: string[] = []): Promise<ApplicationProcess> {
    const child = fork(fileURLToPath(new URL('../server.js', import.meta.url)), [JSON.stringify(config)], {
      execArgv: ['--expose-gc', ...execArgv],
      env: { ...process.env, NODE_ENV: 'production' },
    })
    const reply = await replyOf(child)
    return new ApplicationProcess(child, (reply as { url: string }).url)
  }

  usage(): Promise<Usage> {
    return this.ask({ ask: 'usage' })
  }

  collectGarbage(): Promise<void> {
    return this.ask({ ask: 'collectGarbage' })
  }

  /** @returns how many claims were deleted */
  prune(olderThan: Date): Promise<number> {
    return this.ask({ ask: 'prune', olderThan: olderThan.toISOString() })
  }

  startProfile(): Promise<void> {
    return this.ask({ ask: 'startProfile' })
  }

  stopProfile(): Promise<Profile> {
    return this.ask({ ask: 'stopProfile' })
  }

  async stop(): Promise<void> {
    const ended = once(this.process, 'exit')
    this.process.send({ ask: 'stop' } satisfies Question)
    await ended
  }

  private async ask<Value>(question: Question): Promise<Value> {
    const reply = replyOf(this.process)
    this.process.send(question)
    return ((await reply) as { value: Value }).value
  }
}

async function replyOf(child: ChildProcess): Promise<Reply> {
  const ended = new AbortController()
  const exit = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
    throw new Error(`The application ended with code ${code}.`)
  })
  try {
    const [reply] = (await Promise.race([once(child, 'message', { signal: ended.signal }), exit])) as [Reply]
    if ('error' in reply) throw new Error(reply.error)
    return reply
  } finally {
    exit.catch(() => {})
    ended.abort()
  }
}
