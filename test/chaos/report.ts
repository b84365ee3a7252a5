import { Table } from 'console-table-printer'
import type { Audit } from './ledger.js'
import type { Nemesis } from './nemesis.js'
import type { Sender } from './sender.js'

/** What a run of a minute has to break at least. */
const AT_LEAST = { kill: 10, databaseCrash: 2, cut: 2 }

export interface Run {
  seed: number
  seconds: number
  sender: Sender
  nemesis: Nemesis
  audit: Audit
  /** Processes that ended by themselves, or did not end when they should. */
  faults: string[]
}

/** Prints what was done and found. @returns whether nothing was found */
export function report(run: Run): boolean {
  const { seed, seconds, sender, nemesis, audit, faults } = run
  printTable('done', [
    ['events', sender.events.length],
    ['deliveries', sender.deliveries],
    ...Object.entries(sender.answers)
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([answer, count]) => [`answer: ${answer}`, count] as const),
    ...Object.entries(nemesis.done),
  ])
  const violations = { ...audit, faultsOfProcesses: faults, notEnoughChaos: tooFew(run) }
  printTable(
    'found',
    Object.entries(violations).map(([name, { length }]) => [name, length]),
  )
  for (const [name, found] of Object.entries(violations)) {
    for (const one of found.slice(0, 5)) console.log(`${name}: ${one}`)
  }
  const { kill: kills, databaseCrash: databaseCrashes, cut: cuts } = nemesis.done
  const counts = { events: sender.events.length, deliveries: sender.deliveries, kills, databaseCrashes, cuts }
  console.log(JSON.stringify({ seed, seconds, ...counts, lost: audit.lost.length, double: audit.double.length }))
  return Object.values(violations).every(({ length }) => length === 0)
}

function tooFew({ seconds, nemesis }: Run): string[] {
  return Object.entries(AT_LEAST)
    .filter(([fault, count]) => nemesis.done[fault as keyof typeof AT_LEAST] < Math.floor((count * seconds) / 60))
    .map(([fault, count]) => `fewer ${fault} faults than ${count} a minute`)
}

function printTable(title: string, rows: (readonly [string, number])[]): void {
  const table = new Table({
    columns: [
      { name: title, alignment: 'left' },
      { name: 'count', alignment: 'right' },
    ],
  })
  for (const [name, count] of rows) table.addRow({ [title]: name, count })
  table.printTable()
}
