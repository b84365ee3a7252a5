import { Body, Controller, Headers, HttpCode, Post } from '@nestjs/common'
import { IdempotentWebhook, WebhookIdempotencyService, WebhookTransaction } from 'nestjs-webhook-idempotency'
import type { Prisma } from '../../prisma/generated/client.js'
import type { Transfer } from './transfer.js'
import { applyTransfer, BEHAVIOUR_HEADER, SOURCE } from './transfer.js'

/** The way that is under test. */
@Controller()
export class Handlers {
  constructor(private readonly webhooks: WebhookIdempotencyService) {}

  @Post('events')
  @IdempotentWebhook({ source: SOURCE })
  async receive(
    @Body() event: Transfer,
    @Headers(BEHAVIOUR_HEADER) behaviour: string,
    @WebhookTransaction() tx: Prisma.TransactionClient,
  ): Promise<void> {
    await applyTransfer(tx, event, JSON.parse(behaviour))
  }

  /** As a retry job would: several events at once, some of which are known already. */
  @Post('replays')
  @HttpCode(200)
  async replay(@Body() transfers: Transfer[], @Headers(BEHAVIOUR_HEADER) behaviour: string): Promise<void> {
    const events = transfers.map(({ id, type }) => ({ source: SOURCE, id, type }))
    await this.webhooks.processBatch(events, async (tx: Prisma.TransactionClient, context) => {
      for (const { id } of context.events) {
        await applyTransfer(
          tx,
          transfers.find((transfer) => transfer.id === id)!,
          JSON.parse(behaviour),
        )
      }
    })
  }
}
