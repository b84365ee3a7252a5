/** What several rounds yielded. */
export interface Spread {
  median: number
  min: number
  max: number
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  return { median: quantileOf(sorted, 0.5), min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN }
}

/** Round by round, so that a machine that slows down in between slows both sides of a ratio. */
export function ratioOf(values: readonly number[], baseline: readonly number[]): Spread {
  return spreadOf(values.map((value, round) => value / baseline[round]!))
}

/** @param share - 0.99 for the 99th percentile */
export function percentileOf(values: readonly number[], share: number): number {
  return quantileOf(
    values.toSorted((a, b) => a - b),
    share,
  )
}

function quantileOf(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return NaN
  const position = (sorted.length - 1) * share
  const below = sorted[Math.floor(position)]!
  const above = sorted[Math.ceil(position)]!
  return below + (above - below) * (position - Math.floor(position))
}
