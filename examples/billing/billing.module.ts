import type { DynamicModule } from '@nestjs/common'
import { Module } from '@nestjs/common'
import { WebhookIdempotencyModule } from 'nestjs-webhook-idempotency'
import { github, stripe } from 'nestjs-webhook-idempotency/sources'
import { AccountsController } from './accounts.controller.js'
import type { BillingConfig } from './billing.config.js'
import { BILLING_CONFIG } from './billing.config.js'
import { CorvelController } from './corvel.controller.js'
import { CreditsRetryJob } from './credits-retry.job.js'
import { CreditsService } from './credits.service.js'
import { GithubController } from './github.controller.js'
import { PartnerController } from './partner.controller.js'
import { partnerSource } from './partner.source.js'
import { PrismaService } from './prisma.service.js'
import { StripeController } from './stripe.controller.js'

@Module({})
export class BillingModule {
  static forRoot(config: BillingConfig): DynamicModule {
    return {
      module: BillingModule,
      imports: [
        WebhookIdempotencyModule.forRoot({
          prisma: PrismaService,
          sources: {
            partner: partnerSource(config.partnerSecret),
            stripe: stripe({ secret: config.stripeSecret }),
            github: github({ secret: config.githubSecret }),
          },
          retention: { days: 30 },
        }),
      ],
      controllers: [AccountsController, CorvelController, PartnerController, StripeController, GithubController],
      providers: [{ provide: BILLING_CONFIG, useValue: config }, PrismaService, CreditsService, CreditsRetryJob],
    }
  }
}
