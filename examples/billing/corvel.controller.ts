import { Body, Controller, Post, UseGuards } from '@nestjs/common'
import { IdempotentWebhook } from 'nestjs-webhook-idempotency'
import { CorvelSignatureGuard } from './corvel-signature.guard.js'
import type { InvoicePaid } from './corvel.event.js'
import { CreditsService } from './credits.service.js'

@Controller('webhooks/corvel')
@UseGuards(CorvelSignatureGuard)
export class CorvelController {
  constructor(private readonly credits: CreditsService) {}

  @Post()
  @IdempotentWebhook({ source: 'corvel' }) // id = body.id, type = body.type
  async invoicePaid(@Body() { data }: InvoicePaid): Promise<void> {
    await this.credits.add(data.account, data.credits)
  }
}
