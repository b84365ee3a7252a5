import { describe, expect, it } from '@jest/globals'
import { ConfigurationError } from '../../src/errors.js'
import { adyen, hubspot, sendgrid, square, standardWebhooks, stripe } from '../../src/sources/index.js'
import { received } from './deliveries.js'
import { fixtures, NOW } from './fixtures.js'

describe.each(fixtures)('a secret of $name', ({ create, firstDelivery, keys }) => {
  it.each([
    ['missing', undefined],
    ['null', null],
    ['empty', ''],
    ['blank', ' \n'],
    ['an empty list', []],
    ['a list with an empty one', [keys.current.secret, '']],
    ['a list with a missing one', [undefined, keys.current.secret]],
    ['a number', 5],
  ])('that is %s is refused when the source is made', (_, secret) => {
    expect(() => create({ secret: secret as never })).toThrow(ConfigurationError)
  })

  it.each([
    ['nothing', undefined],
    ['an empty one', ''],
    ['an empty list', []],
  ])('is refused at use when a function gives %s', (_, secret) => {
    const source = create({ secret: () => secret as never, clock: () => NOW })
    expect(() => source.verify!(received(firstDelivery()))).toThrow(ConfigurationError)
  })

  it('is never part of the refusal', () => {
    const secret = 'what nobody may read'
    expect(() => create({ secret: [secret, ''] })).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining(secret) }),
    )
  })
})

describe('what is refused when a source is made', () => {
  it.each([0, -1, NaN])('a tolerance of %d, as it might be meant to switch the check off', (tolerance) => {
    expect(() => stripe({ secret: 'whsec_1', tolerance })).toThrow(/Infinity to take deliveries of any age/)
  })

  it.each(['whsec_', 'whsec_!!!!', 'whsec_QUJD\n', 'not base64', 'whpk_', 'whpk_AAAA', 'whsk_QUJD'])(
    'the secret %j for Standard Webhooks',
    (secret) => {
      expect(() => standardWebhooks({ secret })).toThrow(ConfigurationError)
    },
  )

  it.each(['xyz', 'ABC', 'AB CD', '0xAB'])('the secret %j for Adyen, which is not in hex', (secret) => {
    expect(() => adyen({ secret })).toThrow(/not in hex/)
  })

  it.each(['MFkwEwYH', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'])(
    'the key %j for SendGrid',
    (secret) => {
      expect(() => sendgrid({ secret })).toThrow(/public key of the kind ec/)
    },
  )

  it('the key of another kind for SendGrid', () => {
    const secret = 'MCowBQYDK2VwAyEA1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4='
    expect(() => sendgrid({ secret })).toThrow(/public key of the kind ec/)
  })

  it.each([undefined, '', '/webhooks', 'example.com'])('the URL %j for Square and HubSpot', (url) => {
    expect(() => square({ secret: 'a', url: url as never })).toThrow(/Set the option url/)
    expect(() => hubspot({ secret: 'a', url })).toThrow(/Set the option url/)
    expect(() => hubspot({ secret: 'a', url, version: 'v2' })).toThrow(/Set the option url/)
    expect(() => hubspot({ secret: 'a', url, version: 'v1' })).not.toThrow()
  })
})
