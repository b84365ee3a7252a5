import { newEvent } from './harness/bench-event.js'
import type { Contestant } from './harness/contestants.js'
import { POOL_SIZE, startContestants } from './harness/contestants.js'
import { Databases } from './harness/databases.js'
import type { Sample } from './harness/open-loop.js'
import { Sender } from './harness/open-loop.js'
import { watchLongTransactions } from './harness/open-transactions.js'
import { numberOf, parseOptions } from './harness/options.js'
import { machineWith, printReport, show } from './harness/report.js'
import { interleave } from './harness/rounds.js'
import { percentileOf, spreadOf } from './harness/statistics.js'

const DUPLICATES = 40
/** One after the other in each round, so that a 99th percentile has enough to choose from. */
const STORMS = 3

interface Round {
  quietP99: number
  stormP99: number
  /** The most connections that the duplicates held at once. */
  connections: number
  /** Answers to the duplicates, by status. */
  answers: Record<string, number>
  unrelatedRefused: number
}

const options = parseOptions({ rate: { type: 'string' }, hold: { type: 'string' } })
const rounds = numberOf(options.rounds, options.quick ? 2 : 5)
/** Unrelated events per second: far below what any of the subjects can do. */
const rate = numberOf(options.rate, 100)
const holdMs = numberOf(options.hold, 1500)

const databases = await Databases.open(options)
try {
  const field = await startContestants(['ours', 'prisma'], databases)
  try {
    const { contestants } = field
    for (const contestant of contestants) await warmUp(contestant)
    const results = await interleave(contestants, rounds, measure)
    const summaries = [...results].map(([{ name, subject }, measured]) => ({
      name,
      title: subject.title,
      ...summaryOf(measured),
    }))
    const ours = summaries.find(({ name }) => name === 'ours')!
    printReport(
      {
        bench: 'storm',
        machine: machineWith(await databases.version()),
        settings: { rounds, rate, holdMs, duplicates: DUPLICATES, pool: POOL_SIZE, durable: options.durable },
        goals: [
          {
            goal: `the ${DUPLICATES} duplicates hold at most one connection`,
            figure: String(ours.connections),
            met: ours.connections <= 1,
          },
          {
            goal: `p99 of unrelated events at most 1.5 times its quiet value`,
            figure: show(ours.slowdown.median),
            met: ours.slowdown.median <= 1.5,
          },
        ],
        figures: [
          {
            title: `${rate} unrelated events per second, while ${DUPLICATES} duplicates of an event of ${holdMs} ms arrive; pool of ${POOL_SIZE}`,
            rows: summaries.map((summary) => ({
              subject: summary.title,
              connections: summary.connections,
              'quiet p99 ms': show(summary.quietP99.median),
              'storm p99 ms': show(summary.stormP99.median),
              'storm to quiet': show(summary.slowdown.median),
              'min - max': `${show(summary.slowdown.min)} - ${show(summary.slowdown.max)}`,
              'answers to duplicates': textOf(summary.answers),
              'unrelated refused': summary.unrelatedRefused,
            })),
          },
        ],
        data: summaries,
      },
      options,
    )
  } finally {
    await field.close()
  }
} finally {
  await databases.close()
}

async function warmUp({ application }: Contestant): Promise<void> {
  const sender = new Sender(application.url)
  const ends = performance.now() + 3000
  await sender.deliverSteadily(
    () => newEvent(),
    rate,
    () => performance.now() < ends,
  )
  await sender.close()
}

async function measure({ application, database }: Contestant): Promise<Round> {
  const sender = new Sender(application.url)
  const quietEnds = performance.now() + holdMs * STORMS
  const quiet = await sender.deliverSteadily(
    () => newEvent(),
    rate,
    () => performance.now() < quietEnds,
  )
  const watch = watchLongTransactions(database)
  let raging = true
  const duplicates = rage(sender).finally(() => {
    raging = false
  })
  const stormy = await sender.deliverSteadily(
    () => newEvent(),
    rate,
    () => raging,
  )
  const answers = countBy(await duplicates)
  const connections = await watch.stop()
  await sender.close()
  return {
    quietP99: p99Of(quiet),
    stormP99: p99Of(stormy),
    connections,
    answers,
    unrelatedRefused: stormy.filter(({ status }) => status !== 200).length,
  }
}

async function rage(sender: Sender): Promise<Sample[]> {
  const answers: Sample[] = []
  for (let storm = 0; storm < STORMS; storm++) {
    const event = newEvent(holdMs)
    answers.push(...(await Promise.all(Array.from({ length: DUPLICATES }, () => sender.deliver(event)))))
  }
  return answers
}

function summaryOf(measured: readonly Round[]) {
  return {
    connections: Math.max(...measured.map(({ connections }) => connections)),
    quietP99: spreadOf(measured.map(({ quietP99 }) => quietP99)),
    stormP99: spreadOf(measured.map(({ stormP99 }) => stormP99)),
    slowdown: spreadOf(measured.map(({ quietP99, stormP99 }) => stormP99 / quietP99)),
    answers: sumOf(measured.map(({ answers }) => answers)),
    unrelatedRefused: measured.reduce((sum, { unrelatedRefused }) => sum + unrelatedRefused, 0),
  }
}

function p99Of(samples: readonly Sample[]): number {
  return percentileOf(
    samples.map(({ took }) => took),
    0.99,
  )
}

function countBy(samples: readonly Sample[]): Record<string, number> {
  return sumOf(samples.map(({ status }) => ({ [status]: 1 })))
}

function sumOf(counts: readonly Record<string, number>[]): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const count of counts) for (const [key, value] of Object.entries(count)) sum[key] = (sum[key] ?? 0) + value
  return sum
}

function textOf(answers: Record<string, number>): string {
  return Object.entries(answers)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ')
}
