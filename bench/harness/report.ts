import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { Table } from 'console-table-printer'
import { ROOT } from './databases.js'

export type Row = Record<string, string | number>

/** A table as it is printed, and as docs/performance.md shows it. */
export interface Figures {
  title: string
  rows: Row[]
}

/** What one command measured; kept for the graphs, and printed as the last line. */
export interface Report {
  bench: string
  machine: Machine
  settings: Record<string, unknown>
  /** What must hold, and whether it did. */
  goals: Goal[]
  figures: Figures[]
  /** The numbers behind the tables. */
  data: unknown
}

export interface Goal {
  goal: string
  figure: string
  met: boolean
}

export interface Machine {
  cores: number
  processor: string
  memoryGiB: number
  node: string
  postgres: string
}

/** How long a text may be before it is broken. */
const LINE = 90

/** Where the reports are that docs/performance.md was made of. */
export const RESULTS = join(ROOT, 'docs/performance')

export function machineWith(postgres: string): Machine {
  const processors = cpus()
  return {
    cores: processors.length,
    processor: processors[0]?.model ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    postgres,
  }
}

export function printReport(report: Report, { save }: { save: boolean }): void {
  for (const { title, rows } of report.figures) {
    console.log(`\n${title}`)
    console.log(tableOf(rows))
  }
  for (const { goal, figure, met } of report.goals) console.log(`${met ? 'met' : 'NOT MET'}: ${goal}: ${figure}`)
  if (save) {
    mkdirSync(RESULTS, { recursive: true })
    writeFileSync(join(RESULTS, `${report.bench}.json`), `${JSON.stringify(report, null, 2)}\n`)
  }
  console.log(JSON.stringify(report))
}

function tableOf(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const table = new Table({
    shouldDisableColors: !process.stdout.isTTY,
    columns: columns.map((name) => columnOf(name, rows)),
  })
  for (const row of rows) table.addRow(row)
  return table.render()
}

/** Words to the left, in lines that a screen can hold; numbers to the right. */
function columnOf(name: string, rows: readonly Row[]) {
  const isText = !/^[\d.-]/.test(String(rows[0]?.[name]))
  const isLong = rows.some((row) => String(row[name]).length > LINE)
  return { name, alignment: isText ? ('left' as const) : ('right' as const), ...(isLong && { maxLen: LINE }) }
}

/** Three digits are what a bench can tell. */
export function show(value: number, unit = ''): string {
  if (!Number.isFinite(value)) return '-'
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return `${value.toFixed(Math.min(digits, 3))}${unit && ` ${unit}`}`
}
