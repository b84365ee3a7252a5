import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from '@jest/globals'
import { createDatabase } from './support/database.js'
import { openAccount } from './support/ledger.js'

it('gives the services below a handler that use a TransactionHost the transaction of the event', async () => {
  const database = await createDatabase()
  try {
    await openAccount(database)
    const child = fork(fileURLToPath(new URL('support/cls-application.ts', import.meta.url)), {
      execArgv: ['--import', new URL('support/run-typescript.mjs', import.meta.url).href],
      env: { ...process.env, DATABASE_URL: database.url },
    })
    const [message] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`The process exited with ${code}`))),
    ])
    expect(message).toEqual({ processed: 2, failed: 0, outside: 2 })
  } finally {
    await database.drop()
  }
})
