import { ConfigurationError, UnsupportedReplyError } from './errors.js'
import {
  HANDLER_METADATA,
  HANDLER_NAMES,
  MESSAGE_PATTERN,
  NEXT_ARGUMENT,
  RESPONSE_ARGUMENT,
  RESPONSE_PASSTHROUGH,
  ROUTE_ARGUMENTS,
  ROUTE_PATH,
  SERVER_SENT_EVENTS,
} from './nest-metadata.js'

interface Controller {
  name: string
  prototype: object
}

/**
 * Refuses methods to which no delivery comes.
 *
 * @throws {ConfigurationError} with the method's name and the remedy
 */
export function assertReceives(controller: Controller, method: string): void {
  const handler = (controller.prototype as Record<string, object>)[method]!
  if (Reflect.hasMetadata(ROUTE_PATH, handler) || Reflect.hasMetadata(MESSAGE_PATTERN, handler)) return
  throw new ConfigurationError(
    `${controller.name}.${method} has @IdempotentWebhook(), but receives nothing. Add @Post() to it, or @EventPattern() for ` +
      `the messages of a broker.`,
  )
}

/**
 * Refuses methods that are no longer what was decorated, so that guard and interceptor would be missing without a sign.
 *
 * @throws {ConfigurationError} with the method's name and the remedy
 */
export function assertStillDecorated({ metatype, instance }: { metatype: unknown; instance?: unknown }): void {
  if (typeof metatype !== 'function') return
  const { name, prototype } = metatype
  const methods = instance as Record<string, unknown> | undefined
  for (const key of (Reflect.getMetadata(HANDLER_NAMES, metatype) ?? []) as string[]) {
    const isReplaced = !Reflect.hasMetadata(HANDLER_METADATA, prototype[key] as object)
    if (!isReplaced && (!methods || methods[key] === prototype[key])) continue
    throw new ConfigurationError(
      `${name}.${key} has @IdempotentWebhook(), but was replaced ${isReplaced ? 'by a decorator above it' : 'on the instance'}, ` +
        `so that nothing would guard it. ${isReplaced ? 'Write @IdempotentWebhook() above that one' : 'Do not bind or assign it'}.`,
    )
  }
}

/**
 * Refuses methods that answer by themselves: the answer would leave before COMMIT, and a duplicate, whose handler is not
 * called, would never be answered.
 *
 * @throws {ConfigurationError} with the method's name and the remedy
 */
export function assertAnswersAfterCommit(controller: Controller, method: string): void {
  const name = `${controller.name}.${method}`
  const handler = (controller.prototype as Record<string, object>)[method]!
  if (!Reflect.getMetadata(RESPONSE_PASSTHROUGH, controller, method)) assertNoResponse(controller, method, name)
  if (Reflect.getMetadata(SERVER_SENT_EVENTS, handler)) {
    throw new ConfigurationError(
      `${name} is an @Sse() stream, which is answered before COMMIT. Use @Post() and return a plain body.`,
    )
  }
  const returns: { name?: string } | undefined = Reflect.getMetadata('design:returntype', controller.prototype, method)
  if (returns?.name === 'StreamableFile') {
    throw new ConfigurationError(
      `${name} returns a StreamableFile, which cannot be repeated for duplicates. Return a plain body.`,
    )
  }
}

function assertNoResponse(controller: Controller, method: string, name: string): void {
  const routeArguments: object = Reflect.getMetadata(ROUTE_ARGUMENTS, controller, method) ?? {}
  for (const key of Object.keys(routeArguments)) {
    const [type] = key.split(':')
    if (type === RESPONSE_ARGUMENT) {
      throw new ConfigurationError(
        `${name} takes @Res() without passthrough, so Nest leaves the answer to it: it would leave before COMMIT, and ` +
          `duplicates would never be answered. Write @Res({ passthrough: true }), or return the body.`,
      )
    }
    if (type === NEXT_ARGUMENT) {
      throw new ConfigurationError(
        `${name} takes @Next(), so Nest leaves the answer to it: duplicates would never be answered. Return the body instead.`,
      )
    }
  }
}

/**
 * For what only a call can tell.
 *
 * @throws {UnsupportedReplyError} while the transaction can still be rolled back
 */
export function assertPlainReply(handler: string, reply: unknown): void {
  if (typeof reply !== 'object' || reply === null) return
  if ('getStream' in reply || 'pipe' in reply) throw new UnsupportedReplyError(handler, 'a stream')
}
