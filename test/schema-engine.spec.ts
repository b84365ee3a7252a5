import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { appendFile, cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import pg from 'pg'

const REPOSITORY = resolve()
const CLI = resolve('node_modules/prisma/build/index.js')
const ENGINE = resolve('tools/schema-engine.mjs')
const DIFF = 'migrate diff --from-migrations prisma/migrations --to-schema prisma/schema.prisma --exit-code'
const CONFIG = `export default {
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL },
}`

// Each run of the command line starts Node several times over.
jest.setTimeout(120_000)

interface Run {
  exitCode: number
  output: string
}

describe("the schema engine, through Prisma's command line", () => {
  let admin: pg.Client
  let database: string
  let url: string
  let project: string

  beforeAll(async () => {
    admin = new pg.Client(process.env.TEST_POSTGRES_URL)
    await admin.connect()
  })

  beforeEach(async () => {
    database = `engine_${randomUUID()}`
    url = urlOf(database)
    project = await createProject()
  })

  afterEach(async () => {
    await rm(project, { recursive: true })
    await admin.query(`DROP DATABASE IF EXISTS "${database}" WITH (FORCE)`)
    const leaked = await shadowDatabases()
    await dropAll(leaked)
    expect(leaked).toEqual([])
  })

  afterAll(() => admin.end())

  describe('in this repository', () => {
    const prisma = (command: string) => run(command, REPOSITORY, { DATABASE_URL: url })

    it('creates the database that migrate deploy does not find, and applies the migrations', async () => {
      await expect(prisma('migrate deploy')).resolves.toMatchObject({ exitCode: 0 })

      await expect(tables()).resolves.toEqual(['_prisma_migrations', 'accounts', 'credits', 'processed_events'])
    })

    it('finds the deployed database up to date', async () => {
      await prisma('migrate deploy')

      const status = await prisma('migrate status')
      expect(status.output).toContain('Database schema is up to date!')
      expect(status.exitCode).toBe(0)
    })

    it('finds no difference between the migrations and the schema', async () => {
      await createDatabase()

      const diff = await prisma(DIFF)
      expect(diff.output).toContain('No difference detected.')
      expect(diff.exitCode).toBe(0)
    })

    it('validates the schema without a DATABASE_URL', async () => {
      const validate = await run('validate', REPOSITORY, { DATABASE_URL: undefined })
      expect(validate.output).toContain('is valid')
      expect(validate.exitCode).toBe(0)
    })
  })

  describe('in another project', () => {
    const prisma = (command: string) =>
      run(command, project, { DATABASE_URL: url, PRISMA_SCHEMA_ENGINE_BINARY: ENGINE })

    it('generates the client without a DATABASE_URL', async () => {
      const environment = { DATABASE_URL: undefined, PRISMA_SCHEMA_ENGINE_BINARY: ENGINE }
      await expect(run('generate', project, environment)).resolves.toMatchObject({ exitCode: 0 })

      await expect(readFile(join(project, 'prisma/generated/client.ts'), 'utf8')).resolves.toContain('PrismaClient')
    })

    it('names the model that no migration creates, and exits with 2', async () => {
      await createDatabase()
      await addModel('Refund')

      const diff = await prisma(DIFF)
      expect(diff.output).toMatch(/Added tables\s+- Refund/)
      expect(diff.exitCode).toBe(2)
    })

    it('tells a migration that fails, takes back all of it, and remembers it as failed', async () => {
      await addMigration('failing', 'CREATE TABLE half (id int); SELECT 1 / 0;')

      const deploy = await prisma('migrate deploy')
      expect(deploy.output).toContain('division by zero')
      expect(deploy.exitCode).toBe(1)
      await expect(tables()).resolves.not.toContain('half')

      const status = await prisma('migrate status')
      expect(status.output).toMatch(/migrations? have failed:\s+\S*failing/)
      expect(status.exitCode).toBe(1)
    })

    it('tells a migration that fails in the shadow database', async () => {
      await createDatabase()
      await addMigration('failing', 'SELECT 1 / 0')

      const diff = await prisma(DIFF)
      expect(diff.output).toContain('division by zero')
      expect(diff.exitCode).toBe(1)
    })

    it('applies functions whose bodies have semicolons', async () => {
      const body = 'BEGIN RETURN 1; END;'
      await addMigration('function', `CREATE FUNCTION one() RETURNS int LANGUAGE plpgsql AS $$ ${body} $$;`)

      await expect(prisma('migrate deploy')).resolves.toMatchObject({ exitCode: 0 })
    })

    it('writes the next migration after applying those of others', async () => {
      await createDatabase()
      await addMigration(
        'theirs',
        'CREATE TABLE "Refund" ("id" INTEGER NOT NULL, CONSTRAINT "Refund_pkey" PRIMARY KEY ("id"));',
      )
      await addModel('Refund')
      await addModel('Dispute')

      await expect(prisma('migrate dev --name ours')).resolves.toMatchObject({ exitCode: 0 })

      const sql = await readMigration('ours')
      expect(sql).toContain('CREATE TABLE "Dispute"')
      expect(sql).not.toContain('Refund')
    })

    it('empties a database and migrates it again', async () => {
      await prisma('migrate deploy')
      await inDatabase(`CREATE TABLE stray (id int)`)

      await expect(prisma('migrate reset --force')).resolves.toMatchObject({ exitCode: 0 })

      await expect(tables()).resolves.toEqual(['_prisma_migrations', 'accounts', 'credits', 'processed_events'])
    })

    it('tells P1001 when the server is not reachable', async () => {
      url = 'postgresql://postgres@127.0.0.1:1/nothing'

      const deploy = await prisma('migrate deploy')
      expect(deploy.output).toContain("P1001: Can't reach the database server at 127.0.0.1:1")
      expect(deploy.exitCode).toBe(1)
    })

    it('refuses other databases than PostgreSQL', async () => {
      url = 'mysql://root@127.0.0.1/shop'

      const deploy = await prisma('migrate deploy')
      expect(deploy.output).toContain('starts with "mysql:", but the schema engine works with PostgreSQL only')
      expect(deploy.exitCode).toBe(1)
    })

    it('refuses a schema parameter, rather than migrate another schema than asked for', async () => {
      url = `${url}?schema=webhooks`

      const deploy = await prisma('migrate deploy')
      expect(deploy.output).toContain('asks for the schema "webhooks"')
      expect(deploy.exitCode).toBe(1)
    })

    it('tells a panic of the engine, which Node would otherwise end without an answer', async () => {
      await prisma('migrate deploy')
      await inDatabase(`
        CREATE VIEW pg_constraint AS
        SELECT oid, conname, conrelid, text 'unexpected' AS contype, condeferrable, condeferred FROM pg_catalog.pg_constraint
      `)
      await admin.query(`ALTER DATABASE "${database}" SET search_path = public, pg_catalog`)

      const diff = await prisma('migrate diff --from-config-datasource --to-schema prisma/schema.prisma')
      expect(diff.output).toContain('panicked at')
      expect(diff.exitCode).toBe(1)
    })
  })

  async function createProject(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'schema-engine-'))
    await cp('prisma/schema.prisma', join(directory, 'prisma/schema.prisma'))
    await cp('prisma/migrations', join(directory, 'prisma/migrations'), { recursive: true })
    await writeFile(join(directory, 'prisma.config.mjs'), CONFIG)
    await symlink(resolve('node_modules'), join(directory, 'node_modules'))
    return directory
  }

  async function addMigration(name: string, sql: string): Promise<void> {
    const directory = join(project, 'prisma/migrations', `20990101000000_${name}`)
    await mkdir(directory)
    await writeFile(join(directory, 'migration.sql'), sql)
  }

  async function readMigration(name: string): Promise<string> {
    const directory = join(project, 'prisma/migrations')
    const entry = (await readdir(directory)).find((candidate) => candidate.endsWith(`_${name}`)) ?? ''
    return readFile(join(directory, entry, 'migration.sql'), 'utf8')
  }

  function addModel(name: string): Promise<void> {
    return appendFile(join(project, 'prisma/schema.prisma'), `model ${name} {\n  id Int @id\n}\n`)
  }

  function createDatabase(): Promise<unknown> {
    return admin.query(`CREATE DATABASE "${database}"`)
  }

  async function shadowDatabases(): Promise<string[]> {
    const { rows } = await admin.query(`SELECT datname FROM pg_database WHERE datname LIKE 'prisma_migrate_shadow%'`)
    return rows.map((row) => row.datname)
  }

  async function dropAll(databases: string[]): Promise<void> {
    for (const name of databases) await admin.query(`DROP DATABASE "${name}" WITH (FORCE)`)
  }

  async function tables(): Promise<string[]> {
    const rows = await inDatabase(
      `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename COLLATE "C"`,
    )
    return rows.map((row) => row.tablename)
  }

  async function inDatabase(sql: string): Promise<pg.QueryResultRow[]> {
    const client = new pg.Client(urlOf(database))
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
})

describe('the model that users copy', () => {
  it('is the one of the schema', async () => {
    const [comment, ...model] = (await readFile('prisma/models/postgresql.prisma', 'utf8')).split('\n')

    expect(comment).toMatch(/^\/\/ /)
    await expect(readFile('prisma/schema.prisma', 'utf8')).resolves.toContain(`\n${model.join('\n')}`)
    expect(model[0]).toBe('model ProcessedEvent {')
  })
})

function urlOf(database: string): string {
  const url = new URL(process.env.TEST_POSTGRES_URL ?? '')
  url.pathname = database
  return url.href
}

function run(command: string, cwd: string, environment: NodeJS.ProcessEnv): Promise<Run> {
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: undefined, NO_COLOR: '1', ...environment }
  return new Promise((done) => {
    execFile(process.execPath, [CLI, ...command.split(' ')], { cwd, env }, (error, stdout, stderr) => {
      done({ exitCode: error ? Number(error.code) : 0, output: stdout + stderr })
    })
  })
}
