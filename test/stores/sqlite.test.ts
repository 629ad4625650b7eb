// The SQLite store passes the contract, however many writes share a transaction.
import { storeContract } from '../contracts/store.ts'
import { sqliteUnderTest } from './folder.ts'

storeContract('SQLite', () => sqliteUnderTest())
storeContract('SQLite, one write per transaction', () => sqliteUnderTest({ group: { most: 1 } }))
