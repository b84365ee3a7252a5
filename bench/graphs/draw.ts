import { parse, View } from 'vega'
import type { TopLevelSpec } from 'vega-lite'
import { compile } from 'vega-lite'

const CONFIG = {
  background: 'white',
  font: 'sans-serif',
  view: { stroke: null },
  axis: { labelLimit: 260 },
} as const

/** @returns an SVG document */
export function draw(spec: TopLevelSpec): Promise<string> {
  const { spec: compiled } = compile(spec, { config: CONFIG })
  return new View(parse(compiled), { renderer: 'none' }).toSVG()
}
