import { ConfigurationError } from './errors.js'
import type { PrismaClientLike } from './prisma-client-like.js'
import type { Provider } from './webhook-idempotency-options.js'

/** In what the supported databases differ. */
export interface DatabaseTraits {
  /** Whether a write conflict ends the whole transaction on the server, so that later statements would commit alone. */
  conflictEndsTransaction: boolean
}

const TRAITS: Record<Provider, DatabaseTraits> = {
  postgresql: { conflictEndsTransaction: false },
  cockroachdb: { conflictEndsTransaction: false },
}

/**
 * @param told - the option `provider`
 * @throws {ConfigurationError} for databases that cannot keep the promises
 */
export function traitsOf(client: PrismaClientLike, told?: Provider): DatabaseTraits {
  const provider = told ?? (client as { _activeProvider?: string })._activeProvider
  const traits = TRAITS[provider as Provider]
  if (traits) return traits
  const found = provider ? `The database is ${provider}` : 'The Prisma client does not say which database it uses'
  throw new ConfigurationError(
    `${found}; supported are ${Object.keys(TRAITS).join(' and ')}. ` +
      `Use one of them, or name it with the option provider when the client does not.`,
  )
}
