import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { createClient } from '@redis/client'

export interface Redis {
  url: string
  close(): Promise<void>
}

/**
 * The Redis of REDIS_URL, else a `redis-server` of our own, without persistence: the fastest there is, and nothing is kept.
 *
 * @returns the reason when there is none
 */
export async function startRedis(): Promise<Redis | { missing: string }> {
  const given = process.env.REDIS_URL
  if (given) return { url: given, close: async () => {} }
  const port = await freePort()
  const server = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    {
      stdio: 'ignore',
    },
  )
  try {
    await once(server, 'spawn')
  } catch (error) {
    return { missing: `there is no REDIS_URL, and redis-server did not start (${(error as Error).message})` }
  }
  // Also when this process ends by an error.
  process.once('exit', () => server.kill())
  const url = `redis://127.0.0.1:${port}`
  await answering(url)
  return { url, close: () => end(server) }
}

async function answering(url: string): Promise<void> {
  const client = createClient({ url, socket: { reconnectStrategy: 50 } }).on('error', () => {})
  await client.connect()
  await client.ping()
  client.destroy()
}

async function end(server: ChildProcess): Promise<void> {
  const ended = once(server, 'exit')
  server.kill()
  await ended
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}
