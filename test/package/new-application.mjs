import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Project } from './project.mjs'

const WRITTEN_BY_USER = fileURLToPath(new URL('new-application', import.meta.url))
const INSTALLED_BY_USER = { '@prisma/adapter-pg': '7.10.0', '@prisma/client': '7.10.0', prisma: '7.10.0' }
// Of the rest, such as linters, nothing is used here; tsconfig.json names vitest.
const NEEDED = new Set(['@nestjs/cli', '@nestjs/schematics', '@types/express', '@types/node', 'typescript', 'vitest'])

/**
 * Goes the way of a new user: `nest new`, Prisma, `nest add`, a migration and one decorator.
 * @param {string} name
 * @param {string} cli the version of the Nest CLI
 * @param {{ cache: string, tarball: string, url: string }} options
 */
export async function runNewApplication(name, cli, { cache, tarball, url }) {
  const project = new Project(join(cache, `${name}-${cli}`))
  project.environment.DATABASE_URL = url
  generate(project, cli, new Project(join(cache, `${name}-${cli}-generated`)))
  project.install()
  project.installLibrary(tarball)

  assertAddsOnce(project)
  project.run('npx', 'prisma', 'migrate', 'dev', '--name', 'processed_events')
  project.run('npx', 'prisma', 'generate')
  project.run('npx', 'nest', 'build')
  await assertProcessesOnce(project)
}

/**
 * @param {Project} project
 * @param {string} cli
 * @param {Project} generated where what `nest new` writes is kept
 */
function generate({ directory }, cli, generated) {
  const template = join(generated.directory, 'app')
  if (!existsSync(template)) {
    const options = ['--skip-git', '--skip-install', '--package-manager', 'npm']
    generated.run('npx', '--yes', `@nestjs/cli@${cli}`, 'new', 'app', ...options)
  }
  for (const entry of readdirSync(directory)) {
    if (!['node_modules', 'package-lock.json'].includes(entry)) rmSync(join(directory, entry), { recursive: true })
  }
  cpSync(template, directory, { recursive: true })
  cpSync(WRITTEN_BY_USER, directory, { recursive: true })
  addDependencies(join(directory, 'package.json'))
}

/** @param {string} file */
function addDependencies(file) {
  const manifest = JSON.parse(readFileSync(file, 'utf8'))
  const needed = Object.entries(manifest.devDependencies).filter(([name]) => NEEDED.has(name))
  manifest.devDependencies = Object.fromEntries(needed)
  Object.assign(manifest.dependencies, INSTALLED_BY_USER)
  writeFileSync(file, JSON.stringify(manifest, undefined, 2))
}

/** @param {Project} project */
function assertAddsOnce(project) {
  const before = contentOf(project.directory)
  const add = ['nest', 'add', 'nestjs-webhook-idempotency', '--skip-install']
  project.run('npx', ...add, '--dry-run')
  assert.deepEqual(contentOf(project.directory), before, 'nest add --dry-run writes nothing')
  console.log(project.run('npx', ...add))
  const added = contentOf(project.directory)
  const changed = Object.keys(added).filter((file) => added[file] !== before[file])
  assert.deepEqual(changed, ['prisma/schema.prisma', 'src/app.module.ts'])
  project.run('npx', ...add)
  assert.deepEqual(contentOf(project.directory), added, 'nest add changes nothing when it is run again')
}

/** @param {Project} project */
async function assertProcessesOnce({ directory, environment }) {
  const port = String(await findFreePort())
  const server = spawn(process.execPath, ['dist/main.js'], {
    cwd: directory,
    env: { ...environment, PORT: port },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(server, 'exit')
  try {
    await untilReachable(port, server)
    const answers = [await deliver(port, 'evt_1'), await deliver(port, 'evt_1'), await deliver(port, 'evt_2')]
    assert.deepEqual(answers, [{ payments: 1 }, { outcome: 'duplicate' }, { payments: 2 }])
    console.log('deliveries of evt_1, evt_1, evt_2:', JSON.stringify(answers))
  } finally {
    server.kill()
    await ended
  }
}

/**
 * @param {string} port
 * @param {string} id
 */
async function deliver(port, id) {
  const response = await fetch(`http://127.0.0.1:${port}/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, type: 'invoice.paid' }),
  })
  assert.equal(response.status, 200)
  return response.json()
}

/**
 * @param {string} port
 * @param {import('node:child_process').ChildProcess} server
 */
async function untilReachable(port, server) {
  for (;;) {
    if (server.exitCode !== null) assert.fail(`the application ended with the exit code ${server.exitCode}`)
    if (await fetch(`http://127.0.0.1:${port}`).catch(() => undefined)) return
    await setTimeout(50)
  }
}

/** @returns {Promise<number>} */
async function findFreePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address())
  probe.close()
  await once(probe, 'close')
  return port
}

/**
 * @param {string} directory
 * @returns {Record<string, string>}
 */
function contentOf(directory) {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .filter((file) => !file.startsWith('node_modules'))
    .toSorted()
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(directory, file), 'utf8')]))
}
