import type { BillingConfig } from './billing.config.js'
import { openFreshDatabase } from './billing.database.js'
import { Ledger } from './demo.ledger.js'
import type { Performance } from './demo.performance.js'
import { perform } from './demo.performance.js'
import type { Replica } from './demo.replica.js'
import { startReplica } from './demo.replica.js'
import { tableOf, totalsOf } from './demo.report.js'
import { scenes } from './demo.scenes.js'

const REPLICAS = 2

try {
  process.exitCode = (await runDemo()) ? 0 : 1
} catch (error) {
  console.error(error)
  process.exitCode = 1
}

/** @returns whether everything was as it should be */
async function runDemo(): Promise<boolean> {
  console.log(`Starting PostgreSQL and ${REPLICAS} instances of the billing example, and playing a sender over HTTP …`)
  const database = await openFreshDatabase()
  const config: BillingConfig = {
    databaseUrl: database.url,
    corvelSecret: 'the secret of Corvel',
    partnerSecret: 'the secret of the partner',
    stripeSecret: 'whsec_demo',
    githubSecret: 'the secret of GitHub',
  }
  const ledger = new Ledger(database.url)
  const replicas: Replica[] = []
  try {
    for (let count = 0; count < REPLICAS; count++) replicas.push(await startReplica(config))
    const performances: Performance[] = []
    for (const scene of scenes) performances.push(await perform(scene, replicas, ledger, config))
    return await report(performances, ledger)
  } finally {
    await Promise.allSettled([ledger.close(), ...replicas.map((replica) => replica.close())])
    await database.close()
  }
}

async function report(performances: readonly Performance[], ledger: Ledger): Promise<boolean> {
  const totals = await totalsOf(performances, ledger)
  console.log(tableOf(performances))
  for (const { title, faults } of performances) for (const fault of faults) console.log(`${title}: ${fault}`)
  console.log(JSON.stringify(totals))
  return totals.lost === 0 && totals.double === 0 && performances.every(({ faults }) => faults.length === 0)
}
