import type { PrismaClientLike } from './prisma-client-like.js'

/** The names of the table of claims and its columns in PostgreSQL, quoted. */
export interface ClaimTable {
  name: string
  source: string
  eventId: string
  eventType: string
}

/** A client's own description of its models; Prisma keeps it for itself, and may move it. */
interface RuntimeDataModel {
  models: Record<string, { dbName: string | null; schema?: string | null; fields: { name: string; dbName?: string }[] }>
}

/** @returns nothing when the client does not say how its model is mapped: Prisma 6.16 to 7 do */
export function claimTableOf(client: PrismaClientLike, model: string): ClaimTable | undefined {
  const { _runtimeDataModel: dataModel } = client as { _runtimeDataModel?: RuntimeDataModel }
  const name = `${model.charAt(0).toUpperCase()}${model.slice(1)}`
  const mapped = dataModel?.models[name] ?? dataModel?.models[model]
  if (!mapped) return undefined
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
