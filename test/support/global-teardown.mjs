/** @import { Postgres } from '../../tools/postgres.mjs' */

export default async function tearDown() {
  const { testPostgres } = /** @type {{ testPostgres?: Postgres }} */ (globalThis)
  await testPostgres?.stop()
}
