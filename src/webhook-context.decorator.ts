import { createParamDecorator } from '@nestjs/common'
import { contextOfHandler } from './context-of-handler.js'
import type { WebhookContext as Context } from './webhook-context.js'

/** What {@link WebhookContext} injects; see there. */
export type WebhookContext<Tx = any, Payload = any> = Context<Tx, Payload>

/**
 * Injects the context of the event at hand, a {@link WebhookContext}.
 *
 * @throws {NoContextError} when the method handles no event
 *
 * @example
 * async invoicePaid(@WebhookContext() { event, tx, afterCommit }: WebhookContext<Prisma.TransactionClient>) {}
 */
export const WebhookContext: () => ParameterDecorator = createParamDecorator((_: unknown, execution) =>
  contextOfHandler('WebhookContext', execution),
)
