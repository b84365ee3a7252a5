/** As V8's profiler gives it. */
export interface Profile {
  nodes: ProfileNode[]
  samples: number[]
  timeDeltas: number[]
}

interface ProfileNode {
  id: number
  callFrame: { functionName: string; url: string; lineNumber: number }
}

export interface TimeOfOwner {
  owner: string
  microseconds: number
}

export interface TimeOfFunction extends TimeOfOwner {
  name: string
}

/** Whose code was running: a package, this library, or the engine. */
export function timeByOwner(profiles: readonly Profile[]): TimeOfOwner[] {
  const times = new Map<string, number>()
  for (const { callFrame, microseconds } of profiles.flatMap(ownTimes)) {
    const owner = ownerOf(callFrame)
    if (owner !== IDLE) times.set(owner, (times.get(owner) ?? 0) + microseconds)
  }
  const owners = [...times].map(([owner, microseconds]) => ({ owner, microseconds }))
  return owners.filter(({ microseconds }) => microseconds > 0).toSorted(byTime)
}

export function hottestFunctions(profiles: readonly Profile[]): TimeOfFunction[] {
  const times = new Map<string, TimeOfFunction>()
  for (const { callFrame, microseconds } of profiles.flatMap(ownTimes)) {
    const owner = ownerOf(callFrame)
    if (owner === IDLE) continue
    const { functionName, url, lineNumber } = callFrame
    const name = `${functionName || '(anonymous)'} ${url.split('/').at(-1)}:${lineNumber + 1}`
    const time = times.get(`${owner} ${name}`) ?? { name, owner, microseconds: 0 }
    times.set(`${owner} ${name}`, { ...time, microseconds: time.microseconds + microseconds })
  }
  return [...times.values()].toSorted(byTime)
}

const IDLE = '(idle)'

function ownTimes({ nodes, samples, timeDeltas }: Profile) {
  const times = new Map<number, number>()
  for (const [index, id] of samples.entries()) times.set(id, (times.get(id) ?? 0) + timeDeltas[index]!)
  return nodes.map(({ id, callFrame }) => ({ callFrame, microseconds: times.get(id) ?? 0 }))
}

function ownerOf({ functionName, url }: ProfileNode['callFrame']): string {
  if (functionName === '(idle)' || functionName === '(program)') return functionName
  if (functionName === '(garbage collector)') return functionName
  const [, owner] = url.match(/.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/) ?? []
  if (owner) return owner
  if (url.startsWith('node:')) return 'node'
  if (url.includes('/dist/')) return 'nestjs-webhook-idempotency'
  if (url.includes('/bench/')) return 'the subject'
  return url.startsWith('wasm:') ? 'WebAssembly' : url === '' ? 'the engine' : 'other'
}

function byTime(a: { microseconds: number }, b: { microseconds: number }): number {
  return b.microseconds - a.microseconds
}
