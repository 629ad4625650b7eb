// Writes many sessions straight into a database file, through the port of the store, for tests of long lists: a server that is
// started on the file reads what it would have written itself.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Store } from '../../src/engine/ports/index.ts'
import type { Event, Settings } from '../../src/language/events.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'

const at = 1_790_000_000_000
const settings: Settings = { tools: null, options: {}, clientTools: [] }
const overloaded = { code: 'model_failed', message: 'The vendor answered 529: overloaded.' } as const
const agents = ['helper', 'attacker', 'sleeper'] as const
/** Sessions that are written at a time: they share commits. */
const together = 1000

export const seededId = (index: number): string => `sess_seeded${String(index).padStart(7, '0')}`
export const seededOpening = (index: number): string => `What is the weather in city number ${index}?`

/** `sessions` of one turn each, of three agents, every hundredth failed, a second apart from `at` on; then one for each member of `calls`, by its id. */
export type Seed = { sessions: number; calls?: Readonly<Record<string, number>>; at?: number }

/** Into a data folder that no server has used yet. */
export async function seed(data: string, { sessions, calls = {}, at: first = at }: Seed): Promise<void> {
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const store = sqliteStore({ file: join(data, 'sessions.db') })
  for (let from = 0; from < sessions; from += together) {
    const to = Math.min(sessions, from + together)
    await Promise.all(Array.from({ length: to - from }, (_, index) => seedOne(store, from + index, first)))
  }
  for (const [id, count] of Object.entries(calls)) await seedCalls(store, id, count)
  await store.close()
}

async function seedOne(store: Store, index: number, first: number): Promise<void> {
  const id = seededId(index)
  const opening = seededOpening(index)
  const agent = agents[index % agents.length]!
  const failed = index % 100 === 99
  const when = (ms: number): { v: 1; at: number } => ({ v: 1, at: first + index * 1000 + ms })
  const epoch = await created(store, { id, agent, at: first + index * 1000, opening })
  const usage = { input: 700 + (index % 100), output: 100 }
  const events: Event[] = [
    { ...when(1), type: 'turn.started', turn: 't', parts: [{ type: 'text', text: opening }], wire: 'aap' },
    {
      ...when(900),
      type: 'model.answered',
      model: 'rehearsal',
      stop: 'end',
      usage,
      parts: [{ type: 'text', text: `It is 18 °C in city number ${index}.` }],
    },
    {
      ...when(901),
      type: 'turn.ended',
      turn: 't',
      ...(failed ? { stop: 'error', error: overloaded } : { stop: 'end' }),
    },
  ]
  const facts = { tokens: usage.input + usage.output, ...(failed && { stop: 'error' as const }) }
  await store.append({ session: id, epoch, seq: 2, events, status: 'idle', facts })
}

type Born = { id: string; agent: string; at: number; opening: string }

async function created(store: Store, { id, agent, at: createdAt, opening }: Born): Promise<number> {
  const made = await store.create({
    row: { id, owner: 'local', agent, status: 'idle', createdAt },
    events: [
      {
        v: 1,
        at: createdAt,
        type: 'session.created',
        owner: 'local',
        agent,
        wire: 'aap',
        settings,
        seed: [],
      },
    ],
    summary: { settings, wire: 'aap', agent, opening },
  })
  if ('existing' in made) throw new Error(`There is a session ${id}.`)
  return made.epoch
}

/** One session with this many calls, in steps of ten parallel ones. */
async function seedCalls(store: Store, id: string, calls: number): Promise<void> {
  const opening = 'Read everything'
  const epoch = await created(store, { id, agent: 'helper', at: at + 1e9, opening })
  let seq = 2
  const when = (): { v: 1; at: number } => ({ v: 1, at: at + 1e9 + seq * 10 })
  const append = async (events: Event[]): Promise<void> => {
    const facts = { tokens: 110 }
    await store.append({ session: id, epoch, seq, events, status: 'idle', facts })
    seq += events.length
  }
  await append([
    { ...when(), type: 'turn.started', turn: 't', parts: [{ type: 'text', text: opening }], wire: 'aap' },
  ])
  for (let step = 0; step < calls / 10; step += 1) await append(stepOf(step, when))
  await append([{ ...when(), type: 'turn.ended', turn: 't', stop: 'end' }])
}

function stepOf(step: number, when: () => { v: 1; at: number }): Event[] {
  const ids = Array.from({ length: 10 }, (_, index) => `call_${step}_${index}`)
  return [
    {
      ...when(),
      type: 'model.answered',
      model: 'rehearsal',
      stop: 'calls',
      usage: { input: 100, output: 10 },
      parts: [
        { type: 'text', text: `Step ${step}: ten files.` },
        ...ids.map(id => ({
          type: 'call' as const,
          id,
          name: 'read_file',
          form: 'json' as const,
          text: JSON.stringify({ path: `src/${id}.ts` }),
        })),
      ],
    },
    ...ids.map(
      (callId): Event => ({
        ...when(),
        type: 'call.started',
        callId,
        attempt: 1,
        allowed: { toolHash: 'h', rule: 'r' },
      }),
    ),
    ...ids.map(
      (callId, index): Event => ({
        v: 1,
        at: when().at + 5 + index * 10,
        type: 'call.settled',
        callId,
        outcome: {
          kind: 'ok',
          parts: [{ type: 'text', text: `export const ${callId} = 1` }],
          from: { source: 'tool', tool: 'read_file' },
          ms: 10,
        },
      }),
    ),
  ]
}
