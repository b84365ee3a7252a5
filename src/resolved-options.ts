import { ConfigurationError } from './errors.js'
import type { RetentionOptions, WebhookIdempotencyOptions } from './webhook-idempotency-options.js'
import type { TransactionOptions } from './prisma-client-like.js'

/** The module's options with every default filled in; nothing else knows them. */
export interface ResolvedOptions extends Required<
  Omit<WebhookIdempotencyOptions, 'transaction' | 'retention' | 'provider'>
> {
  transaction: ResolvedTransactionOptions
  retention: Required<RetentionOptions> | undefined
  provider: WebhookIdempotencyOptions['provider']
}

export type ResolvedTransactionOptions = Required<Omit<TransactionOptions, 'isolationLevel'>> &
  Pick<TransactionOptions, 'isolationLevel'>

export const RESOLVED_OPTIONS = Symbol.for('nestjs-webhook-idempotency:resolved-options')

/**
 * Applies the defaults.
 *
 * @throws {ConfigurationError} when an option has a value that cannot be meant
 */
export function resolveOptions(given: WebhookIdempotencyOptions): ResolvedOptions {
  if (!given?.prisma) {
    throw new ConfigurationError(
      'The option prisma is missing. Give WebhookIdempotencyModule.forRoot() a Prisma client or the injection token of one, ' +
        'such as { prisma: PrismaService }.',
    )
  }
  const { sources = {}, model = 'processedEvent', claim = 'createMany', probe = true, provider } = given
  return {
    prisma: given.prisma,
    sources,
    model,
    claim: oneOf('claim', claim, ['createMany', 'sql']),
    probe,
    provider,
    transaction: resolveTransaction({ timeout: 5000, maxWait: 2000 }, given.transaction),
    waitTimeout: milliseconds('waitTimeout', given.waitTimeout ?? 5000),
    claimRetries: wholeNumber('claimRetries', given.claimRetries ?? 5, 0),
    handlerRetries: wholeNumber('handlerRetries', given.handlerRetries ?? 0, 0),
    maxEvents: wholeNumber('maxEvents', given.maxEvents ?? 1000, 1),
    retention: given.retention && resolveRetention(given.retention),
  }
}

/** Lays a handler's own transaction options over those of the module. */
export function resolveTransaction(
  base: ResolvedTransactionOptions,
  given: TransactionOptions = {},
): ResolvedTransactionOptions {
  return {
    timeout: milliseconds('transaction.timeout', given.timeout ?? base.timeout),
    maxWait: milliseconds('transaction.maxWait', given.maxWait ?? base.maxWait),
    isolationLevel: given.isolationLevel ?? base.isolationLevel,
  }
}

function resolveRetention({ days = 30, everyMinutes = 60, batchSize = 1000 }: RetentionOptions) {
  return {
    days: positive('retention.days', days, 36_500),
    everyMinutes: positive('retention.everyMinutes', everyMinutes, MAX_MINUTES),
    batchSize: wholeNumber('retention.batchSize', batchSize, 1),
  }
}

/** A timer takes a signed 32-bit number of ms; the jitter of retention may double its interval. */
const MAX_MILLISECONDS = 2 ** 31 - 1
const MAX_MINUTES = Math.floor(MAX_MILLISECONDS / 2 / 60_000)

function milliseconds(option: string, value: number): number {
  return positive(option, value, MAX_MILLISECONDS)
}

function positive(option: string, value: number, max: number): number {
  if (Number.isFinite(value) && value > 0 && value <= max) return value
  throw new ConfigurationError(`The option ${option} is ${String(value)}. Give a number above 0 and up to ${max}.`)
}

/** @throws {ConfigurationError} when it is none, or below the minimum */
export function wholeNumber(option: string, value: number, min: number): number {
  if (Number.isSafeInteger(value) && value >= min) return value
  throw new ConfigurationError(`The option ${option} is ${String(value)}. Give a whole number of ${min} or more.`)
}

function oneOf<Value extends string>(option: string, value: Value, known: readonly Value[]): Value {
  if (known.includes(value)) return value
  throw new ConfigurationError(`The option ${option} is ${value}. Give one of ${known.join(', ')}.`)
}
