import type { Deadline } from './deadline.js'
import { TransactionClosedError } from './errors.js'
import { kindOf } from './prisma-errors.js'

/** Whether a write conflict ends the whole transaction on the server: so on MySQL, where PostgreSQL only aborts it. */
export interface GuardOptions {
  conflictEndsTransaction: boolean
}

/**
 * Stands between a handler and Prisma's transaction client: watches how its statements end, and closes it when the event is
 * over. It sends nothing of its own.
 */
export class GuardedTransaction<Client extends object = any> {
  /** What the handler gets; it behaves as the client it stands for. */
  readonly client: Client
  private readonly running = new Set<Promise<unknown>>()
  private failure: { error: unknown } | undefined
  private closed: Error | undefined

  constructor(
    client: Client,
    private readonly deadline: Pick<Deadline, 'signal' | 'race'>,
    private readonly options: GuardOptions,
  ) {
    this.client = this.guardClient(client)
  }

  /** The first failed statement, whether the handler let its error through or not. */
  get failedStatement(): { error: unknown } | undefined {
    return this.failure
  }

  /** Whether the handler sent any statement. */
  get used(): boolean {
    return this.sent
  }
  private sent = false

  /** Refuses further statements; resolves when those under way have ended, also if nobody awaits them. */
  async close(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled(this.running)
    this.closed ??= new TransactionClosedError('A handler used its tx too late')
  }

  private assertOpen(): void {
    const { signal } = this.deadline
    if (signal.aborted) {
      throw new TransactionClosedError('A handler used its tx after its deadline', { cause: signal.reason })
    }
    if (this.closed) throw this.closed
  }

  private watch<Value>(statement: PromiseLike<Value>): Promise<Value> {
    this.sent = true
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
    return this.proxy(client, (value, key, guarded) => {
      if (key === '$transaction') return this.guardNested(client, value)
      if (typeof value === 'function') return this.guardMethod(guarded, value)
      return typeof value === 'object' && value !== null ? this.guardModel(value) : value
    })
  }

  private guardModel(model: object): object {
    return this.proxy(model, (value, _, guarded) =>
      typeof value === 'function' ? this.guardMethod(guarded, value) : value,
    )
  }

  /** A nested transaction ends at the deadline too: the outer one can be rolled back only when none is left within it. */
  private guardNested(client: Client, transaction: (...args: any[]) => unknown) {
    return this.guardMethod(client, (work: unknown, options: unknown) => {
      if (typeof work !== 'function') return transaction.call(client, work, options)
      const bounded = (tx: Client) => this.deadline.race(Promise.resolve(work(this.guardClient(tx))))
      return transaction.call(client, bounded, options)
    })
  }

  /** @param owner - guarded, so that the statements within the methods of extensions are watched as well */
  private guardMethod(owner: object, method: (...args: any[]) => unknown) {
    return (...args: unknown[]) => {
      this.assertOpen()
      return this.guardResult(method.apply(owner, args))
    }
  }

  /** Prisma's own promises send nothing until somebody awaits them, and stay so. */
  private guardResult(result: unknown): unknown {
    if (result instanceof Promise) return this.watch(result)
    if (!isThenable(result)) return result
    let watched: Promise<unknown> | undefined
    const start = () => {
      if (!watched) this.assertOpen()
      return (watched ??= this.watch(result))
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
        return typeof value === 'function' ? this.guardMethod(target, value) : value
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
