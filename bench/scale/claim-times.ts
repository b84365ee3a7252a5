import { randomUUID } from 'node:crypto'
import type { INestApplicationContext } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { WebhookIdempotencyService } from 'nestjs-webhook-idempotency'
import pg from 'pg'
import { SOURCE } from '../harness/bench-event.js'
import type { Database, Databases } from '../harness/databases.js'
import { interleave } from '../harness/rounds.js'
import type { Spread } from '../harness/statistics.js'
import { percentileOf, ratioOf, spreadOf } from '../harness/statistics.js'
import { moduleOf } from '../subjects/ours.js'
import type { TableSize } from './filled-table.js'
import { filledId, fill, settle, sizeOf } from './filled-table.js'

export interface ClaimTimes {
  rows: number
  size: TableSize
  /** Medians of rounds, in µs, and their ratio to those in the empty table. */
  kinds: { kind: string; time: Spread; ratio: Spread }[]
}

interface Table {
  rows: number
  size: TableSize
  database: Database
  application: INestApplicationContext
  client: pg.Client
}

type Round = Record<string, number>

/** @param options.sizes - the first is what the others are compared with */
export async function measureClaims(
  databases: Databases,
  { sizes, rounds, claims }: { sizes: number[]; rounds: number; claims: number },
): Promise<ClaimTimes[]> {
  const tables: Table[] = []
  try {
    for (const rows of sizes) tables.push(await openTable(databases, rows))
    for (const table of tables) await measure(table, claims)
    const results = await interleave(tables, rounds, (table) => measure(table, claims))
    const empty = results.get(tables[0]!)!
    return [...results].map(([{ rows, size }, measured]) => ({ rows, size, kinds: compare(measured, empty) }))
  } finally {
    for (const { application, client, database } of tables) {
      await application.close()
      await client.end()
      await database.close()
    }
  }
}

async function openTable(databases: Databases, rows: number): Promise<Table> {
  console.log(`filling a table with ${rows} claims …`)
  const database = await databases.create(`rows_${rows}`)
  await fill(database, rows)
  await settle(database)
  const module = moduleOf({ subject: 'ours', databaseUrl: database.url, poolSize: 1 })
  const application = await NestFactory.createApplicationContext(module, { logger: ['fatal'] })
  const client = new pg.Client(database.url)
  await client.connect()
  return { rows, size: await sizeOf(database), database, application, client }
}

async function measure({ rows, application, client }: Table, claims: number): Promise<Round> {
  const service = application.get(WebhookIdempotencyService)
  const process = (id: string) => service.process({ source: SOURCE, id }, async () => {})
  const statement = (id: string) =>
    client.query(
      `INSERT INTO processed_events (source, event_id, event_type) VALUES ($1, $2, 'unknown') ON CONFLICT DO NOTHING`,
      [SOURCE, id],
    )
  const known = await knownIds(rows, claims, client)
  const fresh = () => `evt_${randomUUID()}`
  let turn = 0
  const duplicate = () => known[turn++ % known.length]!
  const times = {
    'process(), new event': await medianTime(claims, () => process(fresh())),
    'process(), duplicate': await medianTime(claims, () => process(duplicate())),
    'process(), duplicate again': await medianTime(claims, () => process(duplicate())),
  }
  // In one transaction: else it would be COMMIT, and the disk, that is measured.
  await client.query('BEGIN')
  const statements = {
    'statement alone, new event': await medianTime(claims, () => statement(fresh())),
    'statement alone, duplicate': await medianTime(claims, () => statement(duplicate())),
  }
  await client.query('COMMIT')
  return { ...times, ...statements }
}

/** From all over the table; an empty one gets some first. The library has seen none of them yet. */
async function knownIds(rows: number, count: number, client: pg.Client): Promise<string[]> {
  if (rows > 0) return Array.from({ length: count }, () => filledId(rows))
  const ids = Array.from({ length: count }, () => `evt_${randomUUID()}`)
  await client.query(
    `INSERT INTO processed_events (source, event_id, event_type) SELECT $1, unnest($2::text[]), 'unknown'`,
    [SOURCE, ids],
  )
  return ids
}

/** In µs. */
async function medianTime(times: number, work: () => Promise<unknown>): Promise<number> {
  const taken: number[] = []
  for (let time = 0; time < times; time++) {
    const began = performance.now()
    await work()
    taken.push((performance.now() - began) * 1000)
  }
  return percentileOf(taken, 0.5)
}

function compare(measured: readonly Round[], empty: readonly Round[]): ClaimTimes['kinds'] {
  return Object.keys(measured[0]!).map((kind) => {
    const times = measured.map((round) => round[kind]!)
    return {
      kind,
      time: spreadOf(times),
      ratio: ratioOf(
        times,
        empty.map((round) => round[kind]!),
      ),
    }
  })
}
