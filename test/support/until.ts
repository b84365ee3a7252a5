import { setTimeout as pause } from 'node:timers/promises'

/** Looks again and again until something holds, where nothing tells of it: a statement that waits for a lock, say. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, bound = 10_000): Promise<void> {
  const end = performance.now() + bound
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Not so within ${bound} ms: ${what}`)
    await pause(5)
  }
}
