// Builds the library and packs what would be published: node tools/pack.mjs <where to put the tarball>
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'

const [, , destination = 'build/package.tgz'] = process.argv
const directory = dirname(destination)
mkdirSync(directory, { recursive: true })
const args = ['pack', '--json', '--silent', '--pack-destination', directory]
const output = execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
const [{ filename }] = JSON.parse(output.slice(output.search(/^\[/m))) // after what the build prints
renameSync(join(directory, filename), destination)
