import type { Deadline } from './deadline.js'
import { TransactionClosedError } from './errors.js'
import { kindOf } from './prisma-errors.js'

/** Whether a write conflict ends the whole transaction on the server: so on MySQL, where PostgreSQL only aborts it. */
export interface GuardOptions {
  conflictEndsTransaction: boolean
}

/** The nested transactions that are open within a client: each is a savepoint, also for what is sent beside it meanwhile. */
type Level = Set<{ overlapped: boolean }>

/**
 * Stands between a handler and Prisma's transaction client: watches how its statements end, and closes it when the event is
 * over. It sends nothing of its own.
 */
export class GuardedTransaction<Client extends object = any> {
  /** What the handler gets; it behaves as the client it stands for. */
  readonly client: Client
  private readonly running = new Set<Promise<unknown>>()
  private failure: { error: unknown } | undefined
  /** Why it was closed before the handler had ended. */
  private closed: Error | undefined
  private ended = false
  private undone: { error: unknown } | undefined

  constructor(
    client: Client,
    private readonly deadline: Pick<Deadline, 'error' | 'race'>,
    private readonly options: GuardOptions,
  ) {
    this.client = this.guardClient(client)
  }

  /** The first failed statement, whether the handler let its error through or not. */
  get failedStatement(): { error: unknown } | undefined {
    return this.failure
  }

  /** A nested transaction that was rolled back, and that took statements with it which were sent beside it. */
  get undoneStatements(): { error: unknown } | undefined {
    return this.undone
  }

  /** Whether the handler sent any statement. */
  get used(): boolean {
    return this.sent
  }
  private sent = false

  /** Refuses further statements; resolves when those under way have ended, also if nobody awaits them. */
  async close(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled(this.running)
    this.ended = true
  }

  private assertOpen(): void {
    const { error } = this.deadline
    if (error) throw new TransactionClosedError('A handler used its tx after its deadline', { cause: error })
    if (this.closed) throw this.closed
    if (this.ended) throw new TransactionClosedError('A handler used its tx too late')
  }

  private watch<Value>(statement: PromiseLike<Value>, level: Level): Promise<Value> {
    this.sent = true
    for (const nested of level) nested.overlapped = true
    const watched = Promise.resolve(statement).then(undefined, (error: unknown) => this.fail(error))
    this.running.add(watched)
    const done = () => this.running.delete(watched)
    watched.then(done, done)
    return watched
  }

  private fail(error: unknown): never {
    this.failure ??= { error }
    if (this.options.conflictEndsTransaction && kindOf(error) === 'conflict') {
      this.closed ??= new TransactionClosedError('The database ended the transaction after a conflict', {
        cause: error,
      })
    }
    throw error
  }

  private guardClient(client: Client): Client {
    const level: Level = new Set()
    return this.proxy(client, (value, key, guarded) => {
      if (key === '$transaction') return this.guardNested(client, level, value)
      if (typeof value === 'function') return this.guardMethod(guarded, level, value)
      return typeof value === 'object' && value !== null ? this.guardModel(value, level) : value
    })
  }

  private guardModel(model: object, level: Level): object {
    return this.proxy(model, (value, _, guarded) =>
      typeof value === 'function' ? this.guardMethod(guarded, level, value) : value,
    )
  }

  /** A nested transaction ends at the deadline too: the outer one can be rolled back only when none is left within it. */
  private guardNested(client: Client, level: Level, transaction: (...args: any[]) => any) {
    return (work: unknown, options: unknown) => {
      this.assertOpen()
      if (typeof work !== 'function') return this.guardResult(transaction.call(client, work, options), level)
      const bounded = (tx: Client) => this.deadline.race(Promise.resolve(work(this.guardClient(tx))))
      const ended = this.watch(transaction.call(client, bounded, options), level)
      const nested = { overlapped: false }
      level.add(nested)
      ended.then(
        () => level.delete(nested),
        (error: unknown) => {
          level.delete(nested)
          if (nested.overlapped) this.undone ??= { error }
        },
      )
      return ended
    }
  }

  /** @param owner - guarded, so that the statements within the methods of extensions are watched as well */
  private guardMethod(owner: object, level: Level, method: (...args: any[]) => unknown) {
    return (...args: unknown[]) => {
      this.assertOpen()
      return this.guardResult(method.apply(owner, args), level)
    }
  }

  /** Prisma's own promises send nothing until somebody awaits them, and stay so. */
  private guardResult(result: unknown, level: Level): unknown {
    if (result instanceof Promise) return this.watch(result, level)
    if (!isThenable(result)) return result
    let watched: Promise<unknown> | undefined
    const start = () => {
      if (!watched) this.assertOpen()
      return (watched ??= this.watch(result, level))
    }
    return new Proxy(result, {
      get: (target, key) => {
        if (key === 'then' || key === 'catch' || key === 'finally') {
          return (...args: any[]) => {
            try {
              const promise: any = start()
              return promise[key](...args)
            } catch (error) {
              return (Promise.reject(error) as any)[key](...args)
            }
          }
        }
        const value = Reflect.get(target, key, target)
        return typeof value === 'function' ? this.guardMethod(target, level, value) : value
      },
    })
  }

  /**
   * Every property is guarded once, since handlers read the same few again and again. Keys with an underscore, and symbols,
   * are Prisma's internals.
   */
  private proxy<Target extends object>(
    target: Target,
    guard: (value: any, key: string, guarded: Target) => unknown,
  ): Target {
    const known = new Map<PropertyKey, unknown>()
    const guarded: Target = new Proxy(target, {
      get(_, key) {
        if (!known.has(key)) {
          const value = Reflect.get(target, key, target)
          known.set(key, typeof key === 'symbol' || key.startsWith('_') ? value : guard(value, key, guarded))
        }
        return known.get(key)
      },
    })
    return guarded
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> & object {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
