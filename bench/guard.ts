import { PrismaPg } from '@prisma/adapter-pg'
import { Bench } from 'tinybench'
import type { Prisma } from '../prisma/generated/client.js'
import { PrismaClient } from '../prisma/generated/client.js'
import { Deadline } from '../src/deadline.js'
import { GuardedTransaction } from '../src/guarded-transaction.js'
import { newEvent, SOURCE } from './harness/bench-event.js'
import { Databases } from './harness/databases.js'
import { numberOf, parseOptions } from './harness/options.js'
import { machineWith, printReport, show } from './harness/report.js'
import { interleave } from './harness/rounds.js'
import { ratioOf, spreadOf } from './harness/statistics.js'
import { applyEvent } from './subjects/bench-prisma.js'

const CONNECTIONS = 8
const POSTGRES = { conflictEndsTransaction: false }

type Handler = (tx: Prisma.TransactionClient) => Promise<void>

/** The same delivery with either client in the handler: claim, effect, COMMIT. Each has its deadline, guarded or not. */
const clients = {
  async bare(tx: Prisma.TransactionClient, handle: Handler): Promise<void> {
    const deadline = new Deadline(5000, tooLate)
    await handle(tx)
    deadline.clear()
  },
  async guarded(tx: Prisma.TransactionClient, handle: Handler): Promise<void> {
    const deadline = new Deadline(5000, tooLate)
    const guarded = new GuardedTransaction(tx, deadline, POSTGRES)
    await handle(guarded.client)
    await guarded.close()
    deadline.clear()
  },
}

function tooLate(): Error {
  return new Error('too late')
}

type ClientName = keyof typeof clients

/** As Prisma's own, its promises do nothing until they are awaited. */
class LazyNothing implements PromiseLike<object> {
  private readonly done = Promise.resolve({})
  // oxlint-disable-next-line unicorn/no-thenable -- this is what Prisma returns
  then: PromiseLike<object>['then'] = (...args) => this.done.then(...args)
}

const options = parseOptions({ deliveries: { type: 'string' } })
const rounds = numberOf(options.rounds, options.quick ? 10 : 60)
const deliveries = numberOf(options.deliveries, options.quick ? 100 : 400)

const databases = await Databases.open(options)
const database = await databases.create('guard')
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.url, max: CONNECTIONS }) })
try {
  const names = Object.keys(clients) as ClientName[]
  for (const name of names) await measure(name)
  const results = await interleave(names, rounds, measure)
  const bare = results.get('bare')!
  const guarded = results.get('guarded')!
  const time = ratioOf(timesOf(guarded), timesOf(bare))
  const cpu = ratioOf(cpusOf(guarded), cpusOf(bare))
  const alone = await costAlone()
  const delivery = spreadOf(cpusOf(bare)).median
  const share = alone / delivery
  printReport(
    {
      bench: 'guard',
      machine: machineWith(await databases.version()),
      settings: { rounds, deliveries, connections: CONNECTIONS, durable: options.durable },
      goals: [
        {
          goal: 'the guard costs less than 2 % of a delivery',
          figure: `${percent(time.median)} of its time, ${percent(cpu.median)} of its CPU time, ${percent(1 + share)} by itself`,
          met: time.median < 1.02 && share < 0.02,
        },
      ],
      figures: [
        {
          title: `A transaction (claim, effect, COMMIT) with and without the guard, ${rounds} paired rounds of ${deliveries}, ${CONNECTIONS} at once`,
          rows: [...results].map(([name, measured]) => ({
            client: name,
            'µs per transaction': show(spreadOf(timesOf(measured)).median),
            'CPU µs': show(spreadOf(cpusOf(measured)).median),
          })),
        },
        {
          title: 'What the guard adds',
          rows: [
            { of: 'time', median: percent(time.median), 'min - max': `${percent(time.min)} - ${percent(time.max)}` },
            { of: 'CPU time', median: percent(cpu.median), 'min - max': `${percent(cpu.min)} - ${percent(cpu.max)}` },
            {
              of: 'CPU time, guard alone',
              median: percent(1 + share),
              'min - max': `${show(alone)} µs of ${show(delivery)} µs`,
            },
          ],
        },
      ],
      data: { time, cpu, guardMicroseconds: alone, deliveryCpuMicroseconds: delivery },
    },
    options,
  )
} finally {
  await prisma.$disconnect()
  await database.close()
  await databases.close()
}

interface Round {
  /** Per transaction, in µs. */
  time: number
  cpu: number
}

async function measure(name: ClientName): Promise<Round> {
  let left = deliveries
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (left-- > 0) await deliver(name)
    }),
  )
  const time = performance.now() - began
  const { user, system } = process.cpuUsage(cpuBefore)
  return { time: (time * 1000) / deliveries, cpu: (user + system) / deliveries }
}

async function deliver(name: ClientName): Promise<void> {
  const event = newEvent()
  await prisma.$transaction(async (tx) => {
    const data = [{ source: SOURCE, eventId: event.id, eventType: event.type }]
    await tx.processedEvent.createMany({ data, skipDuplicates: true })
    await clients[name](tx, (client) => applyEvent(client, event))
  })
}

/** What the guard does for a delivery of one statement, when the statement itself costs nothing, in µs. */
async function costAlone(): Promise<number> {
  const event = newEvent()
  const bench = new Bench({ time: options.quick ? 200 : 2000, throws: true })
  for (const name of Object.keys(clients) as ClientName[]) {
    bench.add(name, () => clients[name](clientWithoutDatabase(), (client) => applyEvent(client, event)))
  }
  const [bare, guarded] = await bench.run()
  return (medianOf(guarded) - medianOf(bare)) * 1000
}

function medianOf(task: { result?: unknown } | undefined): number {
  return (task!.result as { latency: { p50: number } }).latency.p50
}

function clientWithoutDatabase(): Prisma.TransactionClient {
  return { credit: { create: () => new LazyNothing() } } as unknown as Prisma.TransactionClient
}

function timesOf(measured: readonly Round[]): number[] {
  return measured.map(({ time }) => time)
}

function cpusOf(measured: readonly Round[]): number[] {
  return measured.map(({ cpu }) => cpu)
}

function percent(ratio: number): string {
  return `${((ratio - 1) * 100).toFixed(2)} %`
}
