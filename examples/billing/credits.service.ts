import { Injectable } from '@nestjs/common'
import type { WebhookContext } from 'nestjs-webhook-idempotency'
import { PermanentWebhookError, WebhookIdempotencyService } from 'nestjs-webhook-idempotency'
import type { Prisma } from '../../prisma/generated/client.js'

@Injectable()
export class CreditsService {
  constructor(private readonly webhooks: WebhookIdempotencyService) {}

  /**
   * Adds credits to an account, for the event that is being handled, whoever delivered it.
   *
   * @throws {PermanentWebhookError} when there is no such account: no further delivery would change that
   */
  async add(accountId: string, amount: number): Promise<void> {
    const { tx, source, event } = this.currentEvent()
    const { count } = await tx.account.updateMany({
      where: { id: accountId },
      data: { credits: { increment: amount } },
    })
    if (count === 0) throw new PermanentWebhookError(`there is no account ${accountId}`)
    await tx.credit.create({ data: { accountId, source, eventId: event.id, amount } })
  }

  private currentEvent(): WebhookContext<Prisma.TransactionClient> {
    const { context } = this.webhooks
    if (context) return context
    throw new Error('Credits are added for events only: call this from a handler of @IdempotentWebhook() or process().')
  }
}
