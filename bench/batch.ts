import { newBatch, newDelivery } from './harness/bench-event.js'
import type { Contestant } from './harness/contestants.js'
import { startContestants } from './harness/contestants.js'
import { Databases } from './harness/databases.js'
import { deliverTimes } from './harness/load.js'
import { numberOf, parseOptions } from './harness/options.js'
import { machineWith, printReport, show } from './harness/report.js'
import { interleave } from './harness/rounds.js'
import type { Spread } from './harness/statistics.js'
import { ratioOf, spreadOf } from './harness/statistics.js'

/** A way to deliver so many events to one application; resolves when all are answered. */
interface Way {
  title: string
  contestant: Contestant
  deliver(): Promise<void>
}

const options = parseOptions({ events: { type: 'string' } })
const rounds = numberOf(options.rounds, options.quick ? 3 : 9)
const events = numberOf(options.events, 250)
/** Less than a tenth of the time of as many deliveries. */
const GOAL = 0.1

const databases = await Databases.open(options)
try {
  const field = await startContestants(['ours', 'prisma'], databases)
  try {
    const ways = field.contestants.flatMap(waysOf)
    for (const way of ways) await way.deliver()
    const results = await interleave(ways, rounds, timeOf)
    const oneByOne = results.get(ways[0]!)!
    const summaries = [...results].map(([way, times]) => ({
      way,
      time: spreadOf(times),
      ratio: ratioOf(times, oneByOne),
    }))
    const batch = summaries.find(({ way }) => way.title === 'one batch')!
    const atOnce = summaries.find(({ way }) => way.title.includes('8 at once'))!
    printReport(
      {
        bench: 'batch',
        machine: machineWith(await databases.version()),
        settings: { rounds, events, durable: options.durable },
        goals: [
          goalOf('one after the other', batch.ratio),
          goalOf('8 at once', ratioOf(results.get(batch.way)!, results.get(atOnce.way)!)),
        ],
        figures: [
          {
            title: `${events} events, from the first request to the last answer`,
            rows: summaries.map(({ way, time, ratio }) => ({
              subject: way.contestant.subject.title,
              way: way.title,
              ms: show(time.median),
              'min - max': `${show(time.min)} - ${show(time.max)}`,
              'to one by one': show(ratio.median),
            })),
          },
        ],
        data: summaries.map(({ way, time, ratio }) => ({ subject: way.contestant.name, way: way.title, time, ratio })),
      },
      options,
    )
  } finally {
    await field.close()
  }
} finally {
  await databases.close()
}

function waysOf(contestant: Contestant): Way[] {
  const { url } = contestant.application
  const single = (connections: number) => async () => {
    await deliverTimes({ url, path: '/events', connections, next: newDelivery }, events)
  }
  const whole = (path: '/batches' | '/batches/each') => async () => {
    await deliverTimes({ url, path, connections: 1, next: () => ({ body: newBatch(events), id: '' }) }, 1)
  }
  const ways = [
    { title: 'deliveries one after the other', contestant, deliver: single(1) },
    { title: 'deliveries, 8 at once', contestant, deliver: single(8) },
    { title: 'one batch', contestant, deliver: whole('/batches') },
  ]
  // Its handler runs one statement for each event, where the others run one for all.
  const each = { title: 'one batch, each: true', contestant, deliver: whole('/batches/each') }
  return contestant.name === 'ours' ? [...ways, each] : ways
}

async function timeOf(way: Way): Promise<number> {
  const began = performance.now()
  await way.deliver()
  return performance.now() - began
}

function goalOf(than: string, ratio: Spread) {
  return {
    goal: `a batch of ${events} takes less than a tenth of the time of ${events} deliveries ${than}`,
    figure: show(ratio.median),
    met: ratio.median < GOAL,
  }
}
