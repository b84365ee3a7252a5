import type { ParseArgsConfig } from 'node:util'
import { parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>

/** What every bench can be told. */
const COMMON = {
  /** Less of everything, to see that it runs; its figures say little. */
  quick: { type: 'boolean', default: false },
  /** How often each contestant has its turn. */
  rounds: { type: 'string' },
  /** Makes COMMIT wait for the disk, as in production. */
  durable: { type: 'boolean', default: false },
  /** Keeps the result for docs/performance.md, whose graphs `npm run bench:graphs` draws. */
  save: { type: 'boolean', default: false },
} as const satisfies Options

export function parseOptions<Extra extends Options>(extra: Extra) {
  return parseArgs({ options: { ...COMMON, ...extra } }).values
}

export function numberOf(given: string | undefined, otherwise: number): number {
  const value = given === undefined ? otherwise : Number(given)
  if (Number.isFinite(value) && value >= 0) return value
  throw new Error(`"${given}" is not a number of 0 or more.`)
}
