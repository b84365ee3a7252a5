import type { InjectionToken } from '@nestjs/common'
import { Inject, Injectable } from '@nestjs/common'
import { ModuleRef } from '@nestjs/core'
import { ConfigurationError } from './errors.js'
import { EventProcessor } from './event-processor.js'
import { EventsInFlight } from './events-in-flight.service.js'
import type { PrismaClientLike } from './prisma-client-like.js'
import { ProcessedEventsStore } from './processed-events.store.js'
import type { ResolvedOptions } from './resolved-options.js'
import { RESOLVED_OPTIONS } from './resolved-options.js'
import { Telemetry } from './telemetry.service.js'
import { WebhookLog } from './webhook-log.js'

export const EVENT_PROCESSORS = Symbol.for('nestjs-webhook-idempotency:event-processors')

/** One processor for each Prisma client in use. */
@Injectable()
export class EventProcessors {
  private readonly processors = new Map<PrismaClientLike, EventProcessor>()

  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
    @Inject(EventsInFlight) private readonly inFlight: EventsInFlight,
    @Inject(WebhookLog) private readonly log: WebhookLog,
    @Inject(Telemetry) private readonly telemetry: Telemetry,
  ) {}

  /**
   * @param prisma - a client or its injection token
   * @throws {ConfigurationError | MissingTableError} when it cannot hold claims
   */
  for(prisma: PrismaClientLike | InjectionToken = this.options.prisma): EventProcessor {
    const client = this.clientOf(prisma)
    let processor = this.processors.get(client)
    if (!processor) {
      const store = new ProcessedEventsStore(client, this.options)
      processor = new EventProcessor(store, this.options, this.inFlight, this.log, this.telemetry)
      this.processors.set(client, processor)
      this.holdDisconnect(client)
    }
    return processor
  }

  all(): EventProcessor[] {
    return [...this.processors.values()]
  }

  /** Only now, not while providers are made: a token may belong to a module that is not initialised yet. */
  private clientOf(prisma: PrismaClientLike | InjectionToken): PrismaClientLike {
    if (typeof prisma === 'object') return prisma
    try {
      return this.moduleRef.get<PrismaClientLike>(prisma, { strict: false })
    } catch (cause) {
      const token = typeof prisma === 'function' ? prisma.name : String(prisma)
      throw new ConfigurationError(
        `The option prisma names the provider ${token}, which no module of the application has. ` +
          `Add it to the providers of a module, or give the client itself.`,
        { cause },
      )
    }
  }

  /**
   * The usual recipe disconnects the client in its own onModuleDestroy, which Nest may call before ours, and a disconnected
   * client rolls back what is in progress. So the client's $disconnect first lets deliveries end.
   */
  private holdDisconnect(client: PrismaClientLike & { $disconnect?: () => Promise<void> }): void {
    const disconnect = client.$disconnect
    if (typeof disconnect !== 'function') return
    client.$disconnect = () => this.inFlight.disconnect(() => disconnect.call(client))
  }
}
