import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { startPostgres } from '../tools/postgres.mjs'

const OWNER = `
  import { startPostgres } from '${pathToFileURL(resolve('tools/postgres.mjs')).href}'
  const { url } = await startPostgres({ durable: false })
  console.log(url)
  setInterval(() => undefined, 60_000)
`

describe('the PostgreSQL of the tools', () => {
  it('keeps what was committed before a crash', async () => {
    const postgres = await startPostgres()
    await query(postgres.url, 'CREATE TABLE kept AS SELECT 42 AS answer')

    await postgres.crash()
    await expect(query(postgres.url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await postgres.restart()

    await expect(query(postgres.url, 'SELECT answer FROM kept')).resolves.toEqual([{ answer: 42 }])
    await postgres.stop()
  })

  it('removes temporary data when it stops', async () => {
    const postgres = await startPostgres({ durable: false })
    const directory = await dataDirectory(postgres.url)

    await postgres.stop()

    expect(existsSync(directory)).toBe(false)
  })

  it('keeps the data of a given directory, and refuses to serve them twice', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kept-postgres-'))
    const first = await startPostgres({ directory, durable: false })
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
    await expect(startPostgres({ directory })).rejects.toThrow(`runs already in ${directory}`)
    await first.stop()

    const second = await startPostgres({ directory, durable: false })
    await expect(query(second.url, 'SELECT answer FROM kept')).resolves.toEqual([{ answer: 42 }])
    await second.stop()
    await rm(directory, { recursive: true })
  })

  it('takes settings of any characters', async () => {
    const name = String.raw`it's a \ here`
    const postgres = await startPostgres({ durable: false, settings: { cluster_name: name } })

    await expect(query(postgres.url, `SELECT current_setting('cluster_name') AS name`)).resolves.toEqual([{ name }])
    await postgres.stop()
  })

  it("shows the server's log when it does not start", async () => {
    const start = startPostgres({ settings: { no_such_setting: 'x' } })

    await expect(start).rejects.toThrow('unrecognized configuration parameter "no_such_setting"')
  })

  it.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'ends with its owner, and removes its data, after %s',
    async (signal) => {
      const owner = spawn(process.execPath, ['--input-type=module', '--eval', OWNER])
      const url = await firstOutput(owner)
      const directory = await dataDirectory(url)

      owner.kill(signal)
      await allHoldersOfItsPipesEnded(owner)

      expect(existsSync(directory)).toBe(false)
      await expect(query(url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    },
  )
})

async function query(url: string, sql: string): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

async function dataDirectory(url: string): Promise<string> {
  const [row] = await query(url, `SELECT current_setting('data_directory') AS directory`)
  return row?.directory
}

async function firstOutput(process: ChildProcess): Promise<string> {
  const [output] = process.stdout ? await once(process.stdout, 'data') : []
  return String(output).trim()
}

async function allHoldersOfItsPipesEnded(process: ChildProcess): Promise<void> {
  await once(process, 'close')
}
