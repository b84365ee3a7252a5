import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hashOf, Project } from './project.mjs'

const HERE = fileURLToPath(new URL('.', import.meta.url))

/**
 * Has one of the applications run the contract.
 * @param {string} name
 * @param {{ cache: string, tarball: string, url: string }} options `cache` keeps installed projects by what they install
 */
export async function runApplication(name, { cache, tarball, url }) {
  const source = join(HERE, 'applications', name)
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  const project = new Project(join(cache, `${name}-${hashOf(JSON.stringify([dependencies, devDependencies]))}`))
  project.environment.DATABASE_URL = url
  copySources(source, project.directory)
  project.install()
  project.installLibrary(tarball)
  // The model comes out of the package, as for users.
  cpSync(join(project.library, 'prisma/models/postgresql.prisma'), join(project.directory, 'prisma/claims.prisma'))
  for (const script of ['generate', 'migrate']) project.run('npm', 'run', '--silent', script)
  console.log(project.run('npm', 'run', '--silent', 'test'))
}

/**
 * What an application has of its own goes over what all share.
 * @param {string} source
 * @param {string} directory
 */
function copySources(source, directory) {
  for (const made of ['src', 'dist', 'prisma', 'contract'])
    rmSync(join(directory, made), { recursive: true, force: true })
  cpSync(join(HERE, 'contract'), join(directory, 'contract'), { recursive: true })
  cpSync(join(HERE, 'shared'), join(directory, 'src'), { recursive: true })
  cpSync(source, directory, { recursive: true })
}
