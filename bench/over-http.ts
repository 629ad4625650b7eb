// P2 and P3 where the model is behind HTTP, in a process of its own: our engine with everything on and synced to disk,
// against a loop that stores nothing.
import { Agent } from 'node:http'
import type { Entry } from '../src/language/history.ts'
import { anthropic } from '../src/models/providers/vendors.ts'
import { bareConversation } from './bare-vendor.ts'
import type { Trial, Variant } from './harness.ts'
import { add, begin, cycle, join, makeEngine, sqliteStore, syncedCommits, tempFolder } from './parts.ts'
import { type AiSdk, cycleScript, installed, load } from './peers.ts'
import { here, start } from './served.ts'

type Conversation = () => Promise<unknown>

const bareName = 'bare HTTP loop, nothing stored'
const syncedName = 'bare HTTP loop with two synced commits'
const ourName = 'turnwire, SQLite FULL'
const sdkName = 'AI SDK, nothing stored'

async function setUp() {
  const folder = tempFolder()
  const vendor = await start([here('fixtures/vendor.ts')])
  const store = sqliteStore({ file: join(folder.path, 'turnwire.db') })
  const model = anthropic({ model: 'claude-sonnet-4-6', apiKey: 'none', baseUrl: `${vendor.url}/cycle` })
  const agent = new Agent({ keepAlive: true })
  const synced = syncedCommits(join(folder.path, 'bare.db'))
  const begun = (commit?: typeof synced.commit): Conversation =>
    bareConversation(
      { agent, port: vendor.port, path: '/cycle/v1/messages' },
      cycleScript.tools[0]!,
      cycleScript.question,
      delta => void JSON.stringify(delta),
      commit,
    )
  return {
    engine: makeEngine(store, model, [add]),
    url: `${vendor.url}/cycle`,
    bare: (): Conversation => begun(),
    synced: (): Conversation => begun(synced.commit),
    close: async () => {
      agent.destroy()
      synced.close()
      await store.close()
      await vendor.stop()
      folder.remove()
    },
  }
}

const turns = 10

/** P2 over HTTP: conversations of ten cycles, one after the other and 32 at once. */
export async function cyclesOverHttp(): Promise<Trial[]> {
  return Promise.all([cycles(1), cycles(32)])
}

async function cycles(atOnce: number): Promise<Trial> {
  const { engine, url, bare, synced, close } = await setUp()
  const conversations = atOnce === 1 ? 10 : atOnce
  const many = (name: string, begun: () => Promise<Conversation> | Conversation): Variant => ({
    name,
    async run() {
      const one = async (): Promise<void> => {
        const say = await begun()
        for (let turn = 0; turn < turns; turn += 1) await say()
      }
      for (let done = 0; done < conversations; done += atOnce)
        await Promise.all(Array.from({ length: atOnce }, one))
    },
  })
  const variants = [
    many(bareName, bare),
    many(ourName, async () => {
      const session = await begin(engine)
      return () => cycle(session)
    }),
  ]
  // Shown beside it: what the disk alone makes of the bare loop. Sessions that work at once would share commits.
  if (atOnce === 1) variants.push(many(syncedName, synced))
  const bars = [
    { id: 'P2 over HTTP', ours: ourName, floor: bareName, most: atOnce === 1 ? 2.4 : 1.8 },
    ...(installed ? [{ id: 'P2 over HTTP', ours: ourName, floor: sdkName, most: 0.4 }] : []),
  ]
  if (installed) {
    const sdk = await load<AiSdk>('ai-sdk')
    variants.push(many(sdkName, () => sdk.converseOver(url, cycleScript)))
  }
  const name = `one cycle over HTTP, ${atOnce === 1 ? 'one session' : `${atOnce} sessions at once`} (wall)`
  return {
    name,
    measure: 'wall',
    units: conversations * turns,
    rounds: 9,
    warmUps: 20,
    variants,
    bars,
    close,
  }
}

/** P3 over HTTP: a hundred cycles of a session that has had 2,900, against a loop that keeps the encoded bytes. */
export async function longSessionOverHttp(): Promise<Trial> {
  const { engine, bare, close } = await setUp()
  const settings = { tools: null, options: {}, clientTools: [] }
  const seed = Array.from({ length: 2900 }, (_, index) => pastCycle(index)).flat()
  const session = await engine.create({ owner: 'bench', agent: 'bench', wire: 'bench', settings, seed })
  const say = bare()
  for (let past = 0; past < 2900; past += 1) await say()
  const hundred = (name: string, one: Conversation): Variant => ({
    name,
    async run() {
      for (let turn = 0; turn < 100; turn += 1) await one()
    },
  })
  const keeping = 'bare HTTP loop that keeps encoded bytes'
  return {
    name: 'the last hundred of 3,000 cycles over HTTP (wall)',
    measure: 'wall',
    units: 100,
    rounds: 5,
    variants: [hundred(keeping, say), hundred(ourName, () => cycle(session))],
    bars: [{ id: 'P3 over HTTP', ours: ourName, floor: keeping, most: 1.3 }],
    close,
  }
}

function pastCycle(index: number): Entry[] {
  const origin = { protocol: 'anthropic', family: 'claude' }
  const id = `call_${index}`
  const text = (words: string) => [{ type: 'text' as const, text: words }]
  const call = { type: 'call', id, nativeId: id, name: 'add', form: 'json', text: '{"a":2,"b":3}' } as const
  const outcome = { kind: 'ok', parts: text('5'), from: { source: 'tool', tool: 'add' } } as const
  return [
    { role: 'user', parts: text(cycleScript.question) },
    { role: 'assistant', origin, parts: [...text('Let me see.'), call] },
    { role: 'tool', results: [{ callId: id, name: 'add', outcome }] },
    { role: 'assistant', origin, parts: text('The sum is five, as you would expect.') },
  ]
}
