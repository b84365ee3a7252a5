import type { ExecutionContext } from '@nestjs/common'

/** The headers of a delivery. */
export interface DeliveryHeaders {
  /**
   * @param name - in any case
   * @returns the value; values of a header that was sent several times are joined by `, `
   */
  get(name: string): string | undefined
}

/** One HTTP request, or one message of a broker, as a source or an `id` function sees it. */
export interface WebhookDelivery<Body = any> {
  readonly headers: DeliveryHeaders
  /** The parsed body, `undefined` when no parser took it; of a message its data. */
  readonly body: Body
  /** The bytes as sent; there when the application was created with `rawBody: true`. */
  readonly rawBody?: Buffer
  readonly context: ExecutionContext
}

interface IncomingRequest {
  headers: Record<string, string | string[] | undefined>
  body?: unknown
  rawBody?: Buffer
}

/** Whether it came over HTTP; otherwise it is a message of a microservice. */
export function isHttp(context: ExecutionContext): boolean {
  return context.getType() === 'http'
}

/** What is one and the same object for all that Nest calls on behalf of one delivery. */
export function requestOf(context: ExecutionContext): object {
  // Not switchToHttp(), which makes three functions each time.
  return isHttp(context) ? context.getArgByIndex<object>(0) : context.getArgs()
}

/** Reads the delivery out of the request, on Express and Fastify alike, or out of the message. */
export function readDelivery(context: ExecutionContext): WebhookDelivery {
  if (!isHttp(context)) return { headers: headersOf({}), body: context.switchToRpc().getData(), context }
  const request = context.getArgByIndex<IncomingRequest>(0)
  const parsed = Buffer.isBuffer(request.body) ? parseJson(request.body) : request.body
  const rawBody = request.rawBody ?? (Buffer.isBuffer(request.body) ? request.body : undefined)
  return { headers: headersOf(request.headers), body: parsed, rawBody, context }
}

function headersOf(headers: IncomingRequest['headers']): DeliveryHeaders {
  return {
    get(name) {
      const value = headers[name.toLowerCase()]
      return Array.isArray(value) ? value.join(', ') : value
    },
  }
}

/** A route with a raw body parser has a Buffer for a body. */
function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
