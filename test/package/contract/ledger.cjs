const pg = require('pg')

/** What is in the database, seen from outside of the application. */
exports.Ledger = class {
  #pool

  /** @param {string | undefined} connectionString */
  constructor(connectionString) {
    this.#pool = new pg.Pool({ connectionString })
  }

  /**
   * @param {string} source
   * @param {string} id
   */
  async of(source, id) {
    const { rows } = await this.#pool.query(
      `SELECT (SELECT count(*)::int FROM processed_events WHERE source = $1 AND event_id = $2) AS claims,
              (SELECT count(*)::int FROM "Credit" WHERE source = $1 AND "eventId" = $2) AS credits`,
      [source, id],
    )
    return rows[0]
  }

  /** Resolves when a statement of an application is blocked by another transaction. */
  async someoneWaits() {
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    while ((await this.#pool.query(waiting)).rowCount === 0);
  }

  close() {
    return this.#pool.end()
  }
}
