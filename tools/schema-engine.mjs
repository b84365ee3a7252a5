#!/usr/bin/env node
// Prisma's schema engine for `prisma migrate`, as WebAssembly from npm. The CLI would otherwise download a native binary
// from outside the registry. PostgreSQL only; shadow databases are created beside the main one.
import { parseArgs } from 'node:util'
import { runDatabaseCommand } from './schema-engine/database-commands.mjs'
import { Engine, engineVersion } from './schema-engine/engine.mjs'
import { serve } from './schema-engine/rpc-server.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    datamodels: { type: 'string', multiple: true },
    datasource: { type: 'string', default: '{}' },
    'enabled-preview-features': { type: 'string' },
    'extension-types': { type: 'string' },
    version: { type: 'boolean', default: false },
  },
})
const [mode, command] = positionals
const { url = '' } = JSON.parse(values.datasource)

if (values.version) console.log(`schema-engine-wasm ${await engineVersion()}`)
else if (mode === 'cli') process.exitCode = await runDatabaseCommand(command, url)
else await serve(() => Engine.connect(url, values.datamodels))
