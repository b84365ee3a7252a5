import type { Contestant } from '../harness/contestants.js'
import type { LoadResult } from '../harness/load.js'

/** One thing to measure, for each contestant in turn. */
export interface Scene {
  title: string
  /** What is counted per second. */
  unit: 'deliveries' | 'events'
  /** How many of the unit one delivery counts for. */
  weight: number
  /** Subjects that can take part. */
  suits(contestant: Contestant): boolean
  /** What one contestant needs, such as events that it has seen; not measured. */
  prepare?(contestant: Contestant): Promise<void>
  run(contestant: Contestant, seconds: number): Promise<LoadResult>
}
