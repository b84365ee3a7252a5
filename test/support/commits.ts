import pg from 'pg'
import type { TestDatabase } from './database.js'
import { until } from './until.js'

/** A COMMIT that waits for the test. */
export interface HeldCommit {
  /** Resolves when the database has begun to commit, and waits. */
  reached(): Promise<void>
  release(): Promise<void>
}

/** Makes COMMIT of the transaction that credits an event wait, as a database with a slow disk would. */
export async function holdCommitOf(database: TestDatabase, id: string): Promise<HeldCommit> {
  const holder = new pg.Client(database.url)
  await holder.connect()
  await holder.query('SELECT pg_advisory_lock(1)')
  await holder.query(`
    CREATE OR REPLACE FUNCTION wait_for_the_test() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$`)
  await holder.query(`
    CREATE CONSTRAINT TRIGGER "hold ${id}" AFTER INSERT ON credits DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW WHEN (NEW.event_id = '${id}') EXECUTE FUNCTION wait_for_the_test()`)
  return {
    reached: () => untilStatementsWait(database, 'advisory', 1),
    release: () => holder.end(),
  }
}

/** Makes the check that a credit's account exists wait until COMMIT, so that it is COMMIT that fails. */
export async function checkAccountsAtCommit(database: TestDatabase): Promise<void> {
  await database.query('ALTER TABLE credits ALTER CONSTRAINT credits_account_id_fkey DEFERRABLE INITIALLY DEFERRED')
}

/** Resolves when so many claims wait in the database for the transaction that holds theirs. */
export async function untilClaimsWait(database: TestDatabase, count: number): Promise<void> {
  await untilStatementsWait(database, 'transactionid', count)
}

async function untilStatementsWait(database: TestDatabase, lock: string, count: number): Promise<void> {
  await until(`${count} statements wait for a lock of type ${lock}`, async () => {
    const waiting = await database.query(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = $1`,
      [lock],
    )
    return waiting.length >= count
  })
}
