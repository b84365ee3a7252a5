import { Databases } from './harness/databases.js'
import { numberOf, parseOptions } from './harness/options.js'
import type { Goal } from './harness/report.js'
import { machineWith, printReport, show } from './harness/report.js'
import type { ClaimTimes } from './scale/claim-times.js'
import { measureClaims } from './scale/claim-times.js'
import { measureMemory } from './scale/memory.js'
import { measurePruning } from './scale/pruning.js'

const options = parseOptions({
  /** Sizes of the table, by commas. */
  rows: { type: 'string' },
  claims: { type: 'string' },
  prune: { type: 'string' },
  /** How many deliveries before the first and the second look at the memory. */
  deliveries: { type: 'string' },
})
const rounds = numberOf(options.rounds, options.quick ? 5 : 15)
const sizes = numbersOf(options.rows, options.quick ? [0, 100_000] : [0, 1_000_000, 10_000_000])
const claims = numberOf(options.claims, options.quick ? 50 : 300)
const pruned = numberOf(options.prune, options.quick ? 50_000 : 1_000_000)
const [few, many] = numbersOf(options.deliveries, options.quick ? [500, 2000] : [20_000, 200_000]) as [number, number]

// As PostgreSQL is shipped, autovacuum and disk included: this is about the database.
const databases = await Databases.open({ durable: true })
try {
  const times = await measureClaims(databases, { sizes, rounds, claims })
  const pruning = await measurePruning(databases, pruned)
  const memory = await measureMemory(databases, few, many)
  const heapGrowth = memory.after.heap / memory.before.heap
  printReport(
    {
      bench: 'scale',
      machine: machineWith(await databases.version()),
      settings: { rounds, sizes, claims, pruned, deliveries: [few, many] },
      goals: [
        ...goalsOf(times),
        {
          goal: `p99 of deliveries while ${pruned} claims are pruned at most twice its quiet value`,
          figure: show(pruning.p99Ratio),
          met: pruning.p99Ratio <= 2,
        },
        {
          goal: `heap after ${many} deliveries within 10 % of that after ${few}`,
          figure: show(heapGrowth),
          met: heapGrowth <= 1.1,
        },
      ],
      figures: [
        {
          title: 'A claim by the size of the table, one at a time; process() is BEGIN, claim, COMMIT by this library',
          rows: times.flatMap(({ rows, kinds }) =>
            kinds.map(({ kind, time, ratio }) => ({
              'rows before': rows,
              what: kind,
              µs: show(time.median),
              'min - max': `${show(time.min)} - ${show(time.max)}`,
              'to empty': show(ratio.median),
              'ratio min - max': `${show(ratio.min)} - ${show(ratio.max)}`,
            })),
          ),
        },
        {
          title: 'Size of the table',
          rows: times
            .filter(({ rows }) => rows > 0)
            .map(({ rows, size }) => ({
              rows,
              'table MB per million': show(size.table / rows),
              'unique key MB per million': show(size.key / rows),
              'received_at index MB per million': show(size.byTime / rows),
              'all MB': show((size.table + size.key + size.byTime) / 1e6),
            })),
        },
        {
          title: `Pruning ${pruned} claims of ${pruned * 2}`,
          rows: [
            { what: 'alone', 'rows/s': show(pruning.alone) },
            {
              what: 'beside deliveries',
              'rows/s': show(pruning.beside),
              'p99 quiet ms': show(pruning.quiet.p99),
              'p99 while pruning ms': show(pruning.busy.p99),
              'to quiet': show(pruning.p99Ratio),
              'deliveries/s quiet': show(pruning.quiet.perSecond),
              'deliveries/s while pruning': show(pruning.busy.perSecond),
            },
          ],
        },
        {
          title: 'Memory of the application, garbage collected',
          rows: [memory.before, memory.after].map(({ deliveries, heap, rss }) => ({
            'after deliveries': deliveries,
            'heap MB': show(heap / 1e6),
            'RSS MB': show(rss / 1e6),
          })),
        },
      ],
      data: { times, pruning, memory },
    },
    options,
  )
} finally {
  await databases.close()
}

function goalsOf(times: readonly ClaimTimes[]): Goal[] {
  return times.at(-1)!.kinds.map(({ kind, ratio }) => ({
    goal: `${kind} in a table of ${times.at(-1)!.rows} rows at most 1.25 times that in an empty one`,
    figure: show(ratio.median),
    met: ratio.median <= 1.25,
  }))
}

function numbersOf(given: string | undefined, otherwise: number[]): number[] {
  return given?.split(',').map((number) => numberOf(number, 0)) ?? otherwise
}
