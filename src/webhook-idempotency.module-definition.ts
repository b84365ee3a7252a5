import { ConfigurableModuleBuilder } from '@nestjs/common'
import type { WebhookIdempotencyOptions } from './webhook-idempotency-options.js'

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: GIVEN_OPTIONS } =
  new ConfigurableModuleBuilder<WebhookIdempotencyOptions>()
    .setClassMethodName('forRoot')
    .setExtras({ isGlobal: true }, (definition, { isGlobal }) => ({ ...definition, global: isGlobal }))
    .build()
