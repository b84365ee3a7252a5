import { randomUUID } from 'node:crypto'
import type { Stage } from './demo.stage.js'

export interface Scene {
  title: string
  play(stage: Stage): Promise<unknown>
  expect: {
    /** How many deliveries got which answer: an outcome, or the status when it is not a 2xx. */
    answers: Record<string, number>
    /** How many events are claimed and have credited the account, each once. */
    credited: number
  }
}

export const scenes: Scene[] = [
  {
    title: 'one delivery',
    play: (stage) => stage.deliver(stage.invoicePaid()),
    expect: { answers: { processed: 1 }, credited: 1 },
  },
  {
    title: 'the same again',
    async play(stage) {
      const event = stage.invoicePaid()
      await stage.deliver(event)
      await stage.deliver(event)
    },
    expect: { answers: { processed: 1, duplicate: 1 }, credited: 1 },
  },
  {
    title: '50 at once',
    async play(stage) {
      const event = stage.invoicePaid()
      await together(50, () => stage.deliver(event))
    },
    expect: { answers: { processed: 1, duplicate: 49 }, credited: 1 },
  },
  {
    title: 'the first fails while 9 wait, one takes over',
    play: (stage) => failWhileOthersWait(stage, [9]),
    expect: { answers: { '500': 1, processed: 1, duplicate: 8 }, credited: 1 },
  },
  {
    title: 'the same, but 5 of the 9 at another instance',
    play: (stage) => failWhileOthersWait(stage, [4, 5]),
    expect: { answers: { '500': 1, processed: 1, duplicate: 8 }, credited: 1 },
  },
  {
    title: 'the same ID from another source',
    async play(stage) {
      const event = stage.invoicePaid()
      await stage.deliver(event)
      await stage.deliverSales([event.id])
    },
    expect: { answers: { processed: 2 }, credited: 2 },
  },
  {
    title: 'the retry job races the sender, 10 events',
    async play(stage) {
      const events = Array.from({ length: 10 }, () => stage.invoicePaid())
      await Promise.all([stage.replay(events), deliverOneByOne(stage, events.toReversed())])
    },
    expect: { answers: { processed: 10, duplicate: 10 }, credited: 10 },
  },
  {
    title: 'Stripe, signed by its own package, and its retry',
    async play(stage) {
      const id = `evt_${randomUUID()}`
      await stage.deliverCheckout(id)
      await stage.deliverCheckout(id)
    },
    expect: { answers: { processed: 1, duplicate: 1 }, credited: 1 },
  },
  {
    title: 'a payload of GitHub, delivered twice at once',
    async play(stage) {
      const id = randomUUID()
      await together(2, () => stage.deliverStar(id))
    },
    expect: { answers: { processed: 1, duplicate: 1 }, credited: 1 },
  },
  {
    title: 'a batch of 100 events, 30 of them seen before',
    async play(stage) {
      const references = Array.from({ length: 100 }, () => randomUUID())
      await stage.deliverSales(references.slice(0, 30))
      await stage.deliverSales(references)
      await stage.deliverSales(references.toReversed())
    },
    expect: { answers: { processed: 2, duplicate: 1 }, credited: 100 },
  },
  {
    title: 'a bad signature',
    play: (stage) => stage.deliver(stage.invoicePaid(), { forged: true }),
    expect: { answers: { '401': 1 }, credited: 0 },
  },
  {
    title: 'a missing ID',
    play(stage) {
      const { id: _, ...event } = stage.invoicePaid()
      return stage.deliver(event)
    },
    expect: { answers: { '400': 1 }, credited: 0 },
  },
]

/** @param counts - how many deliveries wait at which instance; the first one is at instance 0 */
async function failWhileOthersWait(stage: Stage, counts: readonly number[]): Promise<void> {
  const event = stage.invoicePaid()
  const hold = stage.holdNext(0)
  const first = stage.deliver(event, { to: 0 })
  await Promise.race([hold.reached, first])
  const allWait = stage.waiting(counts)
  const others = Promise.all(counts.map((count, to) => together(count, () => stage.deliver(event, { to }))))
  await Promise.race([allWait, others])
  hold.letFail()
  await Promise.all([allWait, first, others])
}

function together(count: number, deliver: () => Promise<void>): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, deliver))
}

async function deliverOneByOne(stage: Stage, events: Parameters<Stage['deliver']>[0][]): Promise<void> {
  for (const event of events) await stage.deliver(event)
}
