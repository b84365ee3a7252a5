import { Body, Controller, Post } from '@nestjs/common'
import { IdempotentWebhook } from 'nestjs-webhook-idempotency'
import { CreditsService } from './credits.service.js'
import type { PartnerSale } from './partner.source.js'

@Controller('webhooks/partner')
export class PartnerController {
  constructor(private readonly credits: CreditsService) {}

  @Post()
  @IdempotentWebhook('partner') // verified and identified as partner.source.ts says
  async creditsSold(@Body() { account, credits }: PartnerSale): Promise<void> {
    await this.credits.add(account, credits)
  }
}
