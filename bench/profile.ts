import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Contestant } from './harness/contestants.js'
import { startContestants } from './harness/contestants.js'
import type { Profile } from './harness/cpu-profile.js'
import { hottestFunctions, timeByOwner } from './harness/cpu-profile.js'
import { Databases } from './harness/databases.js'
import { numberOf, parseOptions } from './harness/options.js'
import { machineWith, printReport, show } from './harness/report.js'
import { distinct, lateDuplicates } from './scenes/scenes.js'
import type { SubjectName } from './subjects/catalog.js'

const options = parseOptions({
  seconds: { type: 'string' },
  scene: { type: 'string', default: 'distinct' },
  subject: { type: 'string', multiple: true, default: ['ours', 'prisma'] },
  top: { type: 'string' },
})
const seconds = numberOf(options.seconds, options.quick ? 2 : 15)
const top = numberOf(options.top, 25)
const scene = options.scene === 'late' ? lateDuplicates(8) : distinct(8)

const databases = await Databases.open(options)
try {
  const profiles = []
  for (const name of options.subject as SubjectName[]) profiles.push(await profileOf(name))
  printReport(
    {
      bench: 'profile',
      machine: machineWith(await databases.version()),
      settings: { seconds, scene: scene.title },
      goals: [],
      figures: profiles.flatMap(({ title, deliveries, profile }) => [
        {
          title: `${title}, ${scene.title}: CPU time by owner (${deliveries} deliveries, start-up included)`,
          rows: timeByOwner(profile).map(({ owner, microseconds }) => ({
            owner,
            'µs per delivery': show(microseconds / deliveries),
          })),
        },
        {
          title: `${title}: functions by their own time`,
          rows: hottestFunctions(profile, top).map(({ name, owner, microseconds }) => ({
            function: name,
            owner,
            'µs per delivery': show(microseconds / deliveries),
          })),
        },
      ]),
      data: profiles.map(({ title, deliveries, profile }) => ({ title, deliveries, owners: timeByOwner(profile) })),
    },
    options,
  )
} finally {
  await databases.close()
}

async function profileOf(name: SubjectName) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-profile-'))
  try {
    const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=250']
    const field = await startContestants([name], databases, flags)
    const [contestant] = field.contestants as [Contestant]
    const deliveries = await load(contestant).finally(() => field.close())
    const [file] = readdirSync(folder)
    const profile = JSON.parse(readFileSync(join(folder, file!), 'utf8')) as Profile
    return { title: contestant.subject.title, deliveries, profile }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function load(contestant: Contestant): Promise<number> {
  await scene.prepare?.(contestant)
  const { answered } = await scene.run(contestant, seconds)
  return answered
}
