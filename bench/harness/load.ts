import { Pool } from 'undici'
import { percentileOf } from './statistics.js'

export interface Load {
  url: string
  path: '/events' | '/batches' | '/batches/each'
  /** Each delivers one after the other. */
  connections: number
  /** What the next delivery carries; `id` also goes into a header, for those who look there. */
  next(): { body: object; id: string }
}

/** What a load yielded; times in ms. */
export interface LoadResult {
  perSecond: number
  p50: number
  p99: number
  answered: number
  /** Those of the answers that were no 2xx. */
  refused: number
}

export function deliverFor(load: Load, seconds: number): Promise<LoadResult> {
  const ends = performance.now() + seconds * 1000
  return deliver(load, () => performance.now() < ends)
}

export function deliverTimes(load: Load, times: number): Promise<LoadResult> {
  let left = times
  return deliver(load, () => left-- > 0)
}

export function deliverUntilStopped(load: Load): { stop(): Promise<LoadResult> } {
  let stopped = false
  const result = deliver(load, () => !stopped)
  return {
    stop() {
      stopped = true
      return result
    },
  }
}

/** Nobody hangs up: what was begun is answered, so that nothing of it runs into the next measurement. */
async function deliver({ url, path, connections, next }: Load, goesOn: () => boolean): Promise<LoadResult> {
  const pool = new Pool(url, { connections, pipelining: 1 })
  const times: number[] = []
  let refused = 0
  const began = performance.now()
  await Promise.all(Array.from({ length: connections }, connection))
  const seconds = (performance.now() - began) / 1000
  await pool.close()
  return {
    perSecond: times.length / seconds,
    p50: percentileOf(times, 0.5),
    p99: percentileOf(times, 0.99),
    answered: times.length,
    refused,
  }

  async function connection(): Promise<void> {
    while (goesOn()) {
      const { body, id } = next()
      const headers = { 'content-type': 'application/json', 'idempotency-key': id }
      const sent = performance.now()
      const answer = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) })
      await answer.body.dump()
      times.push(performance.now() - sent)
      if (answer.statusCode > 299) refused++
    }
  }
}
