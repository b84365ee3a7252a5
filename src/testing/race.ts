import type { DeliveryOptions, Outcomes } from './outcomes.js'
import { outcomesOf } from './outcomes.js'
import type { DeliveryTarget, TestDelivery } from './test-delivery.js'
import { deliver } from './test-delivery.js'

/** Options of {@link race}. */
export interface RaceOptions<Effect = unknown> extends DeliveryOptions<Effect> {
  /** How many deliveries are sent at once. @default 10 */
  times?: number
}

/**
 * Delivers the same many times at once: what happens when a sender does not wait for a slow answer, or has several workers.
 *
 * @param targets - one, or several that share a database, as replicas do; the deliveries are dealt out to them in turn
 *
 * @example
 * const outcomes = await race(app, delivery, { times: 20, effect: () => balanceOf('acct_1') })
 * expect(outcomes).toMatchObject({ processed: 1, duplicates: 19, effects: [0, 100] })
 */
export async function race<Effect = unknown>(
  targets: DeliveryTarget | readonly DeliveryTarget[],
  delivery: TestDelivery,
  { times = 10, ...options }: RaceOptions<Effect> = {},
): Promise<Outcomes<Effect>> {
  const all: DeliveryTarget[] = [targets].flat()
  const deliveries = Array.from({ length: times }, (_, index) => all[index % all.length]!)
  return outcomesOf([() => Promise.all(deliveries.map((target) => deliver(target, delivery)))], options)
}
