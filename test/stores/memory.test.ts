// The memory store passes the contract.
import { memoryStore } from '../../src/stores/memory.ts'
import { storeContract } from '../../src/testing/contracts/store.ts'

storeContract('memory', async () => ({ store: memoryStore(), cleanup: async () => {} }))
