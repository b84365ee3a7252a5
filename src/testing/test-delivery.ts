import type { INestApplication } from '@nestjs/common'
import type { DeliveryAnswer } from './outcomes.js'

/** Where to deliver: a Nest application, which is made to listen if it does not yet, or the URL of one that runs. */
export type DeliveryTarget = Pick<INestApplication, 'getHttpServer' | 'getUrl' | 'listen'> | string | URL

/** What a sender delivers. */
export interface TestDelivery {
  /** Such as `/webhooks/corvel`. @default the target's own */
  path?: string
  /** Strings and bytes are sent as they are, so that they can be signed; everything else as JSON. */
  body: unknown
  /** Laid over `content-type: application/json`. */
  headers?: Record<string, string>
}

/** Delivers once, over a real socket. */
export async function deliver(target: DeliveryTarget, delivery: TestDelivery): Promise<DeliveryAnswer> {
  const response = await fetch(new URL(delivery.path ?? '', await urlOf(target)), {
    method: 'POST',
    headers: headersOf(delivery),
    body: bytesOf(delivery.body),
    redirect: 'manual', // as senders do, for whom a redirection is a failure
  })
  return { status: response.status, headers: response.headers, body: parse(await response.text()) }
}

/** Applications that are about to listen: a second call must not start the same one again. */
const starting = new WeakMap<object, Promise<unknown>>()

async function urlOf(target: DeliveryTarget): Promise<string> {
  if (typeof target === 'string' || target instanceof URL) return String(target)
  if (!target.getHttpServer().listening) {
    if (!starting.has(target)) starting.set(target, target.listen(0, '127.0.0.1'))
    await starting.get(target)
  }
  return target.getUrl()
}

function headersOf(delivery: TestDelivery): Headers {
  const headers = new Headers({ 'content-type': 'application/json' })
  for (const [name, value] of Object.entries(delivery.headers ?? {})) headers.set(name, value)
  return headers
}

function bytesOf(body: unknown): string | Uint8Array | undefined {
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  return body === undefined ? undefined : JSON.stringify(body)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
