import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.js'

const { contract } = require('../contract/contract.cjs')

contract({
  test,
  before: beforeAll,
  after: afterAll,
  async start(options: Parameters<typeof AppModule.with>[0]) {
    const app = await NestFactory.create(AppModule.with(options), { rawBody: true, logger: false, abortOnError: false })
    await app.listen(0, '127.0.0.1')
    return { url: await app.getUrl(), close: () => app.close() }
  },
})
