import type { AddressInfo } from 'node:net'
import type { INestApplication, LoggerService, ModuleMetadata, Type } from '@nestjs/common'
import type { AbstractHttpAdapter } from '@nestjs/core'
import { Test } from '@nestjs/testing'
import type { WebhookIdempotencyOptions } from '../../src/index.js'
import { WebhookIdempotencyModule } from '../../src/index.js'

/** The HTTP platform that the whole suite runs on: Express, or Fastify when TEST_PLATFORM says so. */
export const onFastify = process.env.TEST_PLATFORM === 'fastify'

/** The answer to one delivery. */
export interface Answer {
  status: number
  body: any
  headers: Headers
}

export interface RunningApplication {
  app: INestApplication
  url: string
  log: RecordedLog
  deliver(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  close(): Promise<void>
}

export interface ApplicationOptions extends Pick<ModuleMetadata, 'imports' | 'providers'> {
  controllers?: Type[]
  options: WebhookIdempotencyOptions
  rawBody?: boolean
  /** For what is set up between creation and listening, such as global pipes. */
  configure?(app: INestApplication): void
}

/** Starts a Nest application on a free port, with what is logged at hand. */
export async function startApplication({
  imports = [],
  providers = [],
  controllers = [],
  options,
  rawBody = false,
  configure,
}: ApplicationOptions): Promise<RunningApplication> {
  const log = new RecordedLog()
  const testing = await Test.createTestingModule({
    imports: [WebhookIdempotencyModule.forRoot(options), ...imports],
    controllers,
    providers,
  })
    .setLogger(log)
    .compile()
  const app = testing.createNestApplication(await createAdapter(), { rawBody, forceCloseConnections: true })
  configure?.(app)
  try {
    await app.listen(0, '127.0.0.1')
  } catch (error) {
    await app.close()
    throw error
  }
  const { port } = app.getHttpServer().address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return {
    app,
    url,
    log,
    deliver: (path, body, headers) => deliver(`${url}${path}`, body, headers),
    close: () => app.close(),
  }
}

async function createAdapter(): Promise<AbstractHttpAdapter> {
  if (onFastify) {
    const { FastifyAdapter } = await import('@nestjs/platform-fastify')
    return new FastifyAdapter({ bodyLimit: 1_000_000, forceCloseConnections: true })
  }
  const { ExpressAdapter } = await import('@nestjs/platform-express')
  return new ExpressAdapter()
}

/** Delivers over a real socket: strings and bytes as they are, everything else as JSON. */
export async function deliver(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const asIs = typeof body === 'string' || body instanceof Uint8Array
  const all = new Headers({ 'content-type': 'application/json' })
  for (const [name, value] of Object.entries(headers)) all.set(name, value)
  const response = await fetch(url, {
    method: 'POST',
    headers: all,
    body: asIs ? (body as string) : body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, body: parse(text), headers: response.headers }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Keeps what was logged, for tests to look at. */
export class RecordedLog implements LoggerService {
  readonly lines: { level: string; message: string }[] = []
  log = (message: unknown) => this.record('log', message)
  error = (message: unknown, ...more: unknown[]) => this.record('error', [message, ...more].map(String).join(' '))
  warn = (message: unknown) => this.record('warn', message)
  debug = (message: unknown) => this.record('debug', message)
  verbose = (message: unknown) => this.record('verbose', message)

  at(level: string): string[] {
    return this.lines.filter((line) => line.level === level).map(({ message }) => message)
  }

  private record(level: string, message: unknown): void {
    this.lines.push({ level, message: String(message) })
  }
}
