import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.js'
import { otherCopyController } from './other-copy.controller.js'

const require = createRequire(import.meta.url)
const { contract } = require('../contract/contract.cjs')

contract({
  test,
  before,
  after,
  async start(options: Parameters<typeof AppModule.with>[0]) {
    const app = await NestFactory.create(AppModule.with(options), { rawBody: true, logger: false, abortOnError: false })
    await app.listen(0, '127.0.0.1')
    return { url: await app.getUrl(), close: () => app.close() }
  },
  async otherCopy({ secret }: { secret: string }) {
    const { github } = require('nestjs-webhook-idempotency/sources')
    return {
      controllers: [otherCopyController(require('nestjs-webhook-idempotency'))],
      otherSource: github({ secret }),
    }
  },
})
