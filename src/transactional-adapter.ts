import { activeEvent, followEvents } from './active-event.js'

/** What an adapter of `@nestjs-cls/transactional` is to this library. */
export interface TransactionalAdapterLike<Connection, Tx, Options> {
  connectionToken: any
  defaultTxOptions?: Partial<Options>
  optionsFactory(connection: Connection): {
    wrapWithTransaction(
      options: Options,
      work: (...args: any[]) => Promise<any>,
      setTransaction: (tx?: Tx) => void,
    ): Promise<any>
    getFallbackInstance(): Tx
  }
}

/**
 * Lets the services below a handler that use a `TransactionHost` or `@Transactional()` of `@nestjs-cls/transactional` work in
 * the transaction of the event, so that what they write is committed with its claim. Outside of events the adapter does what
 * it did before.
 *
 * Within an event every transaction joins it, also one with the propagation `RequiresNew`; with `Mandatory`, start one with
 * `@Transactional()` first.
 *
 * @param adapter - such as a `TransactionalAdapterPrisma`; it is left as it is
 * @returns an adapter to be given to `ClsPluginTransactional` instead
 *
 * @example
 * new ClsPluginTransactional({
 *   adapter: joinWebhookTransaction(new TransactionalAdapterPrisma({ prismaInjectionToken: PrismaService })),
 * })
 */
export function joinWebhookTransaction<
  Connection,
  Tx,
  Options,
  Adapter extends TransactionalAdapterLike<Connection, Tx, Options>,
>(adapter: Adapter & TransactionalAdapterLike<Connection, Tx, Options>): Adapter {
  followEvents()
  const optionsFactory: Adapter['optionsFactory'] = (connection) => {
    const options = adapter.optionsFactory(connection)
    return {
      ...options,
      wrapWithTransaction: async (txOptions, work, setTransaction) => {
        const active = activeEvent()
        if (!active) return options.wrapWithTransaction(txOptions, work, setTransaction)
        setTransaction(active.context.tx)
        return work()
      },
      getFallbackInstance: () => activeEvent()?.context.tx ?? options.getFallbackInstance(),
    }
  }
  return Object.create(adapter, { optionsFactory: { value: optionsFactory, enumerable: true } })
}
