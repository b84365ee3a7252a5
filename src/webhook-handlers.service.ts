import type { OnModuleInit } from '@nestjs/common'
import { Inject, Injectable } from '@nestjs/common'
import { DiscoveryService, MetadataScanner } from '@nestjs/core'
import { followEvents } from './active-event.js'
import { ConfigurationError } from './errors.js'
import type { EventProcessor } from './event-processor.js'
import { EventProcessors } from './event-processors.service.js'
import { assertAnswersAfterCommit, assertReceives, assertStillDecorated } from './handler-misuse.js'
import type { HandlerSource } from './handler-source.js'
import { sourceOfHandler } from './handler-source.js'
import type { HandlerMetadata } from './idempotent-webhook-options.js'
import { HANDLER_METADATA, MESSAGE_PATTERN } from './nest-metadata.js'
import type { ResolvedOptions, ResolvedTransactionOptions } from './resolved-options.js'
import { RESOLVED_OPTIONS, resolveTransaction } from './resolved-options.js'

/** For guard and interceptor, which may come from another copy of this library than the module: so for the other tokens. */
export const WEBHOOK_HANDLERS = Symbol.for('nestjs-webhook-idempotency:handlers')

/** A decorated method with everything that is decided before the first delivery. */
export interface WebhookHandler {
  /** For messages: `CorvelController.invoicePaid`. */
  name: string
  source: HandlerSource
  processor: EventProcessor
  transaction: ResolvedTransactionOptions
  each: boolean
}

type Method = (...args: any[]) => unknown
interface Controller {
  name: string
  prototype: Record<string, Method>
}

/** Finds the methods with `@IdempotentWebhook()` at start-up, and refuses what could not keep the promises. */
@Injectable()
export class WebhookHandlers implements OnModuleInit {
  private readonly handlers = new Map<unknown, WebhookHandler>()

  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(MetadataScanner) private readonly scanner: MetadataScanner,
    @Inject(EventProcessors) private readonly processors: EventProcessors,
  ) {}

  /** @throws {ConfigurationError | MissingTableError} naming the method or the option, and the remedy */
  onModuleInit(): void {
    this.processors.for()
    for (const wrapper of this.discovery.getControllers()) assertStillDecorated(wrapper)
    for (const [controller, method] of this.decorated(this.discovery.getControllers()))
      this.register(controller, method)
    for (const [provider, method] of this.decorated(this.discovery.getProviders())) {
      throw new ConfigurationError(
        `${provider.name}.${method} has @IdempotentWebhook(), but ${provider.name} is not a controller: deliveries come to ` +
          `controllers over HTTP. For GraphQL, WebSockets and jobs call WebhookIdempotencyService.process() instead.`,
      )
    }
  }

  /** @param method - the controller's method, as an execution context gives it */
  of(method: unknown): WebhookHandler | undefined {
    return this.handlers.get(method)
  }

  all(): WebhookHandler[] {
    return [...this.handlers.values()]
  }

  /** The processor of the handler that handles a source, else that of the module's own client. */
  processorOf(source: string): EventProcessor {
    const handler = this.all().find(({ source: { name } }) => name === source)
    return handler?.processor ?? this.processors.for()
  }

  /** Whether a source, named by a function for one delivery, is the fixed one of another handler. */
  isTaken(source: string, { source: own }: WebhookHandler): boolean {
    return typeof own.name === 'function' && this.all().some(({ source: { name } }) => name === source)
  }

  private *decorated(wrappers: readonly { metatype: unknown }[]): Generator<[Controller, string]> {
    for (const { metatype } of wrappers) {
      const { prototype } = (metatype ?? {}) as Partial<Controller>
      if (!prototype) continue
      for (const method of this.scanner.getAllMethodNames(prototype)) {
        if (Reflect.hasMetadata(HANDLER_METADATA, prototype[method]!)) yield [metatype as Controller, method]
      }
    }
  }

  private register(controller: Controller, key: string): void {
    const method = controller.prototype[key]!
    const metadata: HandlerMetadata = Reflect.getMetadata(HANDLER_METADATA, method)
    const name = `${controller.name}.${key}`
    assertReceives(controller, key)
    // Param decorators cannot tell one message from another.
    if (Reflect.hasMetadata(MESSAGE_PATTERN, method)) followEvents()
    assertAnswersAfterCommit(controller, key)
    const source = sourceOfHandler(metadata, this.options.sources, name)
    this.assertOnlyHandlerOf(source, name)
    const { transaction, prisma, each = false } = typeof metadata === 'string' ? {} : metadata
    if (prisma && typeof source.name === 'function') {
      throw new ConfigurationError(
        `@IdempotentWebhook() on ${name} has both a source that is a function and a client of its own: process() and forget() ` +
          `could not tell which client belongs to a source. Give the sources of this client fixed names.`,
      )
    }
    this.handlers.set(method, {
      name,
      source,
      processor: this.processors.for(prisma),
      transaction: resolveTransaction(this.options.transaction, transaction),
      each,
    })
  }

  private assertOnlyHandlerOf(source: HandlerSource, name: string): void {
    for (const rival of this.all()) {
      if (rival.source.name !== source.name) continue
      throw new ConfigurationError(
        `${rival.name} and ${name} both handle the source "${String(source.name)}": an event that one of them claimed would ` +
          `be a duplicate for the other. Give each its own source.`,
      )
    }
  }
}
