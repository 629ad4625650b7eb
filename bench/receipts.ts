// What receipts cost: one cycle with a log that is signed, and with one that is not. In memory as CPU time, on disk as time on the
// clock. A turn has one call, so the digests of six events fall to each cycle. Turns that follow each other at once share a signature;
// people pause between them, and then each turn has one of its own.
import { openReceiptKeys } from '../src/data/receipt-keys.ts'
import type { EnginePorts, OpenSessions, Store } from '../src/engine/index.ts'
import { createGate } from '../src/policy/index.ts'
import type { Trial, Variant } from './harness.ts'
import {
  add,
  begin,
  cycle,
  cycleModel,
  join,
  makeEngine,
  memoryStore,
  sqliteStore,
  tempFolder,
} from './parts.ts'

const [unsigned, signed, alone] = [
  'the log is not signed',
  'the log is signed',
  'each turn is signed by itself',
] as const

async function cycles(engine: OpenSessions, count: number, isAlone = false): Promise<void> {
  const session = await begin(engine)
  for (let index = 0; index < count; index += 1) {
    await cycle(session)
    if (isAlone) await session.signer?.sign()
  }
  // The signature of the last turns belongs to what is measured.
  await session.signer?.sign()
  await session.flushed()
}

export async function receiptsCost(): Promise<Trial[]> {
  const keys = openReceiptKeys({ folder: undefined, given: 'a-key-for-trials-which-signs-nothing-else' })
  const variants = (stores: () => Store, count: number): Variant[] =>
    ([[unsigned], [signed, keys]] as [string, EnginePorts['receipts']][]).map(([name, receipts]) => {
      const engine = makeEngine(stores(), cycleModel(), [add], createGate(), receipts)
      return { name, run: () => cycles(engine, count) }
    })
  const signing = makeEngine(memoryStore(), cycleModel(), [add], createGate(), keys)
  const folder = tempFolder()
  const files: Store[] = []
  const openFile = (): Store => {
    const store = sqliteStore({ file: join(folder.path, `${files.length}.db`) })
    files.push(store)
    return store
  }
  return [
    {
      name: 'one cycle in memory (CPU)',
      measure: 'cpu',
      units: 2000,
      rounds: 15,
      warmUps: 20,
      variants: [...variants(memoryStore, 2000), { name: alone, run: () => cycles(signing, 2000, true) }],
      bars: [{ id: 'R1', ours: signed, floor: unsigned, most: 1.25 }],
    },
    {
      name: 'one cycle, synced to disk (wall)',
      measure: 'wall',
      units: 300,
      rounds: 9,
      warmUps: 5,
      variants: variants(openFile, 300),
      bars: [{ id: 'R2', ours: signed, floor: unsigned, most: 1.1 }],
      async close() {
        for (const store of files) await store.close()
        folder.remove()
      },
    },
  ]
}
