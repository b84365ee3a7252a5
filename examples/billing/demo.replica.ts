import type { AddressInfo } from 'node:net'
import type { INestApplication } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import type { BillingConfig } from './billing.config.js'
import { BillingModule } from './billing.module.js'
import { CreditsRetryJob } from './credits-retry.job.js'
import { CreditsService } from './credits.service.js'
import { Arrivals, HeldCreditsService } from './demo.hold.js'

/** One instance of the billing application, as there are several of in production. */
export interface Replica {
  url: string
  credits: HeldCreditsService
  retryJob: CreditsRetryJob
  arrivals: Arrivals
  close(): Promise<void>
}

/** Starts the application as it is, but for a credits service that can be held. */
export async function startReplica(config: BillingConfig): Promise<Replica> {
  const testing = await Test.createTestingModule({ imports: [BillingModule.forRoot(config)] })
    .overrideProvider(CreditsService)
    .useClass(HeldCreditsService)
    .compile()
  const app = testing.createNestApplication({ rawBody: true, logger: false })
  const arrivals = new Arrivals()
  app.useGlobalInterceptors(arrivals)
  return {
    url: await listen(app),
    credits: app.get(CreditsService),
    retryJob: app.get(CreditsRetryJob),
    arrivals,
    close: () => app.close(),
  }
}

async function listen(app: INestApplication): Promise<string> {
  try {
    await app.listen(0, '127.0.0.1')
  } catch (error) {
    await app.close()
    throw error
  }
  const { port } = app.getHttpServer().address() as AddressInfo
  return `http://127.0.0.1:${port}`
}
