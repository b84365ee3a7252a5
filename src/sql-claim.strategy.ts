import type { ClaimStrategy } from './claim.strategy.js'
import { ConfigurationError } from './errors.js'
import { keyOf } from './event-key.js'
import type { PrismaClientLike } from './prisma-client-like.js'

/** The names of the table and its columns in the database. */
interface ClaimTable {
  name: string
  source: string
  eventId: string
  eventType: string
}

/**
 * The same as `insertOrNothing` in PostgreSQL's own words: it leaves out what Prisma does to make SQL of a call, which is
 * about half of the CPU time of a claim.
 *
 * @throws {ConfigurationError} when the client does not say how its model is mapped
 */
export function insertOrNothingBySql(client: PrismaClientLike, model: string): ClaimStrategy {
  const { name, source, eventId, eventType } = tableOf(client, model)
  const into = `INSERT INTO ${name} (${source}, ${eventId}, ${eventType})`
  const one = `${into} VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
  const many =
    `${into} SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) ON CONFLICT DO NOTHING ` +
    `RETURNING ${source} AS source, ${eventId} AS id`
  return async (tx, events) => {
    if (events.length === 1) {
      const [event] = events as [(typeof events)[0]]
      const count: number = await tx.$executeRawUnsafe(one, event.source, event.id, event.type)
      return count === 1 ? [keyOf(event)] : []
    }
    const columns = [events.map((event) => event.source), events.map(({ id }) => id), events.map(({ type }) => type)]
    const created: { source: string; id: string }[] = await tx.$queryRawUnsafe(many, ...columns)
    return created.map(keyOf)
  }
}

/** A client's own description of its models; Prisma keeps it for itself, and may move it. */
interface RuntimeDataModel {
  models: Record<string, { dbName: string | null; schema?: string | null; fields: { name: string; dbName?: string }[] }>
}

function tableOf(client: PrismaClientLike, model: string): ClaimTable {
  const { _runtimeDataModel: dataModel } = client as { _runtimeDataModel?: RuntimeDataModel }
  const name = `${model.charAt(0).toUpperCase()}${model.slice(1)}`
  const mapped = dataModel?.models[name] ?? dataModel?.models[model]
  if (!mapped) {
    throw new ConfigurationError(
      `The option claim is 'sql', but the Prisma client does not say to which table its model "${model}" is mapped. ` +
        `Leave the option out, or use Prisma 6.16 to 7.`,
    )
  }
  const columnOf = (field: string) => quoted(mapped.fields.find((one) => one.name === field)?.dbName ?? field)
  const table = quoted(mapped.dbName ?? name)
  return {
    name: mapped.schema ? `${quoted(mapped.schema)}.${table}` : table,
    source: columnOf('source'),
    eventId: columnOf('eventId'),
    eventType: columnOf('eventType'),
  }
}

function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`
}
