import type { InjectionToken } from '@nestjs/common'
import type { PrismaClientLike, TransactionOptions } from './prisma-client-like.js'
import type { WebhookSource } from './sources/webhook-source.js'

/** When claims are deleted. */
export interface RetentionOptions {
  /**
   * For how many days claims are kept. An event that is delivered again after its claim is gone is processed again.
   * @default 30
   */
  days?: number
  /** How often old claims are looked for, in minutes. @default 60 */
  everyMinutes?: number
  /** How many claims one statement deletes. @default 1000 */
  batchSize?: number
}

/** Options of {@link WebhookIdempotencyModule.forRoot}. */
export interface WebhookIdempotencyOptions {
  /** The Prisma client, or the injection token of one. */
  prisma: PrismaClientLike | InjectionToken
  /** Named senders, for `@IdempotentWebhook('name')`. @default {} */
  sources?: Record<string, WebhookSource>
  transaction?: TransactionOptions
  /**
   * How long a delivery waits while another one of the same event is in progress, in ms; then it is answered with 503.
   * @default 5000
   */
  waitTimeout?: number
  /** How often a claim that conflicts with other transactions is tried again. @default 5 */
  claimRetries?: number
  /**
   * How often a handler that has started may run again after a conflict (a deadlock, a serialization failure). Only for
   * handlers that do nothing but work with `tx`.
   * @default 0
   */
  handlerRetries?: number
  /** How many events one delivery may carry; more are answered with 400. @default 1000 */
  maxEvents?: number
  /** Deletes old claims from time to time. @default nothing is deleted */
  retention?: RetentionOptions
  /** The name of the model on the client. @default 'processedEvent' */
  model?: string
  /**
   * The database.
   * @default what the client says
   */
  provider?: Provider
  /**
   * How claims are inserted: by Prisma's `createMany`, or, on PostgreSQL, by an SQL statement of the same effect, which takes
   * less CPU time. The statement is not seen by query extensions of the model.
   * @default 'createMany'
   */
  claim?: 'createMany' | 'sql'
  /**
   * Checks at start-up, in one transaction that is rolled back, that the table keeps different events apart.
   * @default true
   */
  probe?: boolean
}

/** The databases that can keep the promises; MariaDB is `mysql`, and `sqlite` is for development. */
export type Provider = 'postgresql' | 'cockroachdb' | 'mysql' | 'sqlite'
