import { isDeepStrictEqual } from 'node:util'
import type { BillingConfig } from './billing.config.js'
import type { EventKey, Ledger, LedgerPage } from './demo.ledger.js'
import type { Replica } from './demo.replica.js'
import type { Scene } from './demo.scenes.js'
import type { Delivery } from './demo.stage.js'
import { CREDITS, Stage } from './demo.stage.js'

/** A scene that was played, and what was found. */
export interface Performance {
  title: string
  deliveries: readonly Delivery[]
  answers: Record<string, number>
  page: LedgerPage
  /** What was not as it should be. */
  faults: string[]
}

/** How long one scene may take, in ms: a delivery that is never answered must not stop the demo. */
const SCENE_TIMEOUT = 15_000

/** Plays a scene and compares the answers and the ledger with what is expected. */
export async function perform(
  scene: Scene,
  replicas: readonly Replica[],
  ledger: Ledger,
  config: BillingConfig,
): Promise<Performance> {
  const over = new AbortController()
  const bound = setTimeout(() => over.abort(new Error(`it took more than ${SCENE_TIMEOUT} ms`)), SCENE_TIMEOUT)
  const stage = new Stage(replicas, ledger, config, over.signal)
  await ledger.openAccount(stage.account)
  const faults = await play(scene, stage)
  clearTimeout(bound)
  over.abort()
  const answers = countAnswers(stage.deliveries)
  const due = eventsDue(stage.deliveries)
  const page = await ledger.read(stage.account, due)
  const { credited } = scene.expect
  faults.push(
    ...difference('answers', answers, scene.expect.answers),
    ...difference('claims, credits, balance', page, {
      claims: credited,
      credits: credited,
      balance: credited * CREDITS,
    }),
  )
  const lost = await ledger.lost(due)
  if (lost > 0) faults.push(`${lost} events have no effect`)
  return { title: scene.title, deliveries: stage.deliveries, answers, page, faults }
}

/** The events that must have had their effect: all that were delivered properly, except those given up for good. */
export function eventsDue(deliveries: readonly Delivery[]): EventKey[] {
  return deliveries.filter(({ answer }) => answer !== 'rejected').flatMap(({ due }) => due)
}

async function play(scene: Scene, stage: Stage): Promise<string[]> {
  try {
    await scene.play(stage)
    return []
  } catch (error) {
    return [`the scene was broken off: ${(error as Error).message}`]
  }
}

function countAnswers(deliveries: readonly Delivery[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { answer } of deliveries) counts[answer] = (counts[answer] ?? 0) + 1
  return counts
}

function difference(what: string, found: object, expected: object): string[] {
  if (isDeepStrictEqual({ ...found }, { ...expected })) return []
  return [`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`]
}
