import { Injectable, Logger } from '@nestjs/common'
import { WebhookIdempotencyService } from 'nestjs-webhook-idempotency'
import type { InvoicePaid } from './corvel.event.js'
import { CreditsService } from './credits.service.js'

/** How the replay of one event ended; a failed one is for the next run. */
export interface Replay {
  id: string
  outcome: 'processed' | 'duplicate' | 'rejected' | 'failed'
}

/**
 * Replays events that may not have arrived, such as those that Corvel's API lists for the last hours. It need not know which
 * did: the source is that of the controller, so both share the claims.
 */
@Injectable()
export class CreditsRetryJob {
  private readonly logger = new Logger(CreditsRetryJob.name)

  constructor(
    private readonly webhooks: WebhookIdempotencyService,
    private readonly credits: CreditsService,
  ) {}

  async replay(events: readonly InvoicePaid[]): Promise<Replay[]> {
    const replays: Replay[] = []
    for (const event of events) replays.push({ id: event.id, outcome: await this.outcomeOf(event) })
    return replays
  }

  private async outcomeOf({ id, type, data }: InvoicePaid): Promise<Replay['outcome']> {
    try {
      const { outcome } = await this.webhooks.process({ source: 'corvel', id, type }, () =>
        this.credits.add(data.account, data.credits),
      )
      return outcome
    } catch (error) {
      this.logger.error(`the replay of ${id} failed: ${(error as Error).message}`)
      return 'failed'
    }
  }
}
