import type { ClaimModel, ClaimStrategy } from './claim.strategy.js'
import { insertOrNothing, insertOrUniqueViolation } from './claim.strategy.js'
import { ConfigurationError } from './errors.js'
import type { PrismaClientLike } from './prisma-client-like.js'
import type { Provider } from './webhook-idempotency-options.js'

/** In what the supported databases differ. */
export interface DatabaseTraits {
  claim: (model: ClaimModel) => ClaimStrategy
  /** Whether it understands the statements of the option `claim: 'sql'`. */
  sqlClaim: boolean
  /** Whether looking for a claim spares much: so where a claim is a `createMany`, whose plan Prisma makes anew each time. */
  worthLooking: boolean
  /** Text columns of MySQL compare by a collation, which takes different IDs for equal; its bytes do not. */
  encodeKey: ClaimModel['encodeKey']
  /** Whether a write conflict ends the whole transaction on the server, so that later statements would commit alone. */
  conflictEndsTransaction: boolean
  /** What asks for the clock that stamps the claims; none where that is the application's. */
  clock?: string
}

const asText = (text: string) => text
const asBytes = (text: string) => new TextEncoder().encode(text)
const clock = 'SELECT CURRENT_TIMESTAMP AS now'

const postgres: DatabaseTraits = {
  claim: insertOrNothing,
  sqlClaim: true,
  worthLooking: true,
  encodeKey: asText,
  conflictEndsTransaction: false,
  clock,
}

const TRAITS: Record<Provider, DatabaseTraits> = {
  postgresql: postgres,
  cockroachdb: postgres,
  mysql: {
    claim: insertOrUniqueViolation,
    sqlClaim: false,
    worthLooking: false,
    encodeKey: asBytes,
    conflictEndsTransaction: true,
    clock,
  },
  sqlite: {
    claim: insertOrUniqueViolation,
    sqlClaim: false,
    worthLooking: false,
    encodeKey: asText,
    conflictEndsTransaction: false,
  },
}

/**
 * @param told - the option `provider`
 * @throws {ConfigurationError} for databases that cannot keep the promises
 */
export function traitsOf(client: PrismaClientLike, told?: Provider): DatabaseTraits {
  const provider = told ?? (client as { _activeProvider?: string })._activeProvider
  if (provider && Object.hasOwn(TRAITS, provider)) return TRAITS[provider as Provider]
  const found = provider ? `The database is ${provider}` : 'The Prisma client does not say which database it uses'
  throw new ConfigurationError(
    `${found}; supported are ${Object.keys(TRAITS).join(', ')}. ` +
      `Use one of them, or name it with the option provider when the client does not.`,
  )
}
