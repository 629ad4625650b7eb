// Nodes that share a memory pass the contract of stores that nodes share, and each of them that of stores.
import { sharedMemory } from '../../src/stores/memory.ts'
import { nodeStoreContract } from '../../src/testing/contracts/node-store.ts'
import { storeContract } from '../../src/testing/contracts/store.ts'

nodeStoreContract('memory', async () => {
  let now = 0
  const memory = sharedMemory(() => now)
  return {
    open: async () => memory.open(),
    pass: async ms => {
      now += ms
    },
    cleanup: async () => {},
  }
})

storeContract('memory of a node', async () => {
  const store = sharedMemory().open()
  await store.join({ id: 'node', version: '1' }, 600_000)
  return { store, cleanup: async () => {} }
})

storeContract('memory that no node has joined', async () => ({
  store: sharedMemory().open(),
  cleanup: async () => {},
}))
