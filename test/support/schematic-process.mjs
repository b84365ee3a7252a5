// Runs the schematic on projects that its parent sends: jest cannot load what Angular's tools import.
import { Tree } from '@angular-devkit/schematics'
import { SchematicTestRunner } from '@angular-devkit/schematics/testing/index.js'

/** @typedef {{ project: Record<string, string>, options: object }} Request */

process.on('message', (/** @type {Request} */ request) => void answer(request))

/** @param {Request} request */
async function answer({ project, options }) {
  const runner = new SchematicTestRunner('nestjs-webhook-idempotency', 'schematics/collection.json')
  /** @type {string[]} */
  const lines = []
  runner.logger.subscribe(({ message }) => lines.push(message))
  const tree = Tree.empty()
  for (const [file, content] of Object.entries(project)) tree.create(file, content)
  try {
    const added = await runner.runSchematic('nest-add', options, tree)
    const files = Object.fromEntries(added.files.map((file) => [file.slice(1), added.readContent(file)]))
    process.send?.({ files, log: lines.join('\n') })
  } catch (error) {
    process.send?.({ failure: /** @type {Error} */ (error).message })
  }
}
