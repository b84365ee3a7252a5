/** How long a transaction may take and what it sees; times in milliseconds. */
export interface TransactionOptions {
  /**
   * How long an event may take from the start of its transaction until its COMMIT is begun, in ms.
   * @default 5000
   */
  timeout?: number
  /**
   * How long to wait for a connection of the pool, in ms.
   * @default 2000
   */
  maxWait?: number
  /** One of Prisma's isolation levels. @default the database's own */
  isolationLevel?: string
}

/**
 * What this library calls on a Prisma client: any generated client fits, extended ones too.
 * The transaction client is `any` because its type exists only in the user's generated code.
 */
export interface PrismaClientLike {
  $transaction<Value>(work: (tx: any) => Promise<Value>, options?: TransactionOptions): Promise<Value>
}

/** What this library calls on the model of the claims. */
export interface ProcessedEventDelegate {
  createMany(args: { data: ClaimRow[]; skipDuplicates?: true }): PromiseLike<{ count: number }>
  createManyAndReturn(args: {
    data: ClaimRow[]
    skipDuplicates: true
    select: { source: true; eventId: true }
  }): PromiseLike<ClaimKey[]>
  findFirst(args: { where: ClaimKey; select: { eventId: true } }): PromiseLike<object | null>
  count(args: { where: { OR: ClaimKey[] } }): PromiseLike<number>
  deleteMany(args: { where: object; limit?: number }): PromiseLike<{ count: number }>
}

/** The unique key of a claim, as its columns hold it. */
export interface ClaimKey {
  source: string | Uint8Array
  eventId: string | Uint8Array
}

/** The columns of a claim that are not filled in by the database. */
export interface ClaimRow extends ClaimKey {
  eventType: string
}
