// Prints how large the package is and how long it takes to load; with --write also keeps it in docs/package-size.md.
// It measures the build in dist/ by the package's own name, which Node resolves to it inside of the repository.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

const RUNS = 11
const ENTRIES = [
  'nestjs-webhook-idempotency',
  'nestjs-webhook-idempotency/sources',
  'nestjs-webhook-idempotency/testing',
]
// What an application has loaded anyway comes first: the time is that of this library alone.
const PEERS = ['reflect-metadata', 'rxjs', '@nestjs/common', '@nestjs/core', '@opentelemetry/api']
const PROGRAMS = {
  module: 'for (const peer of PEERS) await import(peer); const started = performance.now(); await import(ENTRY)',
  commonjs: 'for (const peer of PEERS) require(peer); const started = performance.now(); require(ENTRY)',
}

const report = toMarkdown([...sizes(), ...ENTRIES.flatMap(loadTimes)])
console.log(report)
if (process.argv.includes('--write')) writeFileSync('docs/package-size.md', report)

/** @returns {string[][]} */
function sizes() {
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { encoding: 'utf8' })
  const [{ size, unpackedSize, entryCount }] = JSON.parse(output)
  return [
    ['tarball', kilobytes(size)],
    ['unpacked', kilobytes(unpackedSize)],
    ['files', String(entryCount)],
  ]
}

/** @param {string} entry */
function loadTimes(entry) {
  return [
    [`\`import '${entry}'\``, `${medianTime('module', entry).toFixed(0)} ms`],
    [`\`require('${entry}')\``, `${medianTime('commonjs', entry).toFixed(0)} ms`],
  ]
}

/**
 * @param {keyof typeof PROGRAMS} type
 * @param {string} entry
 */
function medianTime(type, entry) {
  const constants = `const PEERS = ${JSON.stringify(PEERS)}, ENTRY = ${JSON.stringify(entry)}`
  const code = `${constants}; ${PROGRAMS[type]}; console.log(performance.now() - started)`
  const args = ['--no-warnings', `--input-type=${type}`, '--eval', code]
  const times = Array.from({ length: RUNS }, () => Number(execFileSync(process.execPath, args, { encoding: 'utf8' })))
  return times.toSorted((a, b) => a - b)[Math.floor(RUNS / 2)] ?? NaN
}

/** @param {number} bytes */
function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(0)} kB`
}

/** @param {string[][]} rows */
function toMarkdown(rows) {
  const table = [['what', 'how much'], ...rows]
  const widths = [0, 1].map((column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)))
  const line = (/** @type {string[]} */ cells) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [head = '', ...body] = table.map(line)
  return `# Size of the package

Written by \`node tools/package-size.mjs --write\`. Times are medians of ${RUNS} processes on Node ${process.versions.node}, after Nest, RxJS
and OpenTelemetry's API have been loaded.

${[head, line(widths.map((width) => '-'.repeat(width))), ...body].join('\n')}
`
}
