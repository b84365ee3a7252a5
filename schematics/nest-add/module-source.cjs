const { createRequire } = require('node:module')
const { join } = require('node:path')

/** @import ts from 'typescript' */

/** The text of a file with a Nest module, which keeps its style when something is put in. */
exports.ModuleSource = class {
  #path
  #ts = projectsTypeScript()

  /**
   * @param {string} path
   * @param {string} text
   */
  constructor(path, text) {
    this.#path = path
    this.text = text
  }

  /**
   * @param {string} name
   * @param {string} specifier
   */
  importName(name, specifier) {
    const imports = this.#parse().statements.filter((statement) => this.#ts.isImportDeclaration(statement))
    if (imports.some((statement) => new RegExp(`\\b${name}\\b`).test(statement.getText()))) return
    const last = imports.at(-1)
    const style = last?.getText() ?? `import from '';`
    const quote = style.includes('"') ? '"' : "'"
    const line = `import { ${name} } from ${quote}${specifier}${quote}${style.endsWith(';') ? ';' : ''}`
    this.#insert(last?.getEnd() ?? 0, last ? `\n${line}` : `${line}\n`)
  }

  /**
   * @param {'imports' | 'providers'} property of @Module()
   * @param {string} element
   */
  addTo(property, element) {
    const options = this.#moduleOptions()
    const found = options.properties.find((candidate) => candidate.name?.getText() === property)
    if (!found) return this.#addProperty(options, property, element)
    const list = this.#ts.isPropertyAssignment(found) ? found.initializer : found
    if (!this.#ts.isArrayLiteralExpression(list)) throw this.#unreadable(`its ${property} are no plain array`, element)
    return this.#addElement(list, element)
  }

  /**
   * @param {ts.ArrayLiteralExpression} list
   * @param {string} element
   */
  #addElement({ elements }, element) {
    const last = elements.at(-1)
    if (!last) return this.#insert(elements.pos, element)
    const before = this.text.slice(last.getFullStart(), last.getStart())
    const indentation = /\n[ \t]*$/.exec(before)?.[0]
    return this.#insert(last.getEnd(), `,${indentation ?? ' '}${element}`)
  }

  /**
   * @param {ts.ObjectLiteralExpression} options
   * @param {string} property
   * @param {string} element
   */
  #addProperty({ properties }, property, element) {
    const [first] = properties
    const indentation =
      /\n[ \t]*$/.exec(this.text.slice(properties.pos, first?.getStart() ?? properties.pos))?.[0] ?? '\n  '
    const rest = first ? '' : '\n'
    this.#insert(properties.pos, `${indentation}${property}: [${element}],${rest}`)
  }

  #moduleOptions() {
    /** @type {ts.ObjectLiteralExpression | undefined} */
    let options
    const ts = this.#ts
    ts.forEachChild(this.#parse(), function visit(node) {
      if (ts.isDecorator(node) && ts.isCallExpression(node.expression) && isModule(node.expression)) {
        const [argument] = node.expression.arguments
        if (argument && ts.isObjectLiteralExpression(argument)) options ??= argument
      }
      ts.forEachChild(node, visit)
    })
    if (!options) throw this.#unreadable('it has no @Module({ … })', 'WebhookIdempotencyModule.forRoot({ … })')
    return options
  }

  #parse() {
    return this.#ts.createSourceFile(this.#path, this.text, this.#ts.ScriptTarget.Latest, true)
  }

  /**
   * @param {number} position
   * @param {string} text
   */
  #insert(position, text) {
    this.text = this.text.slice(0, position) + text + this.text.slice(position)
  }

  /**
   * @param {string} found
   * @param {string} element
   */
  #unreadable(found, element) {
    return new Error(`${this.#path} could not be changed: ${found}. Add ${element} by hand.`)
  }
}

/** @param {ts.CallExpression} call */
function isModule({ expression }) {
  return expression.getText() === 'Module'
}

/**
 * The project's own, so that this library needs none.
 * @returns {typeof ts}
 */
function projectsTypeScript() {
  return createRequire(join(process.cwd(), 'package.json'))('typescript')
}
