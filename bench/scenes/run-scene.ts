import type { Contestant } from '../harness/contestants.js'
import type { LoadResult } from '../harness/load.js'
import { interleave } from '../harness/rounds.js'
import type { Spread } from '../harness/statistics.js'
import { ratioOf, spreadOf } from '../harness/statistics.js'
import type { SubjectName } from '../subjects/catalog.js'
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

export async function runScene(
  scene: Scene,
  field: readonly Contestant[],
  { rounds, seconds, warmUp }: SceneOptions,
): Promise<SceneResult[]> {
  const contestants = field.filter((contestant) => scene.suits(contestant))
  const doubleBefore = new Map<Contestant, number>()
  for (const contestant of contestants) {
    await scene.prepare?.(contestant)
    doubleBefore.set(contestant, await contestant.database.doubleEffects())
  }
  // In turn as well: one that was left alone after its warm-up would be slower than the last one.
  await interleave(contestants, warmUp, (contestant) => scene.run(contestant, seconds))
  const results = await interleave(contestants, rounds, (contestant) => measure(scene, contestant, seconds))
  const baseline = results.get(contestants.find(({ name }) => name === BASELINE)!)!
  const summaries: SceneResult[] = []
  for (const [contestant, measured] of results) {
    summaries.push({
      subject: contestant.name,
      title: contestant.subject.title,
      perSecond: spreadOf(measured.map(({ perSecond }) => perSecond * scene.weight)),
      ratio: ratioOf(
        measured.map(({ perSecond }) => perSecond),
        baseline.map(({ perSecond }) => perSecond),
      ),
      p50: spreadOf(measured.map(({ p50 }) => p50)),
      p99: spreadOf(measured.map(({ p99 }) => p99)),
      cpu: spreadOf(measured.map(({ cpu }) => cpu)),
      refused: measured.reduce((sum, { refused }) => sum + refused, 0),
      double: (await contestant.database.doubleEffects()) - doubleBefore.get(contestant)!,
    })
  }
  return summaries
}

async function measure(scene: Scene, contestant: Contestant, seconds: number): Promise<Round> {
  const before = await contestant.application.usage()
  const result = await scene.run(contestant, seconds)
  const after = await contestant.application.usage()
  return { ...result, cpu: (after.cpu - before.cpu) / result.answered }
}
