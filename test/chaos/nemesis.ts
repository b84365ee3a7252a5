import { setTimeout as sleep } from 'node:timers/promises'
import type { Postgres } from '../../tools/postgres.mjs'
import type { Fleet } from './fleet.js'
import type { Ledger } from './ledger.js'
import type { Direction, Proxy } from './proxy.js'
import type { Random } from './random.js'

/** How often each fault is wanted, in s. */
const PERIODS = { kill: 4, deployment: 15, termination: 5, databaseCrash: 20, cut: 7 }

export type Fault = keyof typeof PERIODS

export interface Surroundings {
  fleet: Fleet
  /** The network of each application, in their order. */
  proxies: readonly Proxy[]
  postgres: Postgres
  ledger: Ledger
  /** Tells what is done. */
  tell(text: string): void
}

/** Breaks everything that is not the application's own code, again and again, and mends it. */
export class Nemesis {
  /** How often each fault was done. */
  readonly done: Record<Fault, number> = { kill: 0, deployment: 0, termination: 0, databaseCrash: 0, cut: 0 }
  private readonly faults: Record<Fault, (random: Random) => Promise<void>> = {
    kill: (random) => this.kill(random),
    deployment: (random) => this.deploy(random),
    termination: (random) => this.terminate(random),
    databaseCrash: (random) => this.crashDatabase(random),
    cut: (random) => this.cut(random),
  }
  /** Faults of one process wait for each other; so do crashes of the database. */
  private readonly turns = new Map<unknown, Promise<void>>()

  constructor(
    private readonly around: Surroundings,
    private readonly random: Random,
  ) {}

  /** Resolves when everything is mended. */
  async run(seconds: number): Promise<void> {
    const kinds = Object.keys(PERIODS) as Fault[]
    const all = kinds.flatMap((kind, index) => this.schedule(kind, seconds, this.random.child(index)))
    await Promise.all(all)
  }

  /** Spread over the run, each somewhere within its own share of the time. */
  private schedule(kind: Fault, seconds: number, random: Random): Promise<void>[] {
    const count = Math.max(1, Math.floor(seconds / PERIODS[kind]))
    const share = (seconds * 1000) / (count + 1)
    return Array.from({ length: count }, async (_, index) => {
      const own = random.child(index)
      await sleep(share * (index + 0.5) + own.between(0, share))
      await this.faults[kind](own)
      this.done[kind]++
    })
  }

  private async kill(random: Random): Promise<void> {
    const application = random.pick(this.around.fleet.applications)
    await this.inTurn(application, async () => {
      this.around.tell(`kill ${application.name}`)
      await application.kill()
      await sleep(random.between(0, 500))
      await application.start()
    })
  }

  private async deploy(random: Random): Promise<void> {
    const application = random.pick(this.around.fleet.applications)
    await this.inTurn(application, async () => {
      this.around.tell(`deploy ${application.name}`)
      await application.stop()
      await application.start()
    })
  }

  /** Those that are in a transaction, one or all. */
  private async terminate(random: Random): Promise<void> {
    const limit = random.pick([1, 3, 100])
    this.around.tell(`terminate up to ${limit} backends`)
    const sql = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
                 ORDER BY xact_start IS NULL, pid LIMIT ${limit}`
    await this.inTurn(this.around.postgres, () => this.around.ledger.query(sql))
  }

  private async crashDatabase(random: Random): Promise<void> {
    await this.inTurn(this.around.postgres, async () => {
      this.around.tell('crash the database')
      await this.around.postgres.crash()
      await sleep(random.between(0, 1000))
      await this.around.postgres.restart()
    })
  }

  private async cut(random: Random): Promise<void> {
    const proxy = random.pick(this.around.proxies)
    const kind = random.pick(['reset', 'hole', 'hole that ends in a reset'])
    const direction = random.pick<Direction>(['requests', 'answers', 'both'])
    const ms = random.between(300, 4000)
    await this.inTurn(proxy, async () => {
      const name = `network ${this.around.proxies.indexOf(proxy) + 1}`
      this.around.tell(kind === 'reset' ? `${name}: reset` : `${name}: ${kind}, ${direction}, ${ms} ms`)
      if (kind !== 'reset') {
        proxy.swallow(direction)
        await sleep(ms)
      }
      if (kind !== 'hole') proxy.reset()
      proxy.recover()
    })
  }

  private inTurn(subject: unknown, work: () => Promise<unknown>): Promise<void> {
    const turn = (this.turns.get(subject) ?? Promise.resolve()).then(async () => void (await work()))
    this.turns.set(subject, turn)
    return turn
  }
}
