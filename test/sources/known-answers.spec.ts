import { describe, expect, it } from '@jest/globals'
import { InvalidSignatureError } from '../../src/errors.js'
import { paddle, sendgrid, square } from '../../src/sources/index.js'
import type { HttpDelivery } from './deliveries.js'
import { verdict } from './deliveries.js'
import type { Vector } from './vectors.js'
import { vectors } from './vectors.js'

const vectorOf = (name: string): Vector => vectors.find((vector) => vector.name === name)!
const withBody = ({ headers }: HttpDelivery, body: string): HttpDelivery => ({ headers, body: Buffer.from(body) })
const refusal = expect.any(InvalidSignatureError)

describe('signatures that senders have published', () => {
  it.each(vectors)('accepts $name ($publishedIn)', ({ source, delivery }) => {
    expect(verdict(source, delivery)).toBeUndefined()
  })

  it.each(vectors)('refuses $name when one byte of what was signed differs', ({ source, delivery }) => {
    const text = delivery.body.toString()
    const changed = text.includes('REPORT_AVAILABLE') ? text.replace('1000', '1001') : `${text} `
    expect(verdict(source, withBody(delivery, changed))).toEqual(refusal)
  })

  it('refuses the body of SendGrid without its line break', () => {
    const { source, delivery } = vectorOf('sendgrid')
    expect(verdict(source, withBody(delivery, delivery.body.toString().trimEnd()))).toEqual(refusal)
  })

  it('takes the key of SendGrid as PEM too', () => {
    const { delivery } = vectorOf('sendgrid')
    const secret =
      '-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==\n-----END PUBLIC KEY-----\n'
    expect(verdict(sendgrid({ secret }), delivery)).toBeUndefined()
  })

  it.each(['https://webhook.site/other', 'https://webhook.site/webhooks/'])(
    'refuses the delivery of Square for the URL %s',
    (url) => {
      expect(verdict(square({ secret: 'signature-key', url }), vectorOf('square-plain').delivery)).toEqual(refusal)
    },
  )

  it('refuses the body of Square parsed and printed again', () => {
    const { source, delivery } = vectorOf('square-plain')
    const printed = JSON.stringify(JSON.parse(delivery.body.toString()), null, 2)
    expect(verdict(source, withBody(delivery, printed))).toEqual(refusal)
  })

  it('refuses the body of GitHub parsed and printed again, as its escapes differ', () => {
    const { source, delivery } = vectorOf('github-octokit-71')
    const printed = JSON.stringify(JSON.parse(delivery.body.toString()))
    expect(verdict(source, withBody(delivery, printed))).toEqual(refusal)
  })

  it.each([
    ['with another timestamp', 'ts=9876', 1698796800_000],
    ['6 seconds later', 'ts=1698796800', 1698796806_000],
    ['with spaces in the header', ' ts = 1698796800', 1698796800_000],
  ])('refuses the delivery of Paddle %s', (_, ts, now) => {
    const { delivery } = vectorOf('paddle')
    const header = delivery.headers['Paddle-Signature']!.replace('ts=1698796800', ts)
    const source = paddle({ secret: 'VALID_SECRET', clock: () => now })
    expect(verdict(source, { ...delivery, headers: { ...delivery.headers, 'Paddle-Signature': header } })).toEqual(
      refusal,
    )
  })

  it('finds the right signature of Standard Webhooks behind those of other versions', () => {
    const { source, delivery } = vectorOf('standard-webhooks v1')
    const right = delivery.headers['webhook-signature']!
    const header = `v2,${right.slice(3)} v1,${'A'.repeat(43)}= v1a,AAAA ${right}`
    const headers = { ...delivery.headers, 'webhook-signature': header }
    expect(verdict(source, { ...delivery, headers })).toBeUndefined()
    headers['webhook-signature'] = header.replace(right, `v2,${right.slice(3)}`)
    expect(verdict(source, { ...delivery, headers })).toEqual(refusal)
  })
})
