import type { ExecutionContext } from '@nestjs/common'
import { activeEvent, eventOfRequest } from './active-event.js'
import { NoContextError } from './context.errors.js'
import type { WebhookContext } from './webhook-context.js'
import { requestOf } from './webhook-delivery.js'

/** @throws {NoContextError} when the method handles no event */
export function contextOfHandler(decorator: string, execution: ExecutionContext): WebhookContext {
  const active = eventOfRequest(requestOf(execution)) ?? activeEvent()
  if (!active) throw new NoContextError(decorator, `${execution.getClass().name}.${execution.getHandler().name}`)
  return active.context
}
