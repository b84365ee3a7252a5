import type { Report, Row } from '../harness/report.js'
import { slugOf } from './specs.js'

/** `<!-- bench: storm -->` … `<!-- end -->`: what is between them comes from the report of that name. */
const SECTION = /(<!-- bench: ([a-z]+) -->\n)[\s\S]*?(<!-- end -->)/g

/** Puts the figures of reports into a document, and leaves sections without a report as they are. */
export function fillIn(
  document: string,
  reports: ReadonlyMap<string, Report>,
  graphs: ReadonlyMap<string, string[]>,
): string {
  return document.replaceAll(SECTION, (section, opening: string, bench: string, closing: string) => {
    const report = reports.get(bench)
    return report ? `${opening}\n${markdownOf(report, graphs.get(bench) ?? [])}\n${closing}` : section
  })
}

function markdownOf({ bench, machine, settings, figures, goals }: Report, graphs: readonly string[]): string {
  const own = (title: string) => graphs.filter((graph) => graph === slugOf(title))
  const general = graphs.filter((graph) => !figures.some(({ title }) => slugOf(title) === graph))
  const tables = figures.map(({ title, rows }) =>
    [`**${title}**`, ...own(title).map(pictureOf), tableOf(rows)].join('\n\n'),
  )
  const list = goals.map(({ goal, figure, met }) => `* ${met ? 'Met' : '**Not met**'}: ${goal}: ${figure}`)
  return [originOf({ bench, machine, settings }), ...general.map(pictureOf), ...tables, list.join('\n')].join('\n\n')
}

function pictureOf(graph: string): string {
  return `![${graph.replaceAll('-', ' ')}](performance/${graph}.svg)`
}

function tableOf(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const lines = [columns, columns.map(() => '---'), ...rows.map((row) => columns.map((column) => row[column] ?? ''))]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** How to come to the same figures. */
function originOf({ bench, machine, settings }: Pick<Report, 'bench' | 'machine' | 'settings'>): string {
  const { cores, processor, memoryGiB, node, postgres } = machine
  const command = bench === 'bench' ? 'npm run bench' : `npm run bench:${bench}`
  return (
    `\`${command}\` on ${cores} cores (${processor}), ${memoryGiB} GiB, Node.js ${node}, PostgreSQL ${postgres}; ` +
    `settings \`${JSON.stringify(settings)}\`.`
  )
}
