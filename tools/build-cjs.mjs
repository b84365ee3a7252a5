// Builds the CommonJS copy of the library beside the ES modules, for applications whose jest cannot load those.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

const { status } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.cjs.json'], {
  stdio: 'inherit',
})
process.exitCode = status ?? 1
// The package is of the type "module", which Node and TypeScript look up from the nearest package.json.
if (status === 0)
  writeFileSync('dist/cjs/package.json', `${JSON.stringify({ type: 'commonjs', sideEffects: false })}\n`)
