import { newDelivery } from '../harness/bench-event.js'
import type { ApplicationProcess } from '../harness/application-process.js'
import type { Contestant } from '../harness/contestants.js'
import { startContestants } from '../harness/contestants.js'
import type { Databases } from '../harness/databases.js'
import { deliverTimes } from '../harness/load.js'

export interface MemoryAt {
  deliveries: number
  heap: number
  rss: number
}

/** What an application holds after some deliveries, and after many. */
export async function measureMemory(
  databases: Databases,
  few: number,
  many: number,
): Promise<{ before: MemoryAt; after: MemoryAt }> {
  const field = await startContestants(['ours'], databases)
  try {
    const [{ application }] = field.contestants as [Contestant]
    const before = await memoryAfter(application, few, few)
    const after = await memoryAfter(application, many - few, many)
    return { before, after }
  } finally {
    await field.close()
  }
}

async function memoryAfter(application: ApplicationProcess, deliveries: number, inAll: number): Promise<MemoryAt> {
  await deliverTimes({ url: application.url, path: '/events', connections: 8, next: newDelivery }, deliveries)
  await application.collectGarbage()
  const { heap, rss } = await application.usage()
  return { deliveries: inAll, heap, rss }
}
