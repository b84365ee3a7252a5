import { execFile } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Databases, ROOT } from './harness/databases.js'
import { numberOf, parseOptions } from './harness/options.js'
import { machineWith, printReport, show } from './harness/report.js'
import { interleave } from './harness/rounds.js'
import { spreadOf } from './harness/statistics.js'
import type { StartedWith, Start } from './startup-application.js'

interface Variant {
  title: string
  /** Without the module, but with as much of Prisma at work. */
  beside: StartedWith
}

const VARIANTS: Record<StartedWith, Variant> = {
  nothing: { title: 'an application with Prisma that sends no query yet', beside: 'nothing' },
  module: { title: 'the same with the module, probe: false', beside: 'nothing' },
  query: { title: 'an application that sends one transaction at its start', beside: 'query' },
  probe: { title: 'one with the module and its probe, a transaction', beside: 'query' },
}

const options = parseOptions({})
const rounds = numberOf(options.rounds, options.quick ? 5 : 25)

const databases = await Databases.open(options)
const database = await databases.create('startup')
try {
  const variants = Object.keys(VARIANTS) as StartedWith[]
  for (const variant of variants) await start(variant)
  const results = await interleave(variants, rounds, start)
  const rows = [...results].map(([variant, starts]) => {
    const base = results.get(VARIANTS[variant].beside)!
    const added = spreadOf(starts.map(({ ready }, round) => ready - base[round]!.ready))
    const heap = spreadOf(starts.map(({ heap }, round) => heap - base[round]!.heap))
    const rss = spreadOf(starts.map(({ rss }, round) => rss - base[round]!.rss))
    return {
      variant,
      ready: spreadOf(starts.map(({ ready }) => ready)),
      imported: spreadOf(starts.map(({ imported }) => imported)),
      added,
      heap,
      rss,
    }
  })
  const published = sizeOf(join(ROOT, 'dist'))
  printReport(
    {
      bench: 'startup',
      machine: machineWith(await databases.version()),
      settings: { rounds },
      goals: [],
      figures: [
        {
          title: 'From the start of the process until it listens; what is added is the median of paired differences',
          rows: rows.map(({ variant, ready, imported, added, heap, rss }) => ({
            application: VARIANTS[variant].title,
            'ready ms': show(ready.median),
            'min - max': `${show(ready.min)} - ${show(ready.max)}`,
            'added ms': show(added.median),
            'of it import': show(imported.median),
            'added heap MB': show(heap.median / 1e6),
            'added RSS MB': show(rss.median / 1e6),
          })),
        },
        { title: 'What is installed', rows: [{ what: 'dist, all files', kB: show(published / 1e3) }] },
      ],
      data: { rows, publishedBytes: published },
    },
    options,
  )
} finally {
  await database.close()
  await databases.close()
}

async function start(variant: StartedWith): Promise<Start> {
  const script = fileURLToPath(new URL('startup-application.js', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script, variant, database.url])
  return JSON.parse(stdout) as Start
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return files.reduce((sum, file) => sum + fileSizeOf(join(folder, file)), 0)
}

function fileSizeOf(path: string): number {
  const stats = statSync(path)
  return stats.isFile() ? stats.size : 0
}
