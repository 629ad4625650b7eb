// The same work done by others, each used as its own documentation shows, with a model that plays the same script. They
// are installed by `npm run bench:peers`, never with the package.
import { existsSync } from 'node:fs'
import type { Tool } from '../src/engine/index.ts'
import type { Delta } from '../src/language/events.ts'
import type { JsonObject } from '../src/lib/json/index.ts'
import { scripted } from '../src/models/scripted/index.ts'
import { tool } from '../src/tools/index.ts'
import type { Bar, Trial, Variant } from './harness.ts'
import { begin, cycle, join, makeEngine, memoryStore, sqliteStore, tempFolder, turn } from './parts.ts'

type Answer = { text: string[]; calls: { name: string; pieces: string[] }[] }
export type PeerTool = {
  name: string
  description: string
  schema: JsonObject
  run: (input: JsonObject) => string | Promise<string>
}
export type Script = { tools: PeerTool[]; question: string; first: Answer; then: Answer }
export type Peer = {
  name: string
  /** One conversation; each call of what it gives is one turn. */
  converse(script: Script): () => Promise<number>
}
export type AiSdk = Peer & { converseOver(url: string, script: Script): () => Promise<number> }

const folder = new URL('./peers/', import.meta.url)

export const installed = existsSync(new URL('node_modules/ai/package.json', folder))

/** Loaded by name, since their packages are not there for everyone. */
export async function load<T extends Peer>(file: string): Promise<T> {
  return import(new URL(`${file}.mjs`, folder).href)
}

const loadAll = (): Promise<Peer[]> => Promise.all(['pi', 'ai-sdk', 'openai-agents'].map(file => load(file)))

// ---- scripts -----------------------------------------------------------------------------------------------

const numbers = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
  additionalProperties: false,
}
const anything = { type: 'object', properties: {}, additionalProperties: true }
const add: PeerTool = {
  name: 'add',
  description: 'Adds two numbers.',
  schema: numbers,
  run: ({ a, b }) => String(Number(a) + Number(b)),
}
const wait: PeerTool = {
  name: 'wait',
  description: 'Waits ten milliseconds.',
  schema: anything,
  run: () => new Promise(resolve => setTimeout(() => resolve('done'), 10)),
}
export const take: PeerTool = {
  name: 'take',
  description: 'Takes a text.',
  schema: anything,
  run: () => 'ok',
}

const cut = (text: string, size: number): string[] =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size))

function scriptOf(
  used: PeerTool,
  inputs: unknown[],
  chunk = 1e9,
  answer = 'The sum is five, as you would expect.',
) {
  return {
    tools: [used],
    question: 'What is two and three?',
    first: {
      text: ['Let me add.'],
      calls: inputs.map(input => ({ name: used.name, pieces: cut(JSON.stringify(input), chunk) })),
    },
    then: { text: cut(answer, 8), calls: [] },
  } satisfies Script
}

export const cycleScript: Script = scriptOf(add, [{ a: 2, b: 3 }])

/** The same tool for us. */
export function toolOf({ name, description, schema, run }: PeerTool): Tool {
  return tool({ name, description, input: schema, trust: 'trusted', exposed: false, run })
}

/** The same script for our engine. */
function engineOf(script: Script, store = memoryStore()) {
  const stepOf = ({ text, calls }: Answer) => ({
    text: text.join(''),
    calls: calls.map(({ name, pieces }) => ({ name, text: pieces.join('') })),
    chunk: (calls[0]?.pieces ?? text)[0]?.length ?? 1,
  })
  const [first, then] = [stepOf(script.first), stepOf(script.then)]
  const model = scripted(request => (request.history.at(-1)?.role === 'user' ? first : then))
  return makeEngine(store, model, script.tools.map(toolOf))
}

// ---- trials ------------------------------------------------------------------------------------------------

const us = 'turnwire'

/**
 * P1 against pi: conversations of ten cycles, ours in memory as theirs are, and forgotten when they are over. Both are
 * measured once they are compiled, which takes some ten thousand cycles; then all peers side by side, after a few.
 */
export async function cyclesOfPeers(): Promise<Trial[]> {
  const [conversations, turns] = [100, 10]
  const engine = engineOf(cycleScript)
  const converse = async (say: () => Promise<unknown>) => {
    for (let index = 0; index < turns; index += 1) await say()
  }
  const many = (name: string, conversation: () => Promise<void>): Variant => ({
    name,
    async run() {
      for (let index = 0; index < conversations; index += 1) await conversation()
    },
  })
  const sizeOf = (delta: Delta) => ('text' in delta ? delta.text.length : 0)
  const ours = many(us, async () => {
    const session = await begin(engine)
    await converse(() => turn(session, sizeOf))
    await engine.remove(session.state.owner, session.id)
  })
  const theirs = (await loadAll()).map(peer => many(peer.name, () => converse(peer.converse(cycleScript))))
  const trial = { measure: 'cpu', units: conversations * turns } as const
  return [
    {
      ...trial,
      name: 'one cycle in memory, in conversations of ten (CPU)',
      rounds: 15,
      warmUps: 40,
      variants: [ours, theirs[0]!],
      bars: [{ id: 'P1', ours: us, floor: 'pi', most: 0.35 }],
    },
    { ...trial, name: 'the same, beside all peers (CPU)', rounds: 3, variants: [ours, ...theirs], bars: [] },
  ]
}

/** One turn of a new conversation. */
async function oneTurn(name: string, measure: Trial['measure'], script: Script, bars: Bar[]): Promise<Trial> {
  const engine = engineOf(script)
  const theirs = (await loadAll()).map(peer => ({ name: peer.name, run: () => peer.converse(script)() }))
  return {
    name,
    measure,
    units: 1,
    rounds: 5,
    variants: [{ name: us, run: async () => cycle(await begin(engine)) }, ...theirs],
    bars,
  }
}

/** P4 beside peers: ours on disk, theirs in memory. */
export async function parallelOfPeers(): Promise<Trial> {
  const script = scriptOf(
    wait,
    Array.from({ length: 256 }, (_, index) => ({ index })),
  )
  const place = tempFolder()
  const store = sqliteStore({ file: join(place.path, 'turnwire.db') })
  const engine = engineOf(script, store)
  const trial = await oneTurn('256 parallel calls of 10 ms (wall)', 'wall', script, [])
  const name = `${us}, SQLite FULL`
  return {
    ...trial,
    variants: [{ name, run: async () => cycle(await begin(engine)) }, ...trial.variants.slice(1)],
    async close() {
      await store.close()
      place.remove()
    },
  }
}

/** P5 in process: 10,000 pieces of text; 1 MB of arguments in pieces of five bytes. */
export async function streamsOfPeers(): Promise<Trial[]> {
  const bars = [{ id: 'P5 in process', ours: us, floor: 'AI SDK', most: 0.2 }]
  const text = scriptOf(take, [{}], 1e9, 'so it go'.repeat(10_000))
  const long = scriptOf(take, [{ text: 'x'.repeat(1_000_000) }], 5)
  return [
    await oneTurn('10,000 pieces of text (CPU)', 'cpu', text, bars),
    await oneTurn('1 MB of arguments in pieces of five bytes (CPU)', 'cpu', long, bars),
  ]
}
