// What the tests of engines in other processes do with an engine, whichever it is.
import type { Accepted, Engine, SessionRef } from '../../src/engine/index.ts'
import { owner } from '../engine/rig.ts'

export async function begin(engine: Engine): Promise<SessionRef> {
  const settings = { tools: null, options: {}, clientTools: [] }
  const { session } = await engine.create({ owner, agent: 'helper', wire: 'test', settings, seed: [] })
  return { owner, session }
}

export function say(engine: Engine, ref: SessionRef, text: string): Promise<Accepted> {
  return engine.command(ref, { do: 'say', wire: 'test', parts: [{ type: 'text', text }] })
}

export async function collect<Item>(batches: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const items: Item[] = []
  for await (const batch of batches) items.push(...batch)
  return items
}
