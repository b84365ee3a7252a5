import { createParamDecorator } from '@nestjs/common'
import { contextOfHandler } from './context-of-handler.js'

/**
 * Injects the transaction client: what is written through it is committed with the event's claim, or not at all.
 *
 * @throws {NoContextError} when the method handles no event
 *
 * @example
 * async invoicePaid(@Body() event: CorvelEvent, @WebhookTransaction() tx: Prisma.TransactionClient) {}
 */
export const WebhookTransaction: () => ParameterDecorator = createParamDecorator(
  (_: unknown, execution) => contextOfHandler('WebhookTransaction', execution).tx,
)
