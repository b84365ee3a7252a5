import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SCHEMA_ENGINE = fileURLToPath(new URL('../../tools/schema-engine.mjs', import.meta.url))
// Prisma's own scripts download engines, which these projects do without.
const INSTALL = ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--silent']
const LIBRARY = 'node_modules/nestjs-webhook-idempotency'

/** An npm project outside of this repository: inside, Node would find this project's own node_modules. */
export class Project {
  /** @type {NodeJS.ProcessEnv} */
  environment = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: SCHEMA_ENGINE, NO_COLOR: '1' }

  /** @param {string} directory */
  constructor(directory) {
    this.directory = directory
    this.library = join(directory, LIBRARY)
    mkdirSync(directory, { recursive: true })
  }

  /** Installs what package.json lists, once. */
  install() {
    if (!existsSync(join(this.directory, 'node_modules/.package-lock.json'))) this.run('npm', ...INSTALL)
  }

  /** @param {string} tarball */
  installLibrary(tarball) {
    const stamp = join(this.directory, 'node_modules/.library')
    const hash = hashOf(readFileSync(tarball))
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return
    // npm would take another tarball of the same version for what it has.
    rmSync(this.library, { recursive: true, force: true })
    this.run('npm', ...INSTALL, '--no-save', tarball)
    writeFileSync(stamp, hash)
  }

  /**
   * @param {string} program
   * @param {string[]} args
   * @returns {string} what it printed
   */
  run(program, ...args) {
    const { directory: cwd, environment: env } = this
    const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8' })
    if (status === 0) return stdout + stderr
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`)
  }
}

/** @param {string | Buffer} content */
export function hashOf(content) {
  return createHash('sha256').update(content).digest('hex').slice(0, 12)
}
