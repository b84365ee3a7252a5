import type { ClaimStrategy } from './claim.strategy.js'
import { claimTableOf } from './claim-table.js'
import { ConfigurationError } from './errors.js'
import { keyOf } from './event-key.js'
import type { PrismaClientLike } from './prisma-client-like.js'

/**
 * The same as `insertOrNothing` in PostgreSQL's own words: it leaves out what Prisma does to make SQL of a call, which is
 * about half of the CPU time of a claim.
 *
 * @throws {ConfigurationError} when the client does not say how its model is mapped
 */
export function insertOrNothingBySql(client: PrismaClientLike, model: string): ClaimStrategy {
  const table = claimTableOf(client, model)
  if (!table) {
    throw new ConfigurationError(
      `The option claim is 'sql', but the Prisma client does not say to which table its model "${model}" is mapped. ` +
        `Leave the option out, or use Prisma 6.16 to 7.`,
    )
  }
  const { name, source, eventId, eventType } = table
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
