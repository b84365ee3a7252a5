import { after, before, test } from 'node:test'
import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.js'
import type { Library } from './other-copy.controller.js'
import { otherCopyController } from './other-copy.controller.js'

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
    const { github } = await import('nestjs-webhook-idempotency/sources')
    // The classes of the two builds have private members, which TypeScript never takes for the same.
    const library: unknown = await import('nestjs-webhook-idempotency')
    return {
      controllers: [otherCopyController(library as Library)],
      otherSource: github({ secret }),
    }
  },
})
