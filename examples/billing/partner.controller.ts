import { Controller, Post } from '@nestjs/common'
import { IdempotentWebhook, WebhookContext } from 'nestjs-webhook-idempotency'
import { CreditsService } from './credits.service.js'
import type { PartnerSale } from './partner.source.js'

@Controller('webhooks/partner')
export class PartnerController {
  constructor(private readonly credits: CreditsService) {}

  @Post()
  @IdempotentWebhook({ source: 'partner', each: true }) // verified and identified as partner.source.ts says
  async creditsSold(@WebhookContext() { event }: WebhookContext<unknown, PartnerSale>): Promise<void> {
    await this.credits.add(event.payload.account, event.payload.credits)
  }
}
