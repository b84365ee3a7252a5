import { Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { NestFactory } from '@nestjs/core'
import { WebhookIdempotencyService } from 'nestjs-webhook-idempotency'
import type { ApplicationConfig, Question, Reply, Usage } from './harness/application-process.js'
import { subjects } from './subjects/catalog.js'

const config = JSON.parse(process.argv[2] ?? '') as ApplicationConfig
const { moduleOf } = await subjects[config.subject].load()
const app = await NestFactory.create(moduleOf(config), { logger: ['fatal'] })
await app.listen(0, '127.0.0.1')

const profiler = new Session()

const answers: { [Ask in Question['ask']]: (question: Extract<Question, { ask: Ask }>) => unknown } = {
  usage() {
    const { user, system } = process.cpuUsage()
    const { heapUsed, rss } = process.memoryUsage()
    return { cpu: user + system, heap: heapUsed, rss } satisfies Usage
  },
  collectGarbage() {
    globalThis.gc?.()
  },
  prune({ olderThan }) {
    return app.get(WebhookIdempotencyService).prune({ olderThan: new Date(olderThan) })
  },
  async startProfile() {
    profiler.connect()
    await profiler.post('Profiler.enable')
    await profiler.post('Profiler.setSamplingInterval', { interval: 200 })
    await profiler.post('Profiler.start')
  },
  async stopProfile() {
    const { profile } = await profiler.post('Profiler.stop')
    profiler.disconnect()
    return profile
  },
  async stop() {
    await app.close()
    process.disconnect()
  },
}

process.on('message', (question: Question) => void answer(question))
// A bench that was killed leaves no application behind.
process.on('disconnect', () => setTimeout(() => process.exit(), 5000).unref())
reply({ url: `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}` })

async function answer(question: Question): Promise<void> {
  try {
    const value = await (answers[question.ask] as (question: Question) => unknown)(question)
    if (question.ask !== 'stop') reply({ value })
  } catch (error) {
    reply({ error: String((error as Error).stack) })
  }
}

function reply(message: Reply): void {
  process.send?.(message)
}
