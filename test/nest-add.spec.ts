import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterAll, expect, it } from '@jest/globals'

const SCHEMA = `generator client {
  provider = "prisma-client"
}

// Say "postgresql" or another provider.
datasource db {
  provider = "postgresql"
}
`
const SERVICE = `import { PrismaClient } from './generated/client'
export class PrismaService extends PrismaClient {}
`
const MAIN = `const app = await NestFactory.create(AppModule);`
const MODULE = `import { Module } from '@nestjs/common';
import { AppController } from './app.controller';

@Module({
  imports: [],
  controllers: [AppController],
  providers: [],
})
export class AppModule {}
`
const PROJECT = {
  'package.json': '{}',
  'prisma/schema.prisma': SCHEMA,
  'src/main.ts': MAIN,
  'src/app.module.ts': MODULE,
  'src/prisma.service.ts': SERVICE,
}

const schematics = fork('test/support/schematic-process.mjs', { execArgv: [] })
const ended = once(schematics, 'exit')

afterAll(async () => {
  schematics.disconnect()
  await ended
})

it('adds the model to the Prisma schema and the module to the root module', async () => {
  const { files, log } = await add(PROJECT)
  expect(files['prisma/schema.prisma']).toBe(`${SCHEMA}\n${model('postgresql')}`)
  expect(files['src/app.module.ts']).toBe(`import { Module } from '@nestjs/common';
import { AppController } from './app.controller';
import { WebhookIdempotencyModule } from 'nestjs-webhook-idempotency';
import { PrismaService } from './prisma.service';

@Module({
  imports: [WebhookIdempotencyModule.forRoot({ prisma: PrismaService })],
  controllers: [AppController],
  providers: [PrismaService],
})
export class AppModule {}
`)
  expect(log).toContain('npx prisma migrate dev --name processed_events')
})

it('changes nothing when it is run again', async () => {
  const once = await add(PROJECT)
  const twice = await add(once.files)
  expect(twice.files).toEqual(once.files)
  expect(twice.log).toContain('already')
})

it('puts the model into a file of its own where the schema is a folder', async () => {
  const { 'prisma/schema.prisma': _, ...rest } = PROJECT
  const config = `import path from 'node:path'\nexport default { schema: path.join('db', 'schema') }`
  const { files } = await add({ ...rest, 'prisma.config.ts': config, 'db/schema/base.prisma': SCHEMA })
  expect(files['db/schema/processed-event.prisma']).toBe(model('postgresql'))
  expect(files['db/schema/base.prisma']).toBe(SCHEMA)
  expect((await add(files)).files).toEqual(files)
})

it.each([
  ['prisma.config.ts', `export default defineConfig({\n  // schema: 'old.prisma',\n  schema: "db/main.prisma",\n})`],
  ['package.json', `{ "prisma": { "schema": "./db/main.prisma" } }`],
])('finds the schema that %s names', async (file, content) => {
  const { files } = await add({ ...PROJECT, [file]: content, 'db/main.prisma': SCHEMA })
  expect(files['db/main.prisma']).toContain('model ProcessedEvent')
  expect(files['prisma/schema.prisma']).toBe(SCHEMA)
})

it('takes the schema that it is told', async () => {
  const { files } = await add({ ...PROJECT, 'other.prisma': SCHEMA }, { schema: 'other.prisma' })
  expect(files['other.prisma']).toContain('model ProcessedEvent')
})

it.each([
  ['postgres', 'postgresql'],
  ['cockroachdb', 'postgresql'],
  ['mysql', 'mysql'],
  ['sqlite', 'sqlite'],
])('adds the model for %s', async (provider, file) => {
  const schema = SCHEMA.replace('  provider = "postgresql"', `  provider = "${provider}"`)
  const { files } = await add({ ...PROJECT, 'prisma/schema.prisma': schema })
  expect(files['prisma/schema.prisma']).toBe(`${schema}\n${model(file)}`)
})

it('refuses a database that cannot hold the claims', async () => {
  const schema = SCHEMA.replace('  provider = "postgresql"', '  provider = "mongodb"')
  await expect(add({ ...PROJECT, 'prisma/schema.prisma': schema })).rejects.toThrow(/"mongodb".*supported are mysql/)
})

it('leaves a model alone that has another name for the same table, and sees through comments', async () => {
  const own = `${SCHEMA}\nmodel Claim {\n  id Int @id\n  @@map("processed_events")\n}\n`
  expect((await add({ ...PROJECT, 'prisma/schema.prisma': own })).files['prisma/schema.prisma']).toBe(own)
  const commented = `${SCHEMA}\n// model ProcessedEvent {\n//   @@map("processed_events")\n// }\n`
  const { files } = await add({ ...PROJECT, 'prisma/schema.prisma': commented })
  expect(files['prisma/schema.prisma']).toMatch(/^model ProcessedEvent/m)
})

it('says what to do when there is no schema, no client or no module', async () => {
  const without = (file: string) => Object.fromEntries(Object.entries(PROJECT).filter(([name]) => name !== file))
  await expect(add(without('prisma/schema.prisma'))).rejects.toThrow('npx prisma init')
  await expect(add(without('src/prisma.service.ts'))).rejects.toThrow('No class extends PrismaClient')
  await expect(add(without('src/app.module.ts'))).rejects.toThrow('by hand')
  const spread = MODULE.replace('imports: []', 'imports: modules')
  await expect(add({ ...PROJECT, 'src/app.module.ts': spread })).rejects.toThrow('no plain array')
})

it('finds the module that main.ts starts, and writes as it is written', async () => {
  const module = `import { Module } from "@nestjs/common"
import { DatabaseModule } from "./database/database.module.js"

@Module({
  imports: [
    // where the client comes from
    DatabaseModule,
  ],
})
export class BillingModule {}
`
  const { files } = await add({
    'prisma/schema.prisma': SCHEMA,
    'src/main.ts': 'await NestFactory.create<NestFastifyApplication>(BillingModule, new FastifyAdapter())',
    'src/billing.module.ts': module,
    'src/database/database.module.ts': '@Module({ providers: [Clock, Database], exports: [Database] }) class X {}',
    'src/database/database.ts': 'export class Database extends PrismaClient {}',
  })
  expect(files['src/billing.module.ts']).toBe(`import { Module } from "@nestjs/common"
import { DatabaseModule } from "./database/database.module.js"
import { WebhookIdempotencyModule } from "nestjs-webhook-idempotency"
import { Database } from "./database/database.js"

@Module({
  imports: [
    // where the client comes from
    DatabaseModule,
    WebhookIdempotencyModule.forRoot({ prisma: Database }),
  ],
})
export class BillingModule {}
`)
})

it('adds what a module without imports and providers lacks', async () => {
  const { files } = await add({ ...PROJECT, 'src/app.module.ts': `@Module({})\nexport class AppModule {}\n` })
  expect(files['src/app.module.ts']).toBe(`import { WebhookIdempotencyModule } from 'nestjs-webhook-idempotency';
import { PrismaService } from './prisma.service';
@Module({
  providers: [PrismaService],
  imports: [WebhookIdempotencyModule.forRoot({ prisma: PrismaService })],
})
export class AppModule {}
`)
})

it('works in the project of a monorepo that the Nest CLI names', async () => {
  const { files } = await add(
    {
      'prisma/schema.prisma': SCHEMA,
      'apps/api/src/main.ts': MAIN,
      'apps/api/src/app.module.ts': MODULE,
      'apps/api/src/prisma.service.ts': SERVICE,
      'apps/other/src/app.module.ts': MODULE,
    },
    { sourceRoot: 'apps/api/src' },
  )
  expect(files['apps/api/src/app.module.ts']).toContain('WebhookIdempotencyModule.forRoot')
  expect(files['apps/other/src/app.module.ts']).toBe(MODULE)
})

interface Added {
  files: Record<string, string>
  log: string
}

async function add(project: Record<string, string>, options: { sourceRoot?: string; schema?: string } = {}) {
  schematics.send({ project, options })
  const [reply] = (await once(schematics, 'message')) as [Added | { failure: string }]
  if ('failure' in reply) throw new Error(reply.failure)
  return reply
}

function model(provider: string): string {
  return readFileSync(`prisma/models/${provider}.prisma`, 'utf8').replace(/^\/\/.*\n/, '')
}
