import type { Contestant, Field } from './harness/contestants.js'
import { startContestants } from './harness/contestants.js'
import { Databases } from './harness/databases.js'
import { numberOf, parseOptions } from './harness/options.js'
import type { Figures, Goal, Row } from './harness/report.js'
import { machineWith, printReport, show } from './harness/report.js'
import type { SceneResult } from './scenes/run-scene.js'
import { runScene } from './scenes/run-scene.js'
import type { Scene } from './scenes/scene.js'
import { batches, distinct, lateDuplicates, storm } from './scenes/scenes.js'
import type { SubjectName } from './subjects/catalog.js'
import { subjects } from './subjects/catalog.js'

const options = parseOptions({ seconds: { type: 'string' }, only: { type: 'string' }, subjects: { type: 'string' } })
const rounds = numberOf(options.rounds, options.quick ? 5 : 15)
const seconds = numberOf(options.seconds, options.quick ? 0.15 : 0.6)
const warmUp = options.quick ? 2 : 8
const scenes = (
  options.quick
    ? [distinct(8), lateDuplicates(8), storm(), batches(4)]
    : [
        distinct(1),
        distinct(8),
        distinct(64),
        lateDuplicates(1),
        lateDuplicates(8),
        lateDuplicates(64),
        storm(),
        batches(4),
      ]
).filter(({ title }) => title.includes(options.only ?? ''))

/** The least ratios to the transaction by hand, by scene. */
const WANTED: Record<string, Partial<Record<SubjectName, number>>> = {
  'distinct events, 8 connections': { ours: 0.98, 'ours-sql': 1.2 },
  'late duplicates, 8 connections': { ours: 1, 'ours-sql': 1.3 },
}

const databases = await Databases.open(options)
try {
  const field = await startContestants(subjectNames(), databases)
  try {
    const results = new Map<Scene, SceneResult[]>()
    for (const scene of scenes) {
      await databases.settle()
      console.log(`${scene.title} …`)
      results.set(scene, await runScene(scene, field.contestants, { rounds, seconds, warmUp }))
    }
    const figures = [...[...results].map(([scene, result]) => figuresOf(scene, result, field)), guaranteesOf(field)]
    const report = {
      bench: 'bench',
      machine: machineWith(await databases.version()),
      settings: { rounds, seconds, durable: options.durable, quick: options.quick },
      goals: goalsOf(results),
      figures,
      data: [...results].map(([{ title, unit }, result]) => ({ scene: title, unit, result })),
    }
    printReport(report, options)
  } finally {
    await field.close()
  }
} finally {
  await databases.close()
}

function subjectNames(): SubjectName[] {
  const names = Object.keys(subjects) as SubjectName[]
  const wanted = options.subjects?.split(',')
  return wanted ? names.filter((name) => name === 'prisma' || wanted.includes(name)) : names
}

function figuresOf(scene: Scene, results: readonly SceneResult[], field: Field): Figures {
  const rows: Row[] = results.map(({ title, perSecond, ratio, p50, p99, cpu, refused, double }) => ({
    subject: title,
    [`${scene.unit}/s`]: show(perSecond.median),
    'min - max': `${show(perSecond.min)} - ${show(perSecond.max)}`,
    'to by hand': show(ratio.median),
    'ratio min - max': `${show(ratio.min)} - ${show(ratio.max)}`,
    'p50 ms': show(p50.median),
    'p99 ms': show(p99.median),
    'CPU µs': show(cpu.median),
    refused,
    double,
  }))
  for (const contestant of field.contestants.filter((contestant) => !scene.suits(contestant))) {
    rows.push({ subject: contestant.subject.title, [`${scene.unit}/s`]: 'cannot' })
  }
  for (const { subject } of field.missing) rows.push({ subject: subject.title, [`${scene.unit}/s`]: 'not run' })
  return { title: scene.title, rows }
}

/** A rival that does less may be faster. */
function guaranteesOf({ contestants, missing }: Field): Figures {
  const run = contestants.map(({ subject }: Contestant) => ({
    subject: subject.title,
    'does not guarantee': subject.lacks,
  }))
  const notRun = missing.map(({ subject, reason }) => ({
    subject: subject.title,
    'does not guarantee': `not run: ${reason}`,
  }))
  return { title: 'What was compared', rows: [...run, ...notRun] }
}

function goalsOf(results: ReadonlyMap<Scene, readonly SceneResult[]>): Goal[] {
  return [...results].flatMap(([{ title }, result]) => {
    const wanted = WANTED[title] ?? {}
    return result.flatMap(({ subject, title: name, ratio }) => {
      const least = wanted[subject]
      if (!least) return []
      const goal = `${title}: ${name} at least ${least} of what the transaction by hand does`
      return [{ goal, figure: show(ratio.median), met: ratio.median >= least }]
    })
  })
}
