import { HttpException } from '@nestjs/common'
import { InvalidEventError, MissingBodyError, TooManyEventsError } from './errors.js'
import type { EventIdentity, WebhookEvent } from './event-identity.js'
import { checkSource, toEvent } from './event-identity.js'
import type { HandlerSource } from './handler-source.js'
import type { WebhookDelivery } from './webhook-delivery.js'

/**
 * Says which events a delivery carries, checked.
 *
 * @throws {MissingBodyError} when nothing could be read because nothing was parsed
 * @throws {InvalidEventError} when an event has no usable ID
 * @throws {TooManyEventsError} when there are more than `maxEvents`
 */
export function deliveredEvents(source: HandlerSource, delivery: WebhookDelivery, maxEvents: number): WebhookEvent[] {
  const name = checkSource(typeof source.name === 'function' ? source.name(delivery) : source.name)
  const identities = identify(source, name, delivery)
  if (identities.length > maxEvents) throw new TooManyEventsError(name, identities.length, maxEvents)
  return identities.map((identity) => toEvent(name, identity, delivery.body))
}

function identify(source: HandlerSource, name: string, delivery: WebhookDelivery): EventIdentity[] {
  try {
    const identified = source.identify(delivery)
    const identities = Array.isArray(identified) ? identified : [identified]
    if (identities.some(({ id }) => id === undefined)) assertBody(name, delivery)
    return identities
  } catch (error) {
    assertBody(name, delivery)
    if (error instanceof HttpException) throw error
    const message = `The events of a delivery from source "${name}" could not be identified: ${(error as Error)?.message}`
    throw new InvalidEventError(name, message, { cause: error })
  }
}

/** Where Express leaves a body that no parser took `undefined`, Fastify gives `null`, or text as it is. */
function assertBody(name: string, { body, headers }: WebhookDelivery): void {
  if (body === undefined || body === null || typeof body === 'string')
    throw new MissingBodyError(name, headers.get('content-type'))
}
