import type { TopLevelSpec } from 'vega-lite'
import type { Report } from '../harness/report.js'
import type { Spread } from '../harness/statistics.js'
import type { SceneResult } from '../scenes/scene-rounds.js'

/** A graph of docs/performance.md, by the name of its file. */
export type Graphs = Record<string, TopLevelSpec>

const WIDTH = 480
const OURS = 'nestjs-webhook-idempotency'
/** Ours stands out, and is told apart in print too. */
const COLOUR = { condition: { test: `datum.subject === '${OURS}'`, value: '#1b6ac9' }, value: '#b8bec6' } as const

/** What to draw of each bench. */
export const graphsOf: Record<string, (report: Report) => Graphs> = {
  bench({ data }) {
    const scenes = data as { scene: string; unit: string; result: SceneResult[] }[]
    return Object.fromEntries(scenes.map(({ scene, unit, result }) => [slugOf(scene), throughput(scene, unit, result)]))
  },
  storm({ data }) {
    const subjects = data as { title: string; quietP99: Spread; stormP99: Spread }[]
    const values = subjects.flatMap(({ title, quietP99, stormP99 }) => [
      { subject: title, when: 'quiet', p99: quietP99.median },
      { subject: title, when: 'storm', p99: stormP99.median },
    ])
    return { storm: grouped('p99 of unrelated events, ms (logarithmic)', values, 'when', 'p99') }
  },
  batch({ data }) {
    const ways = data as { subject: string; way: string; time: Spread }[]
    const values = ways.filter(({ subject }) => subject === 'ours').map(({ way, time }) => ({ way, ms: time.median }))
    return {
      batch: {
        data: { values },
        width: WIDTH,
        title: '250 events, ms',
        mark: { type: 'bar', color: '#1b6ac9' },
        encoding: {
          y: { field: 'way', type: 'nominal', title: null, sort: null },
          x: { field: 'ms', type: 'quantitative' },
        },
      },
    }
  },
  scale({ data }) {
    const { times } = data as { times: { rows: number; kinds: { kind: string; time: Spread }[] }[] }
    const values = times.flatMap(({ rows, kinds }) =>
      kinds.map(({ kind, time }) => ({ rows: String(rows), kind, microseconds: time.median })),
    )
    return { 'claims-by-rows': grouped('a claim by the rows of the table, µs', values, 'rows', 'microseconds', 'kind') }
  },
}

function throughput(scene: string, unit: string, results: readonly SceneResult[]): TopLevelSpec {
  const values = results.map(({ title, perSecond: { median, min, max } }) => ({ subject: title, median, min, max }))
  const y = { field: 'subject', type: 'nominal', title: null, sort: null } as const
  return {
    data: { values },
    width: WIDTH,
    title: scene,
    layer: [
      {
        mark: 'bar',
        encoding: { y, x: { field: 'median', type: 'quantitative', title: `${unit} per second` }, color: COLOUR },
      },
      { mark: 'rule', encoding: { y, x: { field: 'min', type: 'quantitative' }, x2: { field: 'max' } } },
    ],
  }
}

function grouped(
  title: string,
  values: Record<string, string | number>[],
  group: string,
  value: string,
  row = 'subject',
): TopLevelSpec {
  return {
    data: { values },
    width: WIDTH,
    title,
    mark: 'bar',
    encoding: {
      y: { field: row, type: 'nominal', title: null, sort: null },
      yOffset: { field: group, sort: null },
      // Bars on a logarithmic scale have no natural start; all begin at 1.
      x: { field: value, type: 'quantitative', title: null, scale: { type: 'log', domainMin: 1 } },
      x2: { datum: 1 },
      color: { field: group, type: 'nominal', title: null, sort: null, scale: { scheme: 'blues' } },
    },
  }
}

export function slugOf(title: string): string {
  return title
    .replaceAll(/[^a-z0-9]+/gi, '-')
    .toLowerCase()
    .slice(0, 60)
}
