import type { ExecutionContext } from '@nestjs/common'
import { NoContextError } from './errors.js'
import type { WebhookContext } from './webhook-context.js'
import { activeEvent } from './webhook-context.js'

/** @throws {NoContextError} when the method handles no event */
export function contextOfHandler(decorator: string, execution: ExecutionContext): WebhookContext {
  const active = activeEvent()
  if (!active) throw new NoContextError(decorator, `${execution.getClass().name}.${execution.getHandler().name}`)
  return active.context
}
