import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Body, Controller, Post } from '@nestjs/common'
import fc from 'fast-check'
import { checkId, cleanType, toEvent } from '../src/event-identity.js'
import { IdempotentWebhook, InvalidEventError, WebhookIdempotencyService, WebhookTransaction } from '../src/index.js'
import type { PrismaClientLike } from '../src/index.js'
import type { RunningApplication } from './support/application.js'
import { onFastify, startApplication } from './support/application.js'
import type { TestDatabase } from './support/database.js'
import { createDatabase } from './support/database.js'
import type { Tx } from './support/ledger.js'
import { credit, ONCE, openAccount, recordsOf } from './support/ledger.js'

@Controller()
class Corvel {
  @Post('corvel')
  @IdempotentWebhook({ source: 'corvel' })
  async invoicePaid(@Body() { id }: { id: string | number }, @WebhookTransaction() tx: Tx) {
    await credit(tx, { id: `${id}` })
  }

  /** Identified by a function of the user's own, which trusts the body to be there. */
  @Post('nested')
  @IdempotentWebhook({ source: 'nested', id: ({ body }) => body.meta.event_id, type: ({ body }) => body.meta.kind })
  nested() {}

  @Post('by-header')
  @IdempotentWebhook({ source: 'by-header', id: ({ headers }) => headers.get('Delivery-ID')! })
  byHeader() {}
}

const WHAT_AN_ID_MUST_BE =
  'It must be a string of 1 to 255 bytes of UTF-8 without control characters or white space at its ends, or a safe integer.'

/** A name for the test, the body as it is sent, and what must be found. */
const REFUSED: [name: string, body: string, found: string][] = [
  ['a missing ID', '{"type":"invoice.paid"}', 'is missing (undefined)'],
  ['an ID in an array of events', '[{"id":"evt_1"}]', 'is missing (undefined)'],
  ['an ID in a body of no bytes, which Express takes for {}', '', 'is missing (undefined)'],
  ['null', '{"id":null}', 'is missing (null)'],
  ['an empty string', '{"id":""}', 'is an empty string'],
  ['blanks', '{"id":" \\t\\n "}', 'is blank'],
  ['blanks beyond ASCII', '{"id":"\\u00a0\\u3000\\ufeff"}', 'is blank'],
  ['256 bytes', `{"id":"${'x'.repeat(256)}"}`, 'has 256 bytes'],
  ['128 characters of two bytes', `{"id":"${'é'.repeat(128)}"}`, 'has 256 bytes'],
  ['64 emoji', `{"id":"${'😀'.repeat(64)}"}`, 'has 256 bytes'],
  ['a megabyte', `{"id":"${'x'.repeat(90_000)}"}`, 'has 90000 bytes'],
  ['a high surrogate alone', '{"id":"evt_\\ud83d"}', 'has a lone surrogate'],
  ['a low surrogate alone', '{"id":"\\ude00evt"}', 'has a lone surrogate'],
  ['NUL', '{"id":"evt\\u00001"}', 'has a control character'],
  ['a line break', '{"id":"evt\\n1"}', 'has a control character'],
  ['DEL', '{"id":"evt\\u007f1"}', 'has a control character'],
  ['a C1 control', '{"id":"evt\\u00851"}', 'has a control character'],
  ['a leading space', '{"id":" evt_1"}', 'has white space at an end'],
  ['a trailing space', '{"id":"evt_1 "}', 'has white space at an end'],
  ['a trailing no-break space', '{"id":"evt_1\\u00a0"}', 'has white space at an end'],
  ['the text undefined', '{"id":"undefined"}', 'is the text "undefined", which is a missing value made a string'],
  ['the text null', '{"id":"null"}', 'is the text "null", which is a missing value made a string'],
  ['the text NaN', '{"id":"NaN"}', 'is the text "NaN", which is a missing value made a string'],
  ['an object made text', '{"id":"[object Object]"}', 'is the text "[object Object]"'],
  ['an object', '{"id":{"value":"evt_1"}}', 'is an object'],
  ['an object that looks like a string', '{"id":{"toString":"evt_1","length":5}}', 'is an object'],
  ['an array', '{"id":["evt_1"]}', 'is an array'],
  ['a boolean', '{"id":true}', 'is a boolean'],
  ['an unsafe integer', '{"id":9007199254740993}', 'is the number 9007199254740992, not a safe integer'],
  ['a fraction', '{"id":1.5}', 'is the number 1.5, not a safe integer'],
  ['a number beyond all', '{"id":1e400}', 'is the number Infinity, not a safe integer'],
]

/** Two that some collation, normal form or cut would take for one. */
const DIFFERENT: [name: string, one: string, other: string][] = [
  ['case', 'evt_case', 'EVT_CASE'],
  ['accents', 'evt_e', 'evt_é'],
  ['normal form', 'evt_n\u00e9', 'evt_ne\u0301'],
  ['emoji', 'evt_😀', 'evt_😁'],
  ['a blank inside', 'evt a', 'evt  a'],
  ['an invisible character', 'evt_zw', 'evt_\u200bzw'],
  ['width', 'evt_1', 'evt_１'],
  ['leading zeros', '7', '007'],
  ['the last of 255 bytes', `${'x'.repeat(254)}a`, `${'x'.repeat(254)}b`],
  ['quotes', `evt_'"`, `evt_"'`],
]

describe('the ID of an event', () => {
  let database: TestDatabase
  let application: RunningApplication
  let webhooks: WebhookIdempotencyService
  let transactions = 0

  beforeAll(async () => {
    database = await createDatabase()
    await openAccount(database)
    application = await startApplication({
      controllers: [Corvel],
      options: { prisma: countingTransactions(database.prisma()) },
    })
    webhooks = application.app.get(WebhookIdempotencyService)
    transactions = 0
  })

  afterAll(async () => {
    await application?.close()
    await database.drop()
  })

  function countingTransactions(client: PrismaClientLike): PrismaClientLike {
    return new Proxy(client, {
      get(target, key) {
        if (key === '$transaction') transactions++
        return Reflect.get(target, key, target)
      },
    })
  }

  describe('is refused with 400 and without a transaction when it is', () => {
    it.each(REFUSED)('%s', async (_, body, found) => {
      const before = transactions
      const answer = await application.deliver('/corvel', body)
      // Fastify refuses JSON of no bytes before any guard or interceptor.
      if (onFastify && body === '') return expect(answer.status).toBe(400)
      expect([answer.status, answer.body.error]).toEqual([400, 'INVALID_EVENT'])
      expect(answer.body.message).toContain(`The event ID from source "corvel" ${found}`)
      expect(answer.body.message).toContain(WHAT_AN_ID_MUST_BE)
      expect(transactions).toBe(before)
    })

    it('given to process()', async () => {
      const before = transactions
      const given = [undefined, null, '', ' x', 1.5, Number.NaN, 10n, Symbol('x'), new String('evt'), () => 'evt']
      for (const id of given) {
        const event = { source: 'jobs', id: id as string }
        await expect(webhooks.process(event, async () => {})).rejects.toThrow(InvalidEventError)
        await expect(webhooks.forget(event)).rejects.toThrow(InvalidEventError)
      }
      expect(transactions).toBe(before)
    })

    it('in a header that was not sent', async () => {
      const { status, body } = await application.deliver('/by-header', {})
      expect(status).toBe(400)
      expect(body.message).toContain('The event ID from source "by-header" is missing (undefined)')
    })
  })

  it('is refused, as is its source, when the source could not be stored', async () => {
    for (const source of [undefined, null, '', ' ', 'x'.repeat(256), 'a\nb', 'a ', 7, {}, Object.create(null)]) {
      const processed = webhooks.process({ source: source as string, id: 'evt_1' }, async () => {})
      await expect(processed).rejects.toThrow(
        /^The source of an event (is|has) .* It must be a string of 1 to 255 bytes/,
      )
    }
    await expect(webhooks.process(undefined!, async () => {})).rejects.toThrow('The source of an event is missing')
  })

  it('is refused when a function that looks for it finds nothing on its way', async () => {
    const { status, body } = await application.deliver('/nested', { id: 'evt_1' })
    expect([status, body.error]).toEqual([400, 'INVALID_EVENT'])
    expect(body.message).toContain('The events of a delivery from source "nested" could not be identified')
  })

  describe('cannot be read, which is said with the content type, when there is', () => {
    it.each([
      ['text', '/corvel', 'evt_1', 'text/plain', 'text/plain'],
      ['XML', '/corvel', '<id>evt_1</id>', 'application/xml; charset=utf-8', 'application/xml; charset=utf-8'],
      ['no body for a function of the body', '/nested', undefined, 'text/plain', 'text/plain'],
      ['text for a function of the body', '/nested', 'evt_1', 'text/plain', 'text/plain'],
    ])('%s', async (_, path, sent, contentType, named) => {
      const before = transactions
      const { status, body } = await application.deliver(path, sent, { 'content-type': contentType })
      // Fastify refuses what it has no parser for before any guard or interceptor.
      if (onFastify && status === 415) return
      expect([status, body.error]).toEqual([400, 'MISSING_BODY'])
      expect(body.message).toContain(`has no parsed body (content type ${named})`)
      expect(body.message).toContain('Send JSON with the content type application/json')
      expect(transactions).toBe(before)
    })

    it('no content type either', async () => {
      const response = await fetch(`${application.url}/corvel`, { method: 'POST' })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({
        error: 'MISSING_BODY',
        message: expect.stringContaining('(content type not given)'),
      })
    })

    it('text, unless the ID is in a header', async () => {
      const headers = { 'content-type': 'text/plain', 'delivery-id': 'evt_header' }
      const answers = [
        await application.deliver('/by-header', 'anything', headers),
        await application.deliver('/by-header', 'anything', headers),
      ]
      expect(answers.map(({ body }) => body.outcome)).toEqual(['processed', 'duplicate'])
    })
  })

  it.each([
    ['a safe integer', 42, '42'],
    ['zero', 0, '0'],
    ['a negative integer', -7, '-7'],
    ['the greatest safe integer', Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ])('may be %s, which is the same as its text', async (_, number, text) => {
    const first = await application.deliver('/corvel', { id: number })
    const again = await application.deliver('/corvel', { id: text })
    expect([first.body.outcome, again.body.outcome]).toEqual(['processed', 'duplicate'])
    expect(await recordsOf(database, text)).toEqual(ONCE)
  })

  it.each([
    ['255 bytes', 'y'.repeat(255)],
    ['255 bytes of three-byte characters', '語'.repeat(85)],
    ['one character', 'z'],
    ['blanks inside', 'invoice 17 paid'],
    ['what looks like SQL', `'; DROP TABLE processed_events; --`],
    ['what looks like a wildcard', '%_\\'],
    ['a name of every object', '__proto__'],
  ])('may be %s', async (_, id) => {
    const outcomes = []
    for (const _ of [1, 2]) outcomes.push((await application.deliver('/corvel', { id })).body.outcome)
    expect(outcomes).toEqual(['processed', 'duplicate'])
    expect(await recordsOf(database, id)).toEqual(ONCE)
  })

  it.each(DIFFERENT)('differs from another one by %s: both events are processed', async (_, one, other) => {
    const outcomes = []
    for (const id of [one, other, one, other]) {
      outcomes.push((await application.deliver('/corvel', { id })).body.outcome)
    }
    expect(outcomes).toEqual(['processed', 'processed', 'duplicate', 'duplicate'])
    expect(await recordsOf(database, one)).toEqual(ONCE)
    expect(await recordsOf(database, other)).toEqual(ONCE)
  })

  it('is any text that passes the check, and is stored as it was given', async () => {
    const id = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter(isId)
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(id, { minLength: 1, maxLength: 8 }), fc.uuid(), async (ids, source) => {
        for (const id of ids) {
          expect(await webhooks.process({ source, id }, async () => {})).toMatchObject({ outcome: 'processed' })
        }
        const stored = await database.query<{ event_id: string }>(
          'SELECT event_id FROM processed_events WHERE source = $1',
          [source],
        )
        expect(new Set(stored.map(({ event_id }) => event_id))).toEqual(new Set(ids))
      }),
      { numRuns: 15 },
    )
  })
})

describe('the check of an ID', () => {
  it('either gives the text of what it got, or throws InvalidEventError', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything({ withNullPrototype: true, withBigInt: true }), anyText()), (id) => {
        try {
          expect(checkId('corvel', id)).toBe(typeof id === 'number' ? String(id) : id)
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidEventError)
        }
      }),
    )
  })

  it('lets only text pass that every database can store as it is', () => {
    fc.assert(
      fc.property(anyText().filter(isId), (id) => {
        expect(Buffer.from(id).toString()).toBe(id)
        expect(Buffer.byteLength(id)).toBeLessThanOrEqual(255)
        expect(id.trim()).toBe(id)
        expect(id).not.toMatch(/^$|\p{Cc}/u)
      }),
    )
  })

  it('refuses text with anything at its ends that trimming would take away, and any control character', () => {
    const blank = fc.constantFrom(' ', '\t', '\u00a0', '\u2003', '\u3000', '\ufeff', '\u2028')
    fc.assert(fc.property(anyText(), blank, (text, end) => !isId(end + text) && !isId(text + end)))
    const control = fc.integer({ min: 0, max: 0x9f }).filter((code) => code < 0x20 || code > 0x7e)
    fc.assert(
      fc.property(anyText(), control, anyText(), (before, code, after) => {
        return !isId(before + String.fromCharCode(code) + after)
      }),
    )
  })

  it('does the same for the source', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        const source = isId(text) ? text : 'corvel'
        expect(toEvent(source, { id: 'evt_1' })).toEqual({ source, id: 'evt_1', type: 'unknown', payload: undefined })
        if (!isId(text)) expect(() => toEvent(text, { id: 'evt_1' })).toThrow(InvalidEventError)
      }),
    )
  })
})

describe('the type of an event', () => {
  it.each([
    ['kept', 'invoice.paid', 'invoice.paid'],
    ['taken from a number', 7, '7'],
    ['unknown when it is missing', undefined, 'unknown'],
    ['unknown when it is null', null, 'unknown'],
    ['unknown when it is an object', { name: 'invoice.paid' }, 'unknown'],
    ['unknown when it is blank', ' \n ', 'unknown'],
    ['freed of control characters', ' in\u0000voice\r\n.paid\u0007', 'in voice .paid'],
    ['freed of lone surrogates', 'paid\ud83d', 'paid\ufffd'],
    ['cut to 255 bytes', 'x'.repeat(1000), 'x'.repeat(255)],
    ['cut between characters', `x${'😀'.repeat(100)}`, `x${'😀'.repeat(63)}`],
    ['cut without a blank at its end', `${'x'.repeat(254)} y`, 'x'.repeat(254)],
  ])('is %s', (_, given, cleaned) => {
    expect(cleanType(given)).toBe(cleaned)
  })

  it('is never a reason to refuse an event', async () => {
    const database = await createDatabase()
    const application = await startApplication({ controllers: [Corvel], options: { prisma: database.prisma() } })
    try {
      await openAccount(database)
      const types = [undefined, null, '', 'a\u0000b', '\ud83d', 'x'.repeat(5000), { a: 1 }, ['b'], true, 7]
      for (const [index, type] of types.entries()) {
        const answer = await application.deliver('/corvel', { id: `evt_type_${index}`, type })
        expect([answer.status, answer.body.outcome]).toEqual([200, 'processed'])
      }
      await application.deliver('/nested', { meta: { event_id: 'evt_kind', kind: 'paid' } })
      const stored = await database.query<{ event_type: string }>(
        'SELECT event_type FROM processed_events ORDER BY received_at',
      )
      expect(stored.map(({ event_type }) => event_type)).toEqual([
        'unknown',
        'unknown',
        'unknown',
        'a b',
        '\ufffd',
        'x'.repeat(255),
        'unknown',
        'unknown',
        'unknown',
        '7',
        'paid',
      ])
    } finally {
      await application.close()
      await database.drop()
    }
  })

  it('is well-formed, trimmed, at most 255 bytes long and never empty, whatever was sent', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything({ withNullPrototype: true }), anyText()), (given) => {
        const type = cleanType(given)
        expect(type).toMatch(/^\P{Cc}+$/u)
        expect(type.isWellFormed()).toBe(true)
        expect(type.trim()).toBe(type)
        expect(Buffer.byteLength(type)).toBeLessThanOrEqual(255)
        expect(cleanType(type)).toBe(type)
      }),
    )
  })
})

/** Text with everything in it that JSON can carry: lone surrogates, controls, blanks, long runs. */
function anyText(): fc.Arbitrary<string> {
  const unit = fc.oneof(
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    fc.constantFrom('a', ' ', 'é', '😀', '\u0000', '\ud83d', 'x'.repeat(100)),
  )
  return fc.array(unit, { maxLength: 20 }).map((units) => units.join(''))
}

function isId(text: string): boolean {
  try {
    return checkId('corvel', text) === text
  } catch {
    return false
  }
}
