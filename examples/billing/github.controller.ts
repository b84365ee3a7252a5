import { Controller, Param, Post } from '@nestjs/common'
import { IdempotentWebhook } from 'nestjs-webhook-idempotency'
import { CreditsService } from './credits.service.js'

/** How many credits a star is worth. */
const CREDITS_FOR_A_STAR = 100

/** Thanks an account for the stars of its repository, whose webhook names the account in its URL. */
@Controller('webhooks/github')
export class GithubController {
  constructor(private readonly credits: CreditsService) {}

  @Post(':account')
  @IdempotentWebhook('github') // verified and identified by the library
  async starred(@Param('account') account: string): Promise<void> {
    await this.credits.add(account, CREDITS_FOR_A_STAR)
  }
}
