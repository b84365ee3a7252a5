import { Body, Controller, Post } from '@nestjs/common'
import { IdempotentWebhook } from 'nestjs-webhook-idempotency'
import { CreditsService } from './credits.service.js'

/** What is read of Stripe's `checkout.session.completed`. */
interface CheckoutCompleted {
  data: { object: { client_reference_id: string; metadata: { credits: string } } }
}

@Controller('webhooks/stripe')
export class StripeController {
  constructor(private readonly credits: CreditsService) {}

  @Post()
  @IdempotentWebhook('stripe') // verified and identified by the library
  async checkoutCompleted(@Body() { data: { object } }: CheckoutCompleted): Promise<void> {
    await this.credits.add(object.client_reference_id, Number(object.metadata.credits))
  }
}
