import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../../tools/postgres.mjs'
import { Application, Fleet } from './fleet.js'
import { Ledger } from './ledger.js'
import { Nemesis } from './nemesis.js'
import { Proxy } from './proxy.js'
import { Random } from './random.js'
import { report } from './report.js'
import { Sender } from './sender.js'
import type { Variant } from './variants.js'
import { VARIANTS } from './variants.js'

/** What each process does otherwise than the others, as if they were configured by different people. */
const CONFIGS = [
  {},
  { isolationLevel: 'RepeatableRead', handlerRetries: 2 },
  { isolationLevel: 'Serializable', handlerRetries: 2 },
]

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    variant: { type: 'string', default: 'library' },
    verbose: { type: 'boolean', default: false },
  },
})
const seed = Number(values.seed)
const seconds = Number(values.seconds)
const variant = values.variant as Variant
if (!Number.isSafeInteger(seed) || !(seconds > 0) || !Object.hasOwn(VARIANTS, variant)) {
  console.error(
    `Usage: npm run chaos -- [--seconds 60] [--seed 7] [--verbose] [--variant ${Object.keys(VARIANTS).join('|')}]`,
  )
  process.exit(2)
}

const postgres = await startPostgres({ settings: { max_connections: '100' } })
try {
  process.exitCode = (await run()) ? 0 : 1
} finally {
  await postgres.stop()
}

async function run(): Promise<boolean> {
  const faults: string[] = []
  const ledger = new Ledger(postgres.url)
  await ledger.open(dirname(createRequire(import.meta.url).resolve('nestjs-webhook-idempotency/package.json')))
  const proxies = await Promise.all(CONFIGS.map(() => Proxy.listen(Number(new URL(postgres.url).port))))
  const applications = CONFIGS.map((config, index) => {
    const databaseUrl = urlThrough(proxies[index]!)
    return new Application(`application ${index + 1}`, { databaseUrl, variant, ...config }, (fault) =>
      faults.push(fault),
    )
  })
  const fleet = new Fleet(applications)
  const random = new Random(seed)
  const sender = new Sender(fleet, random.child(1), variant === 'library')
  const nemesis = new Nemesis({ fleet, proxies, postgres, ledger, tell }, random.child(2))

  await fleet.start()
  const stop = new AbortController()
  const sending = sender.run(stop.signal)
  await nemesis.run(seconds)
  stop.abort()
  await sending
  const audit = await ledger.audit(sender)
  await fleet.stop()
  for (const proxy of proxies) proxy.close()
  return report({ seed, seconds, sender, nemesis, audit, faults })
}

function urlThrough(proxy: Proxy): string {
  const url = new URL(postgres.url)
  url.port = String(proxy.port)
  return url.href
}

function tell(text: string): void {
  if (values.verbose) console.log(`${(performance.now() / 1000).toFixed(1)} s  ${text}`)
}
