const { existsSync, readFileSync, readdirSync } = require('node:fs')
const { join, posix } = require('node:path')

/** @import { Tree } from '@angular-devkit/schematics' */

const MODELS = join(__dirname, '../../prisma/models')
const ALIASES = /** @type {Record<string, string>} */ ({ postgres: 'postgresql', cockroachdb: 'postgresql' })
const CONFIGS = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map((ending) => `prisma.config.${ending}`)
const USUAL_PLACES = ['prisma/schema.prisma', 'schema.prisma', 'prisma/schema', 'prisma']

/**
 * Adds the model of the claims that fits the datasource.
 * @param {Tree} tree
 * @param {string} [given] the schema, a file or a folder
 * @returns {string} what was done
 */
exports.addModel = (tree, given) => {
  const schema = findSchema(tree, given)
  const owner = schema.files.find((file) => hasModel(read(tree, file)))
  if (owner) return `${owner} has the model of the claims already.`
  const model = modelFor(providerOf(schema.files.map((file) => read(tree, file))))
  if (schema.folder !== undefined) {
    const file = posix.join(schema.folder, 'processed-event.prisma')
    tree.create(file, model)
    return `The model of the claims is in ${file}.`
  }
  const [file = ''] = schema.files
  tree.overwrite(file, `${read(tree, file).trimEnd()}\n\n${model}`)
  return `The model of the claims is at the end of ${file}.`
}

/**
 * @param {Tree} tree
 * @param {string} [given]
 * @returns {{ files: string[], folder?: string }}
 */
function findSchema(tree, given) {
  const told = given ?? pathInConfig(tree) ?? pathInPackage(tree)
  const places = told === undefined ? USUAL_PLACES : [told]
  for (const place of places) {
    if (tree.exists(place)) return { files: [place] }
    const files = prismaFilesIn(tree, place)
    if (files.some((file) => datasourceOf(read(tree, file)))) return { files, folder: place }
  }
  throw new Error(
    `No Prisma schema with a datasource was found; looked at ${places.join(', ')}. ` +
      `Make one with "npx prisma init", or say where it is with --schema=path.`,
  )
}

/** @param {Tree} tree */
function pathInConfig(tree) {
  const config = CONFIGS.find((file) => tree.exists(file))
  const text = config && withoutComments(read(tree, config))
  // Either a string, or strings in path.join().
  const value = text && /\bschema:\s*((?:[\w.]+\()?(?:\s*(['"`])[^'"`]*\2\s*,?)+)/.exec(text)?.[1]
  if (!value) return undefined
  return posix.join(...[...value.matchAll(/(['"`])(.*?)\1/g)].map(([, , part = '']) => part))
}

/** @param {Tree} tree */
function pathInPackage(tree) {
  if (!tree.exists('package.json')) return undefined
  const path = JSON.parse(read(tree, 'package.json')).prisma?.schema
  return typeof path === 'string' ? posix.join(path) : undefined
}

/**
 * @param {Tree} tree
 * @param {string} folder
 * @returns {string[]}
 */
function prismaFilesIn(tree, folder) {
  const directory = tree.getDir(folder)
  const here = directory.subfiles.filter((name) => name.endsWith('.prisma')).map((name) => posix.join(folder, name))
  return [...here, ...directory.subdirs.flatMap((name) => prismaFilesIn(tree, posix.join(folder, name)))]
}

/** @param {string} schema */
function hasModel(schema) {
  return /^\s*model\s+ProcessedEvent\b|@@map\(\s*(?:name:\s*)?"processed_events"\s*\)/m.test(withoutComments(schema))
}

/** @param {string[]} schemas */
function providerOf(schemas) {
  const datasource = schemas.map(datasourceOf).find(Boolean)
  const provider = datasource && /^\s*provider\s*=\s*"(\w+)"/m.exec(datasource)?.[1]
  if (!provider) throw new Error('The Prisma schema has no datasource with a provider. Add one, then try again.')
  return provider
}

/** @param {string} schema */
function datasourceOf(schema) {
  return /^\s*datasource\s+\w+\s*\{[^}]*\}/m.exec(withoutComments(schema))?.[0]
}

/** @param {string} provider */
function modelFor(provider) {
  const file = join(MODELS, `${ALIASES[provider] ?? provider}.prisma`)
  if (existsSync(file)) return readFileSync(file, 'utf8').replace(/^(?:\/\/.*\n)+/, '')
  const supported = readdirSync(MODELS).map((name) => name.replace('.prisma', ''))
  throw new Error(
    `The datasource is "${provider}", which cannot hold the claims; supported are ${supported.join(', ')}.`,
  )
}

/** @param {string} text */
function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\/|(?<![:"'`])\/\/.*$/gm, '')
}

/**
 * @param {Tree} tree
 * @param {string} file
 */
function read(tree, file) {
  return tree.read(file)?.toString('utf8') ?? ''
}
