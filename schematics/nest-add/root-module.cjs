const { posix } = require('node:path')
const { ModuleSource } = require('./module-source.cjs')

/** @import { DirEntry, Tree } from '@angular-devkit/schematics' */

const LIBRARY = 'nestjs-webhook-idempotency'

/**
 * Imports the module of this library in the application's root module.
 * @param {Tree} tree
 * @param {string} sourceRoot
 * @returns {string} what was done
 */
exports.addModule = (tree, sourceRoot) => {
  const sources = sourcesIn(tree.getDir(sourceRoot))
  const owner = sources.find(({ text }) => /\bWebhookIdempotencyModule\s*\.\s*forRoot/.test(text))
  if (owner) return `${owner.path.slice(1)} imports WebhookIdempotencyModule already.`
  const root = findRootModule(sources, sourceRoot)
  const client = findClient(sources)
  const module = new ModuleSource(root.path, root.text)
  module.importName('WebhookIdempotencyModule', LIBRARY)
  module.importName(client.name, specifierOf(client.path, root))
  module.addTo('imports', `WebhookIdempotencyModule.forRoot({ prisma: ${client.name} })`)
  if (!isProvided(client.name, sources)) module.addTo('providers', client.name)
  tree.overwrite(root.path, module.text)
  return `${root.path.slice(1)} imports WebhookIdempotencyModule, which finds its Prisma client by the token ${client.name}.`
}

/** @typedef {{ path: string, text: string }} Source */

/**
 * @param {DirEntry} directory
 * @returns {Source[]}
 */
function sourcesIn(directory) {
  const names = directory.subfiles.filter((name) => /\.m?ts$/.test(name) && !/\.(d|spec|test)\.m?ts$/.test(name))
  const here = names.map((name) => ({
    path: posix.join(directory.path, name),
    text: directory.file(name)?.content.toString('utf8') ?? '',
  }))
  const folders = directory.subdirs.filter((name) => name !== 'node_modules' && name !== 'generated')
  return [...here, ...folders.flatMap((name) => sourcesIn(directory.dir(name)))]
}

/**
 * The module that main.ts starts, or app.module.ts.
 * @param {Source[]} sources
 * @param {string} sourceRoot
 * @returns {Source}
 */
function findRootModule(sources, sourceRoot) {
  const main = sources.find(({ path }) => path === posix.join('/', sourceRoot, 'main.ts'))
  const name = main && /NestFactory\s*\.\s*create(?:Microservice)?\s*(?:<[^(]*>)?\s*\(\s*(\w+)/.exec(main.text)?.[1]
  const root =
    (name && sources.find(({ text }) => new RegExp(`\\bclass\\s+${name}\\b`).test(text))) ||
    sources.find(({ path }) => path.endsWith('/app.module.ts'))
  if (root) return root
  throw new Error(
    `The root module was not found in ${sourceRoot}. Import WebhookIdempotencyModule.forRoot({ prisma: PrismaService }) ` +
      `in it by hand.`,
  )
}

/**
 * The class by which the application injects its Prisma client.
 * @param {Source[]} sources
 */
function findClient(sources) {
  for (const { path, text } of sources) {
    const name = /\bexport\s+(?:default\s+)?class\s+(\w+)(?:<[^{]*>)?\s+extends\s+PrismaClient\b/.exec(text)?.[1]
    if (name) return { name, path }
  }
  throw new Error(
    'No class extends PrismaClient, so that nothing could be injected. Make one as in ' +
      'https://docs.nestjs.com/recipes/prisma#use-prisma-client-in-your-nestjs-services, then run this again.',
  )
}

/**
 * @param {string} name
 * @param {Source[]} sources
 */
function isProvided(name, sources) {
  const providers = new RegExp(`\\bproviders\\s*:\\s*\\[[^\\]]*\\b${name}\\b|\\bprovide\\s*:\\s*${name}\\b`)
  return sources.some(({ text }) => providers.test(text))
}

/**
 * With an ending where the module's own imports have one.
 * @param {string} path
 * @param {Source} from
 */
function specifierOf(path, from) {
  const relative = posix.relative(posix.dirname(from.path), path)
  const ending = /from\s+['"]\.{1,2}\/[^'"]*\.([mc]?[jt]s)['"]/.exec(from.text)?.[1]
  const bare = relative.replace(/\.m?ts$/, '')
  return `${bare.startsWith('.') ? '' : './'}${bare}${ending ? `.${ending}` : ''}`
}
