import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ApplicationConfig } from './application.js'
import type { Random } from './random.js'

/** How long a process may take to end after SIGTERM, in ms. */
const SHUTDOWN_BOUND = 20_000

/** One process of the application. */
export class Application {
  /** Where it listens, when it does. */
  url: string | undefined
  private process: ChildProcess | undefined
  /** The process that is to end. */
  private ending: ChildProcess | undefined
  private ended: Promise<unknown> = Promise.resolve()
  private errors = ''

  constructor(
    readonly name: string,
    private readonly config: ApplicationConfig,
    private readonly report: (fault: string) => void,
  ) {}

  /** Resolves when it listens. */
  async start(): Promise<void> {
    const file = fileURLToPath(new URL('application.js', import.meta.url))
    const child = fork(file, [JSON.stringify(this.config)], {
      execArgv: ['--enable-source-maps'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.process = child
    this.errors = ''
    child.stderr!.on('data', (text: Buffer) => (this.errors = (this.errors + text.toString()).slice(-4000)))
    this.ended = once(child, 'exit').then(() => this.onExit(child))
    child.on('message', (url: string) => (this.url = url))
    await Promise.race([once(child, 'message'), this.ended])
  }

  /** As the kernel does when memory is short. */
  async kill(): Promise<void> {
    await this.end('SIGKILL')
  }

  /** As a deployment does. */
  async stop(): Promise<void> {
    const stopping = new AbortController()
    const bound = sleep(SHUTDOWN_BOUND, true, { signal: stopping.signal }).catch(() => false)
    const ended = this.end('SIGTERM')
    if ((await Promise.race([ended, bound])) === true) {
      this.report(`${this.name} did not end within ${SHUTDOWN_BOUND} ms after SIGTERM`)
      await this.end('SIGKILL')
    }
    stopping.abort()
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.process
    this.url = undefined
    this.ending = child
    child?.kill(signal)
    await this.ended
  }

  private onExit(child: ChildProcess): void {
    const asTold = this.ending === child && (child.signalCode !== null || child.exitCode === 0)
    if (asTold) return
    this.url = undefined
    this.report(`${this.name} ended by itself (${child.exitCode ?? child.signalCode}): ${this.errors}`)
  }
}

/** All processes of the application. */
export class Fleet {
  constructor(readonly applications: readonly Application[]) {}

  async start(): Promise<void> {
    await Promise.all(this.applications.map((application) => application.start()))
  }

  async stop(): Promise<void> {
    await Promise.all(this.applications.map((application) => application.stop()))
  }

  /** One that listens, as a load balancer would choose; none when all are down. */
  choose(random: Random): string | undefined {
    const urls = this.applications.map(({ url }) => url).filter((url) => url !== undefined)
    return urls.length === 0 ? undefined : random.pick(urls)
  }
}
