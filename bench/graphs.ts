import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { draw } from './graphs/draw.js'
import { fillIn } from './graphs/markdown.js'
import { graphsOf } from './graphs/specs.js'
import { ROOT } from './harness/databases.js'
import type { Report } from './harness/report.js'
import { RESULTS } from './harness/report.js'

const DOCUMENT = join(ROOT, 'docs/performance.md')

const reports = readReports()
const graphs = new Map<string, string[]>()
for (const report of reports.values()) graphs.set(report.bench, await drawGraphs(report))
if (existsSync(DOCUMENT))
  writeFileSync(DOCUMENT, await formatted(fillIn(readFileSync(DOCUMENT, 'utf8'), reports, graphs)))
console.log(`drew ${[...graphs.values()].flat().length} graphs of ${reports.size} reports in ${RESULTS}`)

/** @returns their names */
async function drawGraphs(report: Report): Promise<string[]> {
  const specs = graphsOf[report.bench]?.(report) ?? {}
  for (const [name, spec] of Object.entries(specs)) {
    writeFileSync(join(RESULTS, `${name}.svg`), `${await draw(spec)}\n`)
  }
  return Object.keys(specs)
}

function readReports(): Map<string, Report> {
  if (!existsSync(RESULTS)) throw new Error(`There is nothing in ${RESULTS}. Run the benches with -- --save first.`)
  const files = readdirSync(RESULTS).filter((file) => file.endsWith('.json'))
  const read = files.map((file) => JSON.parse(readFileSync(join(RESULTS, file), 'utf8')) as Report)
  return new Map(read.map((report) => [report.bench, report]))
}

async function formatted(markdown: string): Promise<string> {
  return format(markdown, { ...(await resolveConfig(DOCUMENT)), parser: 'markdown' })
}
