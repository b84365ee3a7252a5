/** @import { Rule } from '@angular-devkit/schematics' */
const { addModel } = require('./prisma-schema.cjs')
const { addModule } = require('./root-module.cjs')

const NEXT_STEPS = `
Next:
  npx prisma migrate dev --name processed_events
  npx prisma generate
Then decorate the methods that receive webhooks with @IdempotentWebhook({ source: 'the name of the sender' }).`

/**
 * What `nest add nestjs-webhook-idempotency` does after the installation. Running it again changes nothing.
 * @param {{ sourceRoot?: string, schema?: string }} options
 * @returns {Rule}
 */
exports.nestAdd = ({ sourceRoot = 'src', schema }) => {
  return (tree, { logger }) => {
    logger.info(addModel(tree, schema))
    logger.info(addModule(tree, sourceRoot))
    logger.info(NEXT_STEPS)
    return tree
  }
}
