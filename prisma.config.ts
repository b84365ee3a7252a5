import { fileURLToPath } from 'node:url'
import { defineConfig } from 'prisma/config'

// The CLI reads this file before it looks for its engine, and would otherwise download one.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= fileURLToPath(new URL('tools/schema-engine.mjs', import.meta.url))

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL },
})
