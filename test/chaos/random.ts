import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { mersenne } from 'pure-rand/generator/mersenne'

/** Where every decision of a run comes from: the same seed decides the same. */
export class Random {
  private readonly generator

  constructor(private readonly seed: number) {
    this.generator = mersenne(seed)
  }

  /** One of its own for a part of the run, whose decisions then do not depend on the order of those of others. */
  child(part: number): Random {
    return new Random(Math.imul(this.seed, 1_000_003) + part)
  }

  /** A whole number, both ends included. */
  between(min: number, max: number): number {
    return uniformInt(this.generator, min, max)
  }

  chance(probability: number): boolean {
    return this.between(0, 999) < probability * 1000
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.between(0, items.length - 1)]!
  }

  /** @param weights - how often each key is wanted, relative to the others */
  weighted<Key extends string>(weights: Record<Key, number>): Key {
    const entries = Object.entries<number>(weights) as [Key, number][]
    let rest = this.between(
      1,
      entries.reduce((sum, [, weight]) => sum + weight, 0),
    )
    return entries.find(([, weight]) => (rest -= weight) <= 0)![0]
  }
}
