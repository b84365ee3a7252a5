import type { DynamicModule, Type } from '@nestjs/common'
import { Module } from '@nestjs/common'
import { WebhookIdempotencyModule } from 'nestjs-webhook-idempotency'
import type { WebhookSource } from 'nestjs-webhook-idempotency'
import { github, stripe } from 'nestjs-webhook-idempotency/sources'
import { BatchController } from './batch.controller.js'
import { CorvelController } from './corvel.controller.js'
import { HOLD } from './credits.js'
import type { Hold } from './credits.js'
import { StripeController } from './stripe.controller.js'
import { PrismaService } from './prisma.service.js'

export interface AppOptions {
  hold: Hold
  secret: string
  /** Controllers and a source of another copy of the library. */
  controllers?: Type[]
  otherSource?: WebhookSource
}

@Module({})
export class AppModule {
  static with({ hold, secret, controllers = [], otherSource = github({ secret }) }: AppOptions): DynamicModule {
    return {
      module: AppModule,
      imports: [
        WebhookIdempotencyModule.forRoot({
          prisma: PrismaService,
          sources: { stripe: stripe({ secret }), other: otherSource },
        }),
      ],
      controllers: [CorvelController, StripeController, BatchController, ...controllers],
      providers: [PrismaService, { provide: HOLD, useValue: hold }],
    }
  }
}
