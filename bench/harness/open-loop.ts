import { Pool } from 'undici'
import type { BenchEvent } from './bench-event.js'

/** One answer: when it was due to be asked for, and how long it took from then on, in ms. */
export interface Sample {
  status: number
  took: number
}

/** A sender that does not wait for answers before it goes on, as most do not. */
export class Sender {
  private readonly pool: Pool

  constructor(url: string) {
    this.pool = new Pool(url, { connections: null, pipelining: 1 })
  }

  async deliver(event: BenchEvent, due = performance.now()): Promise<Sample> {
    const { statusCode, body } = await this.pool.request({
      method: 'POST',
      path: '/events',
      headers: { 'content-type': 'application/json', 'idempotency-key': event.id },
      body: JSON.stringify(event),
    })
    await body.dump()
    return { status: statusCode, took: performance.now() - due }
  }

  /** So many per second, on time: what is late because of the one before counts as late. */
  async deliverSteadily(next: () => BenchEvent, perSecond: number, goesOn: () => boolean): Promise<Sample[]> {
    const answers: Promise<Sample>[] = []
    const began = performance.now()
    for (let count = 0; goesOn(); count++) {
      const due = began + (count * 1000) / perSecond
      const early = due - performance.now()
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early))
      answers.push(this.deliver(next(), due))
    }
    return Promise.all(answers)
  }

  close(): Promise<void> {
    return this.pool.close()
  }
}
