import type { DeliveryOptions, Outcomes } from './outcomes.js'
import { outcomesOf } from './outcomes.js'
import type { DeliveryTarget, TestDelivery } from './test-delivery.js'
import { deliver } from './test-delivery.js'

/**
 * Delivers the same twice, the second time after the first is answered: what every sender does when an answer is lost.
 * Together with {@link refuseCommit}, what a sender does after a crash.
 *
 * @example
 * const delivery = { path: '/webhooks/corvel', body: { id: 'evt_1', type: 'invoice.paid', data: { credits: 100 } } }
 * const outcomes = await deliverTwice(app, delivery, { effect: () => balanceOf('acct_1') })
 * expect(outcomes).toMatchObject({ processed: 1, duplicates: 1, effects: [0, 100, 100] })
 */
export async function deliverTwice<Effect = unknown>(
  target: DeliveryTarget,
  delivery: TestDelivery,
  options: DeliveryOptions<Effect> = {},
): Promise<Outcomes<Effect>> {
  const step = async () => [await deliver(target, delivery)]
  return outcomesOf([step, step], options)
}
