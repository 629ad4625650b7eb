// The PostgreSQL store passes the contract: as it is, and as it is behind a pooler and with no writes put together.
import { storeContract } from '../../../src/testing/contracts/store.ts'
import { postgresUnderTest } from './server.ts'

storeContract('PostgreSQL', () => postgresUnderTest())
storeContract('PostgreSQL, without named statements, one write at a time', () =>
  postgresUnderTest({ prepare: false, connections: 1, group: { maxWrites: 1, maxGroups: 1 } }),
)
