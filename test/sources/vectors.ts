import type { WebhookSource } from '../../src/sources/index.js'
import {
  adyen,
  github,
  gocardless,
  hubspot,
  line,
  paddle,
  razorpay,
  sendgrid,
  slack,
  square,
  standardWebhooks,
  stripe,
} from '../../src/sources/index.js'
import type { HttpDelivery } from './deliveries.js'

/** A signature that the sender itself has published, with a secret that protects nothing. */
export interface Vector {
  name: string
  publishedIn: string
  source: WebhookSource
  delivery: HttpDelivery
}

const at = (seconds: number) => () => seconds * 1000

export const vectors: Vector[] = [
  {
    name: 'github-docs',
    publishedIn: 'docs.github.com, "Validating webhook deliveries"',
    source: github({ secret: "It's a Secret to Everybody" }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'X-Hub-Signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
      },
      body: Buffer.from('Hello, World!'),
    },
  },
  {
    name: 'github-octokit',
    publishedIn: 'octokit/webhooks-methods.js da0cc1c, test/sign.test.ts',
    source: github({ secret: 'mysecret' }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'X-Hub-Signature-256': 'sha256=4864d2759938a15468b5df9ade20bf161da9b4f737ea61794142f3484236bda3',
      },
      body: Buffer.from('{"foo":"bar"}'),
    },
  },
  {
    name: 'github-octokit-71',
    publishedIn:
      'octokit/webhooks-methods.js da0cc1c, test/verify.test.ts; the upper-case escapes do not survive parse and stringify',
    source: github({ secret: 'development' }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'X-Hub-Signature-256': 'sha256=afecc3caa27548bb90d51a50384cb2868b9a3327b4ad6a01c9bd4ed0f8b0b12c',
      },
      body: Buffer.from('{"foo":"Foo\\n\\u001B[34mbar: ♥♥♥♥♥♥♥♥\\nthis-is-lost\\u001B[0m\\u001B[2K"}'),
    },
  },
  {
    name: 'standard-webhooks v1',
    publishedIn: 'standard-webhooks/standard-webhooks b2fa7b8, libraries/javascript/src/webhook.test.ts',
    source: standardWebhooks({ secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', clock: at(1614265330) }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      },
      body: Buffer.from('{"test": 2432232314}'),
    },
  },
  {
    name: 'standard-webhooks v1a',
    publishedIn: 'svix/svix-webhooks 4fc0cfb, server/svix-server/src/worker.rs',
    source: standardWebhooks({ secret: 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=', clock: at(1614265330) }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature':
          'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==',
      },
      body: Buffer.from('{"test": 2432232314}'),
    },
  },
  {
    name: 'slack',
    publishedIn: 'slackapi/python-slack-sdk ae87985, tests/slack_sdk/signature/test_signature_verifier.py',
    source: slack({ secret: '8f742231b10e8888abcd99yyyzzz85a5', clock: at(1531420618) }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'X-Slack-Signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
        'X-Slack-Request-Timestamp': '1531420618',
      },
      body: Buffer.from(
        'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
      ),
    },
  },
  {
    name: 'paddle',
    publishedIn: 'PaddleHQ/paddle-node-sdk b8ee4b1, src/__tests__/notifications/webhooks-validator.node.test.ts',
    source: paddle({ secret: 'VALID_SECRET', clock: at(1698796800) }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'Paddle-Signature': 'ts=1698796800;h1=a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9',
      },
      body: Buffer.from('{"data": ["1", "2"]}'),
    },
  },
  {
    name: 'square',
    publishedIn: 'square-legacy, test/utilities/webhooksHelper.test.ts',
    source: square({
      secret: 'Ibxx_5AKakO-3qeNVR61Dw',
      url: 'https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9',
    }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'x-square-hmacsha256-signature': 'GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=',
      },
      body: Buffer.from(
        '{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}',
      ),
    },
  },
  {
    name: 'square-plain',
    publishedIn: 'square-legacy, test/utilities/webhooksHelper.test.ts',
    source: square({ secret: 'signature-key', url: 'https://webhook.site/webhooks' }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'x-square-hmacsha256-signature': 'W3FlCNk5IA3ZQ2LHTWoajvzfaDu/OwY2tNHIHC3IUOA=',
      },
      body: Buffer.from('{"data":{"type":"webhooks","id":"fake_id"}}'),
    },
  },
  {
    name: 'hubspot v1',
    publishedIn: '@hubspot/api-client 13.5.0, lib/test/unit/signature.spec.js',
    source: hubspot({ secret: 'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy', version: 'v1' }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'X-HubSpot-Signature': '232db2615f3d666fe21a8ec971ac7b5402d33b9a925784df3ca654d05f4817de',
        'X-HubSpot-Signature-Version': 'v1',
      },
      body: Buffer.from(
        '[{"eventId":1,"subscriptionId":12345,"portalId":62515,"occurredAt":1564113600000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123,"changeSource":"CRM","changeFlag":"NEW","appId":54321}]',
      ),
    },
  },
  {
    name: 'hubspot v2',
    publishedIn: '@hubspot/api-client 13.5.0, lib/test/unit/signature.spec.js',
    source: hubspot({
      secret: 'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy',
      version: 'v2',
      url: 'https://www.example.com/webhook_uri',
    }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'X-HubSpot-Signature': '9569219f8ba981ffa6f6f16aa0f48637d35d728c7e4d93d0d52efaa512af7900',
        'X-HubSpot-Signature-Version': 'v2',
      },
      body: Buffer.from('{"example_field":"example_value"}'),
    },
  },
  {
    name: 'gocardless',
    publishedIn: 'gocardless/gocardless-nodejs d15252a, src/webhooks.test.ts',
    source: gocardless({ secret: 'ED7D658C-D8EB-4941-948B-3973214F2D49' }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'Webhook-Signature': '2693754819d3e32d7e8fcb13c729631f316c6de8dc1cf634d6527f1c07276e7e',
      },
      body: Buffer.from(
        '{"events":[{"id":"EV00BD05S5VM2T","created_at":"2018-07-05T09:13:51.404Z","resource_type":"subscriptions","action":"created","links":{"subscription":"SB0003JJQ2MR06"},"details":{"origin":"api","cause":"subscription_created","description":"Subscription created via the API."},"metadata":{}},{"id":"EV00BD05TB8K63","created_at":"2018-07-05T09:13:56.893Z","resource_type":"mandates","action":"created","links":{"mandate":"MD000AMA19XGEC"},"details":{"origin":"api","cause":"mandate_created","description":"Mandate created via the API."},"metadata":{}}]}',
      ),
    },
  },
  {
    name: 'razorpay',
    publishedIn: 'razorpay/razorpay-node 9737ef1, test/utils/razorpay-utils.spec.js',
    source: razorpay({ secret: '123456' }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'X-Razorpay-Signature': '2fe04e22977002e6c7cb553adab8b460cb9e2a4970d5953cb27a8472752e3bbc',
      },
      body: Buffer.from('{"a":1,"b":2,"c":{"d":3}}'),
    },
  },
  {
    name: 'line',
    publishedIn: 'line/line-bot-sdk-nodejs 3c0a10c, test/validate-signature.spec.ts',
    source: line({ secret: 'test_secret' }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'x-line-signature': 't7Hn4ZDHqs6e+wdvI5TyQIvzie0DmMUmuXEBqyyE/tM=',
      },
      body: Buffer.from('{"hello":"world"}'),
    },
  },
  {
    name: 'adyen',
    publishedIn: 'Adyen/adyen-node-api-library 3b84a18, src/__tests__/hmacValidator.spec.ts',
    source: adyen({ secret: 'DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00' }),
    delivery: {
      headers: { 'Content-Type': 'application/json' },
      body: Buffer.from(
        '{"live": "false", "notificationItems": [{"NotificationRequestItem": {"pspReference": "pspReference", "originalReference": "originalReference", "merchantAccountCode": "merchantAccount", "merchantReference": "reference", "amount": {"value": 1000, "currency": "EUR"}, "eventCode": "REPORT_AVAILABLE", "success": "true", "additionalData": {"hmacSignature": "ZNBPtI+oDyyRrLyD1XirkKnQgIAlFc07Vj27TeHsDRE="}}}]}',
      ),
    },
  },
  {
    name: 'sendgrid',
    publishedIn:
      'sendgrid/sendgrid-nodejs 498e232, packages/eventwebhook/src/eventwebhook.spec.js; the body ends with CRLF',
    source: sendgrid({
      secret:
        'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==',
    }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'X-Twilio-Email-Event-Webhook-Signature':
          'MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=',
        'X-Twilio-Email-Event-Webhook-Timestamp': '1600112502',
      },
      body: Buffer.from(
        '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n',
      ),
    },
  },
  {
    name: 'stripe',
    publishedIn: 'made with generateTestHeaderString of stripe 23.1.0, as Stripe publishes none',
    source: stripe({ secret: 'whsec_test_secret', clock: at(1700000000) }),
    delivery: {
      headers: {
        'Content-Type': 'application/json',
        'Stripe-Signature': 't=1700000000,v1=4f1cd7feda9826e746b7d482c4badebb657398df1099e1046364f6196a230150',
      },
      body: Buffer.from('{\n  "id": "evt_test_webhook",\n  "object": "event"\n}'),
    },
  },
]
