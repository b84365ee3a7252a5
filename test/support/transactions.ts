import type { PrismaClient } from '../../prisma/generated/client.js'

/** The client, and how many transactions were opened through it. */
export function countTransactions(prisma: PrismaClient): { client: PrismaClient; count: number } {
  const counted = {
    count: 0,
    client: new Proxy(prisma, {
      get(target, key) {
        if (key === '$transaction') counted.count++
        return Reflect.get(target, key, target)
      },
    }),
  }
  return counted
}
