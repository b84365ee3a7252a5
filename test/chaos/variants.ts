import { ClaimOutside, HandWritten } from './faulty-handlers.js'
import { Handlers } from './handlers.js'

/** The way that is under test, and those that a run has to find faulty. */
export const VARIANTS = { library: Handlers, 'claim-outside': ClaimOutside, 'hand-written': HandWritten }

export type Variant = keyof typeof VARIANTS
