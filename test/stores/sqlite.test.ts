// The SQLite store passes the contract, with and without group commit, wherever it commits.
import { storeContract } from '../../src/testing/contracts/store.ts'
import { sqliteUnderTest } from './folder.ts'

storeContract('SQLite', () => sqliteUnderTest())
storeContract('SQLite, one write per transaction', () => sqliteUnderTest({ group: { maxWrites: 1 } }))
storeContract('SQLite, commits on the main thread', () => sqliteUnderTest({ commitsIn: 'main' }))
storeContract('SQLite, commits in a thread', () => sqliteUnderTest({ commitsIn: 'thread' }))
