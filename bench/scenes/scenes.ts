import type { BenchEvent } from '../harness/bench-event.js'
import { newBatch, newDelivery, newEvent } from '../harness/bench-event.js'
import type { Contestant } from '../harness/contestants.js'
import { deliverFor, deliverTimes, deliverUntilStopped } from '../harness/load.js'
import type { Scene } from './scene.js'

const KNOWN_EVENTS = 500
const BATCH = 100
const STORM = { connections: 32, copies: 32, holdMs: 25 }
const UNRELATED = 4

export function distinct(connections: number): Scene {
  return {
    title: `distinct events, ${connections} connections`,
    unit: 'deliveries',
    weight: 1,
    suits: () => true,
    run: ({ application: { url } }, seconds) =>
      deliverFor({ url, path: '/events', connections, next: newDelivery }, seconds),
  }
}

/** Each was processed before the scene began. */
export function lateDuplicates(connections: number): Scene {
  const known = new Map<Contestant, BenchEvent[]>()
  return {
    title: `late duplicates, ${connections} connections`,
    unit: 'deliveries',
    weight: 1,
    suits: () => true,
    async prepare(contestant) {
      const events = Array.from({ length: KNOWN_EVENTS }, () => newEvent())
      known.set(contestant, events)
      const next = endless(events)
      await deliverTimes({ url: contestant.application.url, path: '/events', connections: 4, next }, KNOWN_EVENTS)
    },
    run(contestant, seconds) {
      const next = endless(known.get(contestant)!)
      return deliverFor({ url: contestant.application.url, path: '/events', connections, next }, seconds)
    },
  }
}

/** What senders of other events notice while 32 connections deliver event after event 32 times at once. */
export function storm(): Scene {
  return {
    title: `distinct events, ${UNRELATED} connections, beside storms of ${STORM.copies} duplicates held ${STORM.holdMs} ms`,
    unit: 'deliveries',
    weight: 1,
    suits: () => true,
    async run({ application: { url } }, seconds) {
      const raging = deliverUntilStopped({ url, path: '/events', connections: STORM.connections, next: copies() })
      const result = await deliverFor({ url, path: '/events', connections: UNRELATED, next: newDelivery }, seconds)
      const stormy = await raging.stop()
      return {
        ...result,
        answered: result.answered + stormy.answered,
        refused: result.refused + stormy.refused,
      }
    },
  }
}

export function batches(connections: number): Scene {
  return {
    title: `batches of ${BATCH} events, ${connections} connections`,
    unit: 'events',
    weight: BATCH,
    suits: ({ subject }) => subject.takesBatches === true,
    run({ application: { url } }, seconds) {
      const next = () => ({ body: newBatch(BATCH), id: '' })
      return deliverFor({ url, path: '/batches', connections, next }, seconds)
    },
  }
}

function endless(events: readonly BenchEvent[]) {
  let turn = 0
  return () => {
    const body = events[turn++ % events.length]!
    return { body, id: body.id }
  }
}

function copies() {
  let event = newEvent(STORM.holdMs)
  let turn = 0
  return () => {
    if (turn++ % STORM.copies === 0) event = newEvent(STORM.holdMs)
    return { body: event, id: event.id }
  }
}
