/** What a database error means for the transaction it came from. */
export type DatabaseErrorKind = 'conflict' | 'uniqueViolation' | 'missingTable' | 'unreachable' | 'other'

/** Prisma's codes, SQLSTATEs, MySQL's numbers and the driver adapters' own words, by what they mean. */
const KINDS: Record<Exclude<DatabaseErrorKind, 'other'>, ReadonlySet<string>> = {
  conflict: new Set(['P2034', 'TransactionWriteConflict', '40001', '40P01', '55P03', '1213', '1205']),
  uniqueViolation: new Set(['P2002', 'UniqueConstraintViolation', '23505', '1062', '1555', '2067']),
  missingTable: new Set(['P2021', 'P2022', 'TableDoesNotExist', 'ColumnNotFound', '42P01', '42703', '1146', '1054']),
  unreachable: new Set([
    'P1001',
    'P1002',
    'P1008',
    'P1017',
    'P2024',
    'P2028',
    'DatabaseNotReachable',
    'ConnectionClosed',
    'SocketTimeout',
    'TooManyConnections',
    'ECONNREFUSED',
    'ECONNRESET',
    'ENOTFOUND',
    'ETIMEDOUT',
    '08000',
    '08001',
    '08003',
    '08004',
    '08006',
    '57P01',
    '57P02',
    '57P03',
    '53300',
  ]),
}

/** What `pg` says of a connection that has gone: these errors have no code. */
const CONNECTION_GONE = /^(Connection terminated|Client .* is not queryable$)/

/**
 * Says what a database error means.
 *
 * The same error comes in several shapes: with Prisma's code, with the driver's cause in `meta` or `cause`, inside P2010 for
 * raw queries, or bare from COMMIT (prisma/prisma#29716, #26833). `instanceof` is false across two generated clients, so
 * only the shape is looked at.
 */
export function kindOf(error: unknown): DatabaseErrorKind {
  const codes = codesOf(error)
  for (const [kind, known] of Object.entries(KINDS)) {
    if (codes.some((code) => known.has(code))) return kind as DatabaseErrorKind
  }
  return CONNECTION_GONE.test((error as Error | undefined)?.message ?? '') ? 'unreachable' : 'other'
}

interface ErrorShape {
  code?: unknown
  kind?: unknown
  originalCode?: unknown
  cause?: unknown
  meta?: { code?: unknown; driverAdapterError?: unknown }
}

function codesOf(error: unknown, depth = 0): string[] {
  if (typeof error !== 'object' || error === null || depth > 3) return []
  const { code, kind, originalCode, cause, meta } = error as ErrorShape
  return [code, kind, originalCode, meta?.code]
    .filter((found) => typeof found === 'string' || typeof found === 'number')
    .map(String)
    .concat(codesOf(meta?.driverAdapterError, depth + 1), codesOf(cause, depth + 1))
}
