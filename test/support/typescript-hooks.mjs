import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { transform } from '@swc/core'

/** @type {import('@swc/core').Options} */
const OPTIONS = {
  swcrc: false,
  sourceMaps: 'inline',
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2022',
  },
}

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, nextResolve) {
  const source = sourceOf(specifier, context.parentURL)
  return source ? { url: source, format: 'module', shortCircuit: true } : nextResolve(specifier, context)
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  if (!url.endsWith('.ts')) return nextLoad(url, context)
  const filename = fileURLToPath(url)
  const { code } = await transform(await readFile(filename, 'utf8'), { ...OPTIONS, filename })
  return { format: 'module', source: code, shortCircuit: true }
}

/**
 * TypeScript's specifiers name the file that is yet to be built.
 *
 * @param {string} specifier
 * @param {string | undefined} parent
 */
function sourceOf(specifier, parent) {
  if (specifier.startsWith('file:') && specifier.endsWith('.ts')) return specifier
  if (!/^\.{1,2}\/.*\.js$/.test(specifier) || !parent?.endsWith('.ts')) return undefined
  const { href } = new URL(`${specifier.slice(0, -2)}ts`, parent)
  return existsSync(new URL(href)) ? href : undefined
}
