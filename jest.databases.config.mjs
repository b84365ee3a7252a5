import shared from './jest.config.mjs'

const { globalSetup: _setup, globalTeardown: _teardown, testPathIgnorePatterns: _ignored, ...config } = shared

/** The contract that every supported database keeps; which servers it runs on is told by TEST_DATABASE_URLS. */
export default { ...config, roots: ['<rootDir>/test/databases'] }
