import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const SCHEMA_ENGINE = fileURLToPath(new URL('../../tools/schema-engine.mjs', import.meta.url))
// Prisma's own scripts download engines, which these applications do without.
const INSTALL = ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--silent']
const LIBRARY = 'node_modules/nestjs-webhook-idempotency'

/** One of the applications, outside of this repository: inside, Node would find this project's own node_modules. */
export class Application {
  #source
  #directory
  /** @type {NodeJS.ProcessEnv} */
  #environment = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: SCHEMA_ENGINE }

  /**
   * @param {string} name
   * @param {string} cache where installed applications are kept, by what they install
   */
  constructor(name, cache) {
    this.#source = join(HERE, 'applications', name)
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(this.#source, 'package.json'), 'utf8'))
    const hash = hashOf(JSON.stringify([dependencies, devDependencies]))
    this.#directory = join(cache, `${name}-${hash.slice(0, 12)}`)
  }

  /**
   * @param {string} tarball
   * @param {string} url of an empty database
   */
  passes(tarball, url) {
    this.#environment.DATABASE_URL = url
    return (
      this.#install() &&
      this.#installLibrary(tarball) &&
      this.#copySources() &&
      ['generate', 'migrate', 'test'].every((script) => this.#npm('run', '--silent', script))
    )
  }

  #install() {
    if (existsSync(join(this.#directory, 'node_modules/.package-lock.json'))) return true
    mkdirSync(this.#directory, { recursive: true })
    cpSync(join(this.#source, 'package.json'), join(this.#directory, 'package.json'))
    return this.#npm(...INSTALL)
  }

  /** @param {string} tarball */
  #installLibrary(tarball) {
    const stamp = join(this.#directory, '.library')
    const hash = hashOf(readFileSync(tarball))
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return true
    rmSync(join(this.#directory, LIBRARY), { recursive: true, force: true })
    if (!this.#npm(...INSTALL, '--no-save', tarball)) return false
    writeFileSync(stamp, hash)
    return true
  }

  /** What an application has of its own goes over what all share; the model comes out of the package, as for users. */
  #copySources() {
    for (const made of ['src', 'dist', 'prisma', 'contract']) {
      rmSync(join(this.#directory, made), { recursive: true, force: true })
    }
    cpSync(join(HERE, 'contract'), join(this.#directory, 'contract'), { recursive: true })
    cpSync(join(HERE, 'shared'), join(this.#directory, 'src'), { recursive: true })
    cpSync(this.#source, this.#directory, { recursive: true })
    const model = join(this.#directory, LIBRARY, 'prisma/models/postgresql.prisma')
    cpSync(model, join(this.#directory, 'prisma/processed-event.prisma'))
    return true
  }

  /** @param {string[]} args */
  #npm(...args) {
    const options = { cwd: this.#directory, env: this.#environment, encoding: /** @type {const} */ ('utf8') }
    const { status, stdout, stderr } = spawnSync('npm', args, options)
    if (status !== 0 || args.includes('test')) process.stdout.write(stdout + stderr) // jest reports to stderr
    return status === 0
  }
}

/** @param {string | Buffer} content */
function hashOf(content) {
  return createHash('sha256').update(content).digest('hex')
}
