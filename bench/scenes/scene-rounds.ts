import type { Contestant } from '../harness/contestants.js'
import type { LoadResult } from '../harness/load.js'
import { interleave } from '../harness/rounds.js'
import type { Spread } from '../harness/statistics.js'
import { ratioOf, spreadOf } from '../harness/statistics.js'
import type { Subject, SubjectName } from '../subjects/catalog.js'
import { subjects } from '../subjects/catalog.js'
import type { Scene } from './scene.js'

export interface SceneOptions {
  rounds: number
  /** How long one round of one contestant takes. */
  seconds: number
  /** How many rounds of each do not count: the just-in-time compiler is at work, and connections are made. */
  warmUp: number
}

/** What a scene yielded for one contestant. */
export interface SceneResult {
  subject: SubjectName
  title: string
  perSecond: Spread
  /** To what the same transaction does when it is written by hand with Prisma. */
  ratio: Spread
  p50: Spread
  p99: Spread
  /** Of the application's process alone, in µs per answer. */
  cpu: Spread
  refused: number
  /** Effects beyond one for each event. */
  double: number
}

interface Round extends LoadResult {
  cpu: number
}

const BASELINE: SubjectName = 'prisma'

/** What a scene yielded so far: a contestant that was started again goes on where the one before it ended. */
export class SceneRounds {
  private readonly measured = new Map<SubjectName, { subject: Subject; rounds: Round[]; double: number }>()

  constructor(readonly scene: Scene) {}

  async run(field: readonly Contestant[], { rounds, seconds, warmUp }: SceneOptions): Promise<void> {
    const contestants = field.filter((contestant) => this.scene.suits(contestant))
    for (const contestant of contestants) await this.scene.prepare?.(contestant)
    // In turn as well: one that was left alone after its warm-up would be slower than the last one.
    await interleave(contestants, warmUp, (contestant) => this.scene.run(contestant, seconds))
    const doubleBefore = new Map<Contestant, number>()
    for (const contestant of contestants) doubleBefore.set(contestant, await contestant.database.doubleEffects())
    const results = await interleave(contestants, rounds, (contestant) => this.measure(contestant, seconds))
    for (const [contestant, more] of results) {
      const { name, subject, database } = contestant
      const { rounds, double } = this.measured.get(name) ?? { rounds: [], double: 0 }
      const doubleNow = (await database.doubleEffects()) - doubleBefore.get(contestant)!
      this.measured.set(name, { subject, rounds: [...rounds, ...more], double: double + doubleNow })
    }
  }

  get results(): SceneResult[] {
    const baseline = this.measured.get(BASELINE)!.rounds.map(({ perSecond }) => perSecond)
    // In the order of the catalog; the order of the starts is another one each time.
    const names = (Object.keys(subjects) as SubjectName[]).filter((name) => this.measured.has(name))
    return names.map((name) => {
      const { subject, rounds, double } = this.measured.get(name)!
      const rates = rounds.map(({ perSecond }) => perSecond)
      return {
        subject: name,
        title: subject.title,
        perSecond: spreadOf(rates.map((rate) => rate * this.scene.weight)),
        ratio: ratioOf(rates, baseline),
        p50: spreadOf(rounds.map(({ p50 }) => p50)),
        p99: spreadOf(rounds.map(({ p99 }) => p99)),
        cpu: spreadOf(rounds.map(({ cpu }) => cpu)),
        refused: rounds.reduce((sum, { refused }) => sum + refused, 0),
        double,
      }
    })
  }

  private async measure(contestant: Contestant, seconds: number): Promise<Round> {
    const before = await contestant.application.usage()
    const result = await this.scene.run(contestant, seconds)
    const after = await contestant.application.usage()
    return { ...result, cpu: (after.cpu - before.cpu) / result.answered }
  }
}
