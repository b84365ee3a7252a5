import type { Contestant, Field } from './harness/contestants.js'
import { startContestants } from './harness/contestants.js'
import { Databases } from './harness/databases.js'
import { numberOf, parseOptions } from './harness/options.js'
import { interleave } from './harness/rounds.js'
import type { Figures, Goal, Row } from './harness/report.js'
import { machineWith, printReport, show } from './harness/report.js'
import { SceneRounds } from './scenes/scene-rounds.js'
import { batches, distinct, lateDuplicates, storm } from './scenes/scenes.js'
import type { SubjectName } from './subjects/catalog.js'
import { subjects } from './subjects/catalog.js'

const options = parseOptions({
  sittings: { type: 'string' },
  seconds: { type: 'string' },
  'warm-up': { type: 'string' },
  only: { type: 'string' },
  subjects: { type: 'string' },
})
const sittings = numberOf(options.sittings, options.quick ? 1 : 3)
/** Of one sitting. */
const rounds = numberOf(options.rounds, 5)
const seconds = numberOf(options.seconds, options.quick ? 0.15 : 0.5)
/** How long each contestant is at work before its first scene, in s: the just-in-time compiler takes some 20,000 deliveries. */
const warmUp = numberOf(options['warm-up'], options.quick ? 0.5 : 40)
/** Rounds of each scene that do not count. */
const warmUpRounds = options.quick ? 1 : 3
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
  const measured = scenes.map((scene) => new SceneRounds(scene))
  let lastField: Field | undefined
  for (let sitting = 0; sitting < sittings; sitting++) {
    lastField = await sit(measured, sitting)
  }
  const report = {
    bench: 'bench',
    machine: machineWith(await databases.version()),
    settings: { sittings, rounds, seconds, warmUp, warmUpRounds, durable: options.durable, quick: options.quick },
    goals: measured.flatMap(goalsOf),
    figures: [...measured.map((scene) => figuresOf(scene, lastField!)), guaranteesOf(lastField!)],
    data: measured.map(({ scene: { title, unit }, results }) => ({ scene: title, unit, result: results })),
  }
  printReport(report, options)
} finally {
  await databases.close()
}

/** All contestants anew, in another order: what the just-in-time compiler made of a process stays with it to its end. */
async function sit(measured: readonly SceneRounds[], sitting: number): Promise<Field> {
  const names = subjectNames()
  const turn = sitting % names.length
  const field = await startContestants([...names.slice(turn), ...names.slice(0, turn)], databases)
  try {
    console.log(`sitting ${sitting + 1} of ${sittings}: warm-up …`)
    await interleave(field.contestants, 4, (contestant) => distinct(8).run(contestant, warmUp / 4))
    for (const scene of measured) {
      await databases.settle()
      console.log(`sitting ${sitting + 1} of ${sittings}: ${scene.scene.title} …`)
      await scene.run(field.contestants, { rounds, seconds, warmUp: warmUpRounds })
    }
    return field
  } finally {
    await field.close()
  }
}

function subjectNames(): SubjectName[] {
  const names = Object.keys(subjects) as SubjectName[]
  const wanted = options.subjects?.split(',')
  return wanted ? names.filter((name) => name === 'prisma' || wanted.includes(name)) : names
}

function figuresOf({ scene, results }: SceneRounds, field: Field): Figures {
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

function goalsOf({ scene: { title }, results }: SceneRounds): Goal[] {
  const wanted = WANTED[title] ?? {}
  return results.flatMap(({ subject, title: name, ratio }) => {
    const least = wanted[subject]
    if (!least) return []
    const goal = `${title}: ${name} at least ${least} of what the transaction by hand does`
    return [{ goal, figure: show(ratio.median), met: ratio.median >= least }]
  })
}
