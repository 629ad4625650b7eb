// The SQLite store passes the contract, with and without group commit.
import { storeContract } from '../../src/testing/contracts/store.ts'
import { sqliteUnderTest } from './folder.ts'

storeContract('SQLite', () => sqliteUnderTest())
storeContract('SQLite, one write per transaction', () => sqliteUnderTest({ group: { maxWrites: 1 } }))
