import { Table } from 'console-table-printer'
import type { Ledger } from './demo.ledger.js'
import type { Performance } from './demo.performance.js'
import { eventsDue } from './demo.performance.js'

/** The whole demo in numbers: effects from the database, the rest from the answers. */
export interface Totals {
  deliveries: number
  processed: number
  duplicates: number
  refused: number
  lost: number
  double: number
}

export function tableOf(performances: readonly Performance[]): string {
  const table = new Table({
    shouldDisableColors: !process.stdout.isTTY,
    columns: [
      { name: 'scene', alignment: 'left' },
      { name: 'deliveries', title: 'sent' },
      { name: 'answers', alignment: 'left' },
      { name: 'claims' },
      { name: 'credits', title: 'credited' },
      { name: 'balance' },
      { name: 'verdict', title: 'right' },
    ],
  })
  for (const { title, deliveries, answers, page, faults } of performances) {
    const isRight = faults.length === 0
    const row = { scene: title, deliveries: deliveries.length, answers: textOf(answers), ...page }
    table.addRow({ ...row, verdict: isRight ? 'yes' : 'NO' }, { color: isRight ? 'green' : 'red' })
  }
  return table.render()
}

export async function totalsOf(performances: readonly Performance[], ledger: Ledger): Promise<Totals> {
  const deliveries = performances.flatMap((performance) => performance.deliveries)
  const answered = (pattern: RegExp) => deliveries.filter(({ answer }) => pattern.test(answer)).length
  return {
    deliveries: deliveries.length,
    processed: await ledger.processed(),
    duplicates: answered(/^duplicate$/),
    refused: answered(/^\d+$|^failed$/),
    lost: await ledger.lost(performances.flatMap((performance) => eventsDue(performance.deliveries))),
    double: await ledger.double(),
  }
}

function textOf(answers: Record<string, number>): string {
  return Object.entries(answers)
    .map(([answer, count]) => `${count} × ${answer}`)
    .join(', ')
}
