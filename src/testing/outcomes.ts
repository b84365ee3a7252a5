/** How one delivery ended; `refused` is every answer but 2xx, after which a sender delivers again. */
export type DeliveryOutcome = 'processed' | 'duplicate' | 'rejected' | 'refused'

/** What a sender gets back. */
export interface DeliveryAnswer {
  status: number
  headers: Headers
  /** Parsed, if it is JSON; else the text. */
  body: any
}

/** What to look at besides the answers. */
export interface DeliveryOptions<Effect = unknown> {
  /**
   * Reads what the handler is there to change, such as a balance. An answer says what the application believes; this says
   * what happened, and it is the only proof when the handler answers the same to first deliveries and duplicates.
   */
  effect?: () => Effect | Promise<Effect>
  /**
   * Reads an answer that says its outcome in other words, such as those of a `duplicateReply`.
   *
   * @returns `undefined` for answers that are as usual: `{ "outcome": "duplicate" }`, `{ "outcome": "rejected" }`, and every
   * other 2xx, which is `processed`
   */
  outcomeOf?: (answer: DeliveryAnswer) => DeliveryOutcome | undefined
}

/** How many deliveries ended in which way, and what they did. */
export interface Outcomes<Effect = unknown> {
  processed: number
  duplicates: number
  rejected: number
  refused: number
  /** In the order in which the deliveries were sent. */
  answers: DeliveryAnswer[]
  /** What `effect` read: before the first delivery, and each time that everything sent until then was answered. */
  effects: Effect[]
}

/** Sends step after step, each of which may be several deliveries at once, and reads the effect before and after each. */
export async function outcomesOf<Effect>(
  steps: readonly (() => Promise<DeliveryAnswer[]>)[],
  { effect, outcomeOf }: DeliveryOptions<Effect>,
): Promise<Outcomes<Effect>> {
  const answers: DeliveryAnswer[] = []
  const effects: Effect[] = []
  if (effect) effects.push(await effect())
  for (const step of steps) {
    answers.push(...(await step()))
    if (effect) effects.push(await effect())
  }
  const outcomes = answers.map((answer) => outcomeOf?.(answer) ?? usualOutcomeOf(answer))
  const count = (outcome: DeliveryOutcome) => outcomes.filter((found) => found === outcome).length
  return {
    processed: count('processed'),
    duplicates: count('duplicate'),
    rejected: count('rejected'),
    refused: count('refused'),
    answers,
    effects,
  }
}

/** What cannot be told counts as processed: a test then fails for a handler that is right, never passes for a faulty one. */
function usualOutcomeOf({ status, body }: DeliveryAnswer): DeliveryOutcome {
  if (status < 200 || status > 299) return 'refused'
  const said: unknown = body?.outcome
  return said === 'duplicate' || said === 'rejected' ? said : 'processed'
}
