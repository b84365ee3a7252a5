import { parseIntoClientConfig } from 'pg-connection-string'

/**
 * @param {string} url
 * @returns {import('pg').ClientConfig}
 */
export function parsePostgresUrl(url) {
  const [protocol] = url.split(':', 1)
  if (protocol !== 'postgres' && protocol !== 'postgresql')
    throw new Error(
      `DATABASE_URL starts with "${protocol}:", but the schema engine works with PostgreSQL only. Set it to a postgresql: URL.`,
    )
  const { schema = 'public', ...config } = /** @type {import('pg').ClientConfig & { schema?: string }} */ (
    parseIntoClientConfig(url)
  )
  if (schema !== 'public')
    throw new Error(
      `DATABASE_URL asks for the schema "${schema}", but the schema engine would migrate "public". Leave the parameter out.`,
    )
  return config
}
