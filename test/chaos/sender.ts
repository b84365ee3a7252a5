import { setTimeout as sleep } from 'node:timers/promises'
import type { Fleet } from './fleet.js'
import type { Random } from './random.js'
import type { Transfer } from './transfer.js'
import { ACCOUNTS, BEHAVIOUR_HEADER, BEHAVIOURS } from './transfer.js'

/** How many events are being delivered at any time. */
const CONCURRENCY = 16
/** How long an answer is waited for, in ms; the application may well be working on it still. */
const PATIENCE = 2000
/** How long to go on when nothing breaks any more, in ms. */
const DRAIN_BOUND = 60_000

/** Delivers each event at least once: again and again until one delivery is answered with 2xx. */
export class Sender {
  readonly events: Transfer[] = []
  readonly acknowledged: Transfer[] = []
  /** How often each was the answer, with the error code of those that were refused. */
  readonly answers: Record<string, number> = {}
  deliveries = 0
  private readonly lateDuplicates: Promise<unknown>[] = []
  private goesOnUntil = Infinity

  constructor(
    private readonly fleet: Fleet,
    private readonly random: Random,
    private readonly replays: boolean,
  ) {}

  /** Delivers new events until the signal, and then what is not acknowledged yet. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => (this.goesOnUntil = performance.now() + DRAIN_BOUND))
    const worker = async () => {
      while (!signal.aborted) await this.send()
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, worker))
    await Promise.all(this.lateDuplicates)
  }

  private async send(): Promise<void> {
    const random = this.random.child(this.events.length)
    const event = this.newEvent(random)
    while (!(await this.deliverSome(event, random))) {
      if (performance.now() > this.goesOnUntil) return
      await sleep(random.between(20, 300))
    }
    this.acknowledged.push(event)
    if (random.chance(0.2)) this.lateDuplicates.push(this.deliverLater(event, random, random.between(100, 5000)))
  }

  private newEvent(random: Random): Transfer {
    const event = {
      id: `evt_${this.events.length}`,
      type: 'transfer' as const,
      from: random.pick(ACCOUNTS),
      to: random.pick(ACCOUNTS),
      amount: random.between(1, 100),
    }
    this.events.push(event)
    return event
  }

  /** Sometimes a second time while the first is running. @returns whether the event is acknowledged */
  private async deliverSome(event: Transfer, random: Random): Promise<boolean> {
    const deliveries = [this.deliver(event, random)]
    if (random.chance(0.3)) deliveries.push(this.deliverLater(event, random, random.between(0, 200)))
    return (await Promise.all(deliveries)).includes(true)
  }

  private async deliverLater(event: Transfer, random: Random, ms: number): Promise<boolean> {
    await sleep(ms)
    return this.deliver(event, random)
  }

  private async deliver(event: Transfer, random: Random): Promise<boolean> {
    const behaviour = JSON.stringify({ kind: random.weighted(BEHAVIOURS), ms: random.between(50, 800) })
    const replayed = this.replays && random.chance(0.1) ? this.acknowledged.at(-random.between(1, 20)) : undefined
    const url = this.fleet.choose(random)
    if (!url) return false
    this.deliveries++
    const body = replayed ? [event, replayed] : event
    const answer = await post(`${url}/${replayed ? 'replays' : 'events'}`, body, behaviour)
    this.answers[answer] = (this.answers[answer] ?? 0) + 1
    return answer.startsWith('2')
  }
}

async function post(url: string, body: unknown, behaviour: string): Promise<string> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [BEHAVIOUR_HEADER]: behaviour },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE),
    })
    const { outcome, error } = JSON.parse((await response.text()) || '{}')
    return [response.status, outcome ?? error].join(' ')
  } catch (error) {
    return (error as Error).name === 'TimeoutError' ? 'none in time' : 'none'
  }
}
