import type { Contestant } from './harness/contestants.js'
import { startContestants } from './harness/contestants.js'
import type { Profile, TimeOfOwner } from './harness/cpu-profile.js'
import { hottestFunctions, timeByOwner } from './harness/cpu-profile.js'
import { Databases } from './harness/databases.js'
import { numberOf, parseOptions } from './harness/options.js'
import type { Row } from './harness/report.js'
import { machineWith, printReport, show } from './harness/report.js'
import { interleave } from './harness/rounds.js'
import { distinct, lateDuplicates } from './scenes/scenes.js'
import type { SubjectName } from './subjects/catalog.js'

const options = parseOptions({
  seconds: { type: 'string' },
  scene: { type: 'string', default: 'distinct' },
  subject: { type: 'string', multiple: true, default: ['ours', 'prisma'] },
  top: { type: 'string' },
})
const rounds = numberOf(options.rounds, options.quick ? 3 : 10)
const seconds = numberOf(options.seconds, options.quick ? 1 : 3)
const top = numberOf(options.top, 25)
const scene = options.scene === 'late' ? lateDuplicates(8) : distinct(8)

const databases = await Databases.open(options)
const field = await startContestants(options.subject as SubjectName[], databases)
try {
  const { contestants } = field
  for (const contestant of contestants) await warmUp(contestant)
  const results = await interleave(contestants, rounds, profile)
  const profiles = [...results].map(([{ subject }, slices]) => ({
    title: subject.title,
    deliveries: slices.reduce((sum, { deliveries }) => sum + deliveries, 0),
    owners: timeByOwner(slices.map((slice) => slice.profile)),
    functions: hottestFunctions(slices.map((slice) => slice.profile)).slice(0, top),
  }))
  printReport(
    {
      bench: 'profile',
      machine: machineWith(await databases.version()),
      settings: { rounds, seconds, scene: scene.title },
      goals: [],
      figures: [
        { title: `${scene.title}: µs per delivery, by whose code was running`, rows: besideOneAnother(profiles) },
        ...profiles.map(({ title, deliveries, functions }) => ({
          title: `${title}: functions by their own time`,
          rows: functions.map(({ name, owner, microseconds }) => ({
            function: name,
            owner,
            'µs per delivery': show(microseconds / deliveries),
          })),
        })),
      ],
      data: profiles,
    },
    options,
  )
} finally {
  await field.close()
  await databases.close()
}

function besideOneAnother(profiles: readonly { title: string; deliveries: number; owners: TimeOfOwner[] }[]): Row[] {
  const rows = new Map<string, Row>()
  for (const { title, deliveries, owners } of profiles) {
    for (const { owner, microseconds } of owners) {
      rows.set(owner, { ...(rows.get(owner) ?? { owner }), [title]: show(microseconds / deliveries) })
    }
  }
  return [...rows.values()]
}

async function warmUp(contestant: Contestant): Promise<void> {
  await scene.prepare?.(contestant)
  await scene.run(contestant, seconds * 2)
}

async function profile(contestant: Contestant): Promise<{ deliveries: number; profile: Profile }> {
  await contestant.application.startProfile()
  const { answered } = await scene.run(contestant, seconds)
  return { deliveries: answered, profile: await contestant.application.stopProfile() }
}
