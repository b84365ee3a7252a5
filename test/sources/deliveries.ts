import type { WebhookSource } from '../../src/sources/index.js'
import type { WebhookDelivery } from '../../src/webhook-delivery.js'

/** One request as it goes over the wire; the content type is among the headers. */
export interface HttpDelivery {
  headers: Record<string, string>
  body: Buffer
}

/** What a source sees of a request, read as a Nest application with `rawBody: true` reads it. */
export function received({ headers, body }: HttpDelivery): WebhookDelivery {
  const lowerCased = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return {
    headers: { get: (name) => lowerCased.get(name.toLowerCase()) },
    rawBody: body,
    body: parse(body.toString(), lowerCased.get('content-type')),
    context: undefined as never,
  }
}

/** What `verify` of the source throws, if anything. */
export function verdict(source: WebhookSource, delivery: HttpDelivery): unknown {
  try {
    return source.verify!(received(delivery))
  } catch (error) {
    return error
  }
}

/** The IDs and types that the source sees in a delivery. */
export function identities(source: WebhookSource, delivery: HttpDelivery): Array<{ id: unknown; type?: string }> {
  return [source.identify(received(delivery))].flat().map(({ id, type }) => ({ id, type }))
}

function parse(text: string, contentType = ''): unknown {
  if (contentType.startsWith('application/x-www-form-urlencoded')) return Object.fromEntries(new URLSearchParams(text))
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
