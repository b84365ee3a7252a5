import { createHmac } from 'node:crypto'
import { createRequire } from 'node:module'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { github } from '../../src/sources/index.js'
import type { HttpDelivery } from './deliveries.js'
import { identities, verdict } from './deliveries.js'
import { fixtureOf, NOW } from './fixtures.js'

const accepts = (check: () => unknown): boolean => {
  try {
    check()
    return true
  } catch {
    return false
  }
}

/** Times around the ends of the tolerance of 5 minutes. */
const seconds = fc.constantFrom(-301, -300, -299, -1, 0, 1, 299, 300, 301).map((offset) => NOW / 1000 + offset)
const noise = fc.constantFrom('', ',', ' ', '=', 't=', 't=1', 'v1=', 'v1', 'v1=a=b', 'v0=aa', 'v1,', 'v2,aa', 'v1a,aa')
const surroundings = fc.record({ before: fc.array(noise), after: fc.array(noise), at: seconds, right: fc.boolean() })

describe("Stripe's own package", () => {
  const { source, keys } = fixtureOf('stripe')
  const secret = keys.current.secret
  const payload = JSON.stringify({ id: 'evt_1', type: 'invoice.paid' })
  const ours = (header: string): boolean =>
    verdict(source, { headers: { 'Stripe-Signature': header }, body: Buffer.from(payload) }) === undefined
  const theirs = (header: string): boolean =>
    accepts(() => Stripe.webhooks.constructEvent(payload, header, secret, 300, undefined, NOW))

  it('accepts and refuses the same headers', () => {
    const verdicts = { accepted: 0, refused: 0 }
    fc.assert(
      fc.property(surroundings, ({ before, after, at, right }) => {
        const made = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: at })
        const header = [...before, right ? made : made.replace(/.$/, 'x'), ...after].join(',')
        // An empty signature makes Stripe's comparison throw, whatever else the header holds.
        fc.pre(!/v1(=?,|=?$)/.test(header))
        verdicts[theirs(header) ? 'accepted' : 'refused']++
        expect(ours(header)).toBe(theirs(header))
      }),
      { numRuns: 2000 },
    )
    expect(Math.min(verdicts.accepted, verdicts.refused)).toBeGreaterThan(100)
  })

  it('signs what is accepted while a secret is rolled', () => {
    const [timestamp, scheme] = [NOW / 1000, 'v1']
    const one = Stripe.webhooks.generateTestHeaderString({ payload, secret: 'whsec_other', timestamp, scheme })
    const two = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp, scheme })
    expect(ours(`${one},${two.split(',')[1]}`)).toBe(true)
    expect(ours(one)).toBe(false)
    expect(ours(two.replace('v1=', 'v0='))).toBe(false)
  })
})

describe('the package standardwebhooks', () => {
  const { source, keys } = fixtureOf('standard-webhooks')
  const webhook = new Webhook(keys.current.secret)
  const payload = JSON.stringify({ type: 'contact.created', text: '♥' })

  beforeEach(() => void jest.spyOn(Date, 'now').mockReturnValue(NOW))
  afterEach(() => void jest.restoreAllMocks())

  it('accepts and refuses the same headers', () => {
    const verdicts = { accepted: 0, refused: 0 }
    fc.assert(
      fc.property(surroundings, fc.constantFrom('', 'msg_1', 'msg.1'), ({ before, after, at, right }, id) => {
        const made = webhook.sign(id, new Date(at * 1000), payload)
        const headers: HttpDelivery['headers'] = {
          'webhook-id': id,
          'webhook-timestamp': String(at),
          'webhook-signature': [...before, right ? made : made.replace(/.$/, 'x'), ...after].join(' '),
        }
        const theirs = accepts(() => webhook.verify(payload, headers))
        verdicts[theirs ? 'accepted' : 'refused']++
        expect(verdict(source, { headers, body: Buffer.from(payload) }) === undefined).toBe(theirs)
      }),
      { numRuns: 2000 },
    )
    expect(Math.min(verdicts.accepted, verdicts.refused)).toBeGreaterThan(100)
  })
})

describe("the examples of GitHub's webhooks", () => {
  interface Examples {
    name: string
    examples: object[]
  }
  const events: Examples[] = createRequire(import.meta.url)('@octokit/webhooks-examples')
  const payloads = events.flatMap(({ name, examples }) => examples.map((payload) => ({ name, payload })))
  const secret = "It's a Secret to Everybody"
  const source = github({ secret })

  it('are the 329 that were there when this was written, or more', () => {
    expect(payloads.length).toBeGreaterThanOrEqual(329)
  })

  it.each(events)('are verified and identified: $name', ({ name, examples }) => {
    for (const [index, payload] of examples.entries()) {
      const body = Buffer.from(JSON.stringify(payload))
      const signature = createHmac('sha256', secret).update(body).digest('hex')
      const headers = {
        'Content-Type': 'application/json',
        'X-GitHub-Delivery': `guid-${index}`,
        'X-GitHub-Event': name,
        'X-Hub-Signature-256': `sha256=${signature}`,
      }
      const { action } = payload as { action?: string }
      expect(verdict(source, { headers, body })).toBeUndefined()
      expect(identities(source, { headers, body })).toEqual([
        { id: `guid-${index}`, type: action ? `${name}.${action}` : name },
      ])
    }
  })
})
