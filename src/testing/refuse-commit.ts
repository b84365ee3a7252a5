import type { PrismaClientLike } from '../prisma-client-like.js'

/** Options of {@link refuseCommit}. */
export interface RefuseCommitOptions {
  /** How many transactions are refused; those after them commit. @default 1 */
  times?: number
  /** What `$transaction()` is rejected with. @default an error that is no other's */
  error?: unknown
}

/** What {@link refuseCommit} has done so far. */
export interface RefusedCommits {
  /** How many transactions came as far as COMMIT and were rolled back. */
  readonly count: number
  /** Refuses no more. */
  restore(): void
}

/**
 * Crashes before COMMIT: the next interactive transaction of a client does all of its work, is rolled back, and fails as one
 * whose COMMIT the database has refused. A handler is right when the first delivery is refused and leaves nothing behind,
 * and the second is processed.
 *
 * @param prisma - the client that the application uses; it is changed until as many transactions are refused as asked for
 *
 * @example
 * refuseCommit(app.get(PrismaService))
 * const outcomes = await deliverTwice(app, delivery, { effect: () => balanceOf('acct_1') })
 * expect(outcomes).toMatchObject({ refused: 1, processed: 1, effects: [0, 0, 100] })
 */
export function refuseCommit(prisma: PrismaClientLike, options: RefuseCommitOptions = {}): RefusedCommits {
  const { times = 1, error = new Error('COMMIT was refused, as refuseCommit() was asked to do.') } = options
  const transaction = prisma.$transaction
  let count = 0
  let restored = false
  const restore = () => {
    restored = true
    // Somebody else may have replaced the method since, and still call this one.
    if (prisma.$transaction === refusing) prisma.$transaction = transaction
  }
  const refusing: PrismaClientLike['$transaction'] = (work, ...rest) =>
    transaction.call(prisma, typeof work === 'function' ? (tx) => refuse(() => work(tx)) : work, ...rest) as never
  const refuse = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    const value = await work()
    if (restored) return value
    if (++count === times) restore()
    throw error
  }
  prisma.$transaction = refusing
  return {
    get count() {
      return count
    },
    restore,
  }
}
