// What every application must show that has installed the package: the same sentences for each framework, module format,
// Prisma and test runner. CommonJS and node:assert alone, so that jest, vitest and node:test can all run it.
const assert = require('node:assert/strict')
const { createHmac, randomUUID } = require('node:crypto')
const { Ledger } = require('./ledger.cjs')
const { Holds } = require('./holds.cjs')

const SECRET = 'whsec_of_the_contract'

/**
 * @typedef {object} RunningApplication
 * @property {string} url
 * @property {() => Promise<void>} close
 */

/**
 * @typedef {object} Harness
 * @property {(name: string, run: () => Promise<void>) => void} test
 * @property {(run: () => Promise<void>) => void} before
 * @property {(run: () => Promise<void>) => void} after
 * @property {(options: object) => Promise<RunningApplication>} start
 * @property {(options: { secret: string }) => Promise<object>} [otherCopy] options with controllers of the other build
 */

/** @param {Harness} harness */
exports.contract = ({ test, before, after, start, otherCopy }) => {
  const ledger = new Ledger(process.env.DATABASE_URL)
  const holds = new Holds()
  const options = { secret: SECRET, hold: holds.pass }
  /** @type {RunningApplication} */
  let app
  /** @type {RunningApplication} another process would be no different: the two share nothing but the database */
  let replica

  before(async () => {
    const others = otherCopy ? await otherCopy({ secret: SECRET }) : {}
    app = await start({ ...options, ...others })
    replica = await start(options)
  })

  after(async () => {
    await Promise.all([app.close(), replica.close()])
    await ledger.close()
  })

  test('processes an event once and answers its duplicates with 200', async () => {
    const event = newEvent()
    assert.deepEqual(await deliver(app, '/corvel', event), { status: 200, body: { credited: 10 } })
    assert.deepEqual(await deliver(app, '/corvel', event), { status: 200, body: { outcome: 'duplicate' } })
    assert.deepEqual(await deliver(replica, '/corvel', event), { status: 200, body: { outcome: 'duplicate' } })
    assert.deepEqual(await ledger.of('corvel', event.id), { claims: 1, credits: 1 })
  })

  test('applies one of many deliveries that race through two replicas', async () => {
    const event = newEvent()
    const deliveries = [app, replica, app, replica, app, replica].map((at) => deliver(at, '/corvel', event))
    const answers = await Promise.all(deliveries)
    assert.deepEqual(countByStatus(answers), { 200: 6 })
    assert.equal(answers.filter(({ body }) => body.credited).length, 1)
    assert.deepEqual(await ledger.of('corvel', event.id), { claims: 1, credits: 1 })
  })

  test('lets a delivery that waits in another replica take over when the first one fails', async () => {
    const event = newEvent()
    const hold = holds.expect(event.id)
    const first = deliver(app, '/corvel', { ...event, fails: true })
    await hold.reached
    const second = deliver(replica, '/corvel', event)
    await ledger.someoneWaits()
    hold.release()
    assert.equal((await first).status, 500)
    assert.deepEqual(await second, { status: 200, body: { credited: 10 } })
    assert.deepEqual(await ledger.of('corvel', event.id), { claims: 1, credits: 1 })
  })

  test('keeps neither claim nor effects of a handler that fails, so that the next delivery is processed', async () => {
    const event = newEvent()
    assert.equal((await deliver(app, '/corvel', { ...event, fails: true })).status, 500)
    assert.deepEqual(await ledger.of('corvel', event.id), { claims: 0, credits: 0 })
    assert.equal((await deliver(app, '/corvel', event)).body.credited, 10)
    assert.deepEqual(await ledger.of('corvel', event.id), { claims: 1, credits: 1 })
  })

  test('claims an event that can never be processed, without its effects', async () => {
    const event = newEvent()
    assert.deepEqual(await deliver(app, '/corvel/permanent', event), { status: 200, body: { outcome: 'rejected' } })
    assert.deepEqual(await deliver(app, '/corvel/permanent', event), { status: 200, body: { outcome: 'duplicate' } })
    assert.deepEqual(await ledger.of('permanent', event.id), { claims: 1, credits: 0 })
  })

  test('refuses an ID that cannot be stored as given', async () => {
    for (const id of [undefined, '', ' padded', 'x'.repeat(256), 'lone \ud800', { a: 1 }]) {
      const { status, body } = await deliver(app, '/corvel', { ...newEvent(), id })
      assert.deepEqual([status, body.error], [400, 'INVALID_EVENT'])
    }
  })

  test('processes signed deliveries only', async () => {
    const event = newEvent()
    const body = JSON.stringify(event, undefined, 1)
    const forged = await deliver(app, '/stripe', body, { 'stripe-signature': stripeSignature(`${body} `) })
    assert.deepEqual([forged.status, forged.body.error], [401, 'INVALID_SIGNATURE'])
    assert.deepEqual(await ledger.of('stripe', event.id), { claims: 0, credits: 0 })
    const headers = { 'stripe-signature': stripeSignature(body) }
    assert.deepEqual(await deliver(app, '/stripe', body, headers), { status: 200, body: { outcome: 'processed' } })
    assert.deepEqual(await ledger.of('stripe', event.id), { claims: 1, credits: 1 })
  })

  test('applies those events of a batch that are new', async () => {
    const [a, b, c] = [newEvent(), newEvent(), newEvent()]
    assert.deepEqual((await deliver(app, '/batch', [a, b])).body, { applied: [a.id, b.id] })
    assert.deepEqual((await deliver(app, '/batch', [b, c, c])).body, { applied: [c.id] })
    for (const { id } of [a, b, c]) assert.deepEqual(await ledger.of('batch', id), { claims: 1, credits: 1 })
  })

  test('processes events that come by another way than HTTP', async () => {
    const event = newEvent()
    assert.deepEqual((await deliver(app, '/corvel/service', event)).body, { outcome: 'processed', value: 10 })
    assert.deepEqual((await deliver(app, '/corvel/service', event)).body, { outcome: 'duplicate' })
    assert.deepEqual(await ledger.of('service', event.id), { claims: 1, credits: 1 })
  })

  test('lets an event in progress end before the application does, and takes no new ones', async () => {
    const ending = await start(options)
    const event = newEvent()
    const hold = holds.expect(event.id)
    const inProgress = deliver(ending, '/corvel', event)
    await hold.reached
    const closed = ending.close()
    await until(async () => (await deliver(ending, '/corvel', newEvent())).status === 503)
    hold.release()
    assert.deepEqual(await inProgress, { status: 200, body: { credited: 10 } })
    await closed
    assert.deepEqual(await ledger.of('corvel', event.id), { claims: 1, credits: 1 })
  })

  if (!otherCopy) return

  test('takes deliveries for the decorators of the other build', async () => {
    const event = newEvent()
    assert.deepEqual((await deliver(app, '/other-copy', event)).body, { outcome: 'processed' })
    assert.deepEqual((await deliver(app, '/other-copy', event)).body, { outcome: 'duplicate' })
    assert.deepEqual(await ledger.of('other-copy', event.id), { claims: 1, credits: 1 })
  })

  test('knows the errors of the other build', async () => {
    const signed = await deliver(app, '/other-copy/signed', newEvent(), { 'x-hub-signature-256': 'sha256=00' })
    assert.equal(signed.status, 401)
    const permanent = await deliver(app, '/other-copy/permanent', newEvent())
    assert.deepEqual(permanent, { status: 200, body: { outcome: 'rejected' } })
  })

  test('injects its service where the other build asks for it', async () => {
    const event = newEvent()
    assert.equal((await deliver(app, '/other-copy/service', event)).body.outcome, 'processed')
    assert.equal((await deliver(app, '/other-copy/service', event)).body.outcome, 'duplicate')
  })
}

function newEvent() {
  return { id: `evt_${randomUUID()}`, type: 'invoice.paid', amount: 10 }
}

/**
 * @param {RunningApplication} at
 * @param {string} path
 * @param {unknown} event a string goes as it is
 * @param {Record<string, string>} [headers]
 */
async function deliver({ url }, path, event, headers) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof event === 'string' ? event : JSON.stringify(event),
  })
  // In jest, fetch is of another realm, whose objects node:assert takes for different ones.
  return { status: response.status, body: JSON.parse(await response.text()) }
}

/** @param {string} body */
function stripeSignature(body) {
  const time = Math.floor(Date.now() / 1000)
  return `t=${time},v1=${createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex')}`
}

/** @param {{ status: number }[]} answers */
function countByStatus(answers) {
  /** @type {Record<number, number>} */
  const counts = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** @param {() => Promise<boolean>} holds */
async function until(holds) {
  while (!(await holds()));
}
