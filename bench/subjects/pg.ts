import { setTimeout as sleep } from 'node:timers/promises'
import type { DynamicModule, OnApplicationShutdown } from '@nestjs/common'
import { Body, Controller, HttpCode, Module, Post } from '@nestjs/common'
import pg from 'pg'
import type { ApplicationConfig } from '../harness/application-process.js'
import type { BenchBatch, BenchEvent } from '../harness/bench-event.js'
import { SOURCE } from '../harness/bench-event.js'

class Connections extends pg.Pool implements OnApplicationShutdown {
  async transaction<Value>(work: (client: pg.PoolClient) => Promise<Value>): Promise<Value> {
    const client = await this.connect()
    try {
      await client.query('BEGIN')
      const value = await work(client)
      await client.query('COMMIT')
      return value
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.end()
  }
}

@Controller()
class EventsController {
  constructor(private readonly connections: Connections) {}

  @Post('events')
  @HttpCode(200)
  event(@Body() { id, type, account, amount, holdMs }: BenchEvent): Promise<{ outcome: string }> {
    return this.connections.transaction(async (client) => {
      const { rowCount } = await client.query(
        'INSERT INTO processed_events (source, event_id, event_type) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [SOURCE, id, type],
      )
      if (rowCount === 0) return { outcome: 'duplicate' }
      await client.query('INSERT INTO credits (account_id, source, event_id, amount) VALUES ($1, $2, $3, $4)', [
        account,
        SOURCE,
        id,
        amount,
      ])
      if (holdMs) await sleep(holdMs)
      return { outcome: 'processed' }
    })
  }

  @Post('batches')
  @HttpCode(200)
  batch(@Body() { events }: BenchBatch): Promise<{ outcome: string }> {
    return this.connections.transaction(async (client) => {
      const { rows } = await client.query<{ event_id: string }>(
        `INSERT INTO processed_events (source, event_id, event_type)
         SELECT $1, id, type FROM unnest($2::text[], $3::text[]) AS event (id, type) ORDER BY id
         ON CONFLICT DO NOTHING RETURNING event_id`,
        [SOURCE, events.map(({ id }) => id), events.map(({ type }) => type)],
      )
      if (rows.length === 0) return { outcome: 'duplicate' }
      const claimed = new Set(rows.map(({ event_id }) => event_id))
      const fresh = events.filter(({ id }) => claimed.has(id))
      await client.query(
        `INSERT INTO credits (account_id, source, event_id, amount)
         SELECT account, $1, id, amount FROM unnest($2::text[], $3::text[], $4::int[]) AS event (account, id, amount)`,
        [SOURCE, fresh.map(({ account }) => account), fresh.map(({ id }) => id), fresh.map(({ amount }) => amount)],
      )
      return { outcome: 'processed' }
    })
  }
}

@Module({})
class PgModule {}

export function moduleOf({ databaseUrl, poolSize }: ApplicationConfig): DynamicModule {
  return {
    module: PgModule,
    controllers: [EventsController],
    providers: [
      { provide: Connections, useFactory: () => new Connections({ connectionString: databaseUrl, max: poolSize }) },
    ],
  }
}
