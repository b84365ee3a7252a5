import { parseIntoClientConfig } from 'pg-connection-string'

/**
 * @param {string} url
 * @returns {import('pg').ClientConfig}
 */
export function parsePostgresUrl(url) {
  if (!/^postgres(ql)?:/.test(url)) throw new Error(refusal(url))
  return parseIntoClientConfig(url)
}

/** @param {string} url */
function refusal(url) {
  const found = url ? `a ${url.split(':', 1)[0]}: URL` : 'no URL'
  return `The schema engine was given ${found} as datasource.url of prisma.config.ts, and works with PostgreSQL only. Set DATABASE_URL to a postgresql: URL.`
}
