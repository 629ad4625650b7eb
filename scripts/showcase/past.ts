// Writes what the agents of the showcase did in the last two weeks into a data folder, for pictures of lists and charts.
// node scripts/showcase/past.ts <data folder> [sessions]
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Event, Settings } from '../../src/language/events.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'

const [folder = '', wanted = '420'] = process.argv.slice(2)
const settings: Settings = { tools: null, options: {}, clientTools: [] }
const dayMs = 86_400_000
const now = Date.now()

/** The same numbers each time. */
let seed = 7
const random = (): number => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed / 2_147_483_647
}
const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!

const kinds = [
  {
    agent: 'engineer',
    model: 'claude-opus-4-6',
    price: 9,
    tools: ['read_file', 'search_code', 'edit_file', 'run_tests'],
    says: [
      'Why does the invoice of order %n differ from the cart?',
      'Mend the rounding in src/cart.ts, ticket %n',
      'Which tests cover refunds? Ticket %n',
    ],
  },
  {
    agent: 'clerk',
    model: 'gpt-5.2',
    price: 4,
    tools: ['find_order', 'refund', 'send_mail'],
    says: [
      'Order A-%n was billed twice. Mend it.',
      'Send the receipt of order A-%n again',
      'Where is order A-%n?',
    ],
  },
  {
    agent: 'helper',
    model: 'gemini-3-flash',
    price: 1,
    tools: ['weather', 'search_web'],
    says: [
      'Summarise the mails of this morning (%n)',
      'What is the weather in Lisbon on day %n?',
      'Find a train to Ghent for %n people',
    ],
  },
] as const

const owners = ['ana', 'bo', 'chen', 'local']

function timeOf(index: number, all: number): number {
  const back = (1 - index / all) * 14 * dayMs
  const at = now - back
  // Nights and weekends are quiet.
  const hour = new Date(at).getHours()
  const later = at + (7 - hour + random() * 10) * 3_600_000
  return hour < 7 && later < now - 3_600_000 ? later : at
}

type Plan = { at: number; events: Event[]; tokens: number; cost: number; failed: boolean; opening: string }

function plan(kind: (typeof kinds)[number], at: number, number: number): Plan {
  let clock = at
  const next = (ms: number): { v: 1; at: number } => {
    clock += ms
    return { v: 1, at: Math.min(now, Math.round(clock)) }
  }
  const opening = pick(kind.says).replace('%n', String(1000 + number))
  const failed = random() < 0.06
  const events: Event[] = [
    { ...next(1), type: 'turn.started', turn: 't', wire: 'aap', parts: [{ type: 'text', text: opening }] },
  ]
  let [tokens, cost] = [0, 0]
  const answer = (
    parts: Extract<Event, { type: 'model.answered' }>['parts'],
    stop: 'end' | 'calls',
  ): void => {
    const input = Math.round(900 + random() * 5000)
    const output = Math.round(60 + random() * 600)
    const usage = { input, output, cost: ((input + output * 4) * kind.price) / 1e6 }
    tokens += input + output
    cost += usage.cost
    events.push({
      ...next(600 + random() ** 3 * 14_000),
      type: 'model.answered',
      model: kind.model,
      usage,
      stop,
      parts,
    })
  }
  const steps = 1 + Math.floor(random() * 4)
  for (let step = 0; step < steps; step++) {
    const [id, name] = [`c${step}`, pick(kind.tools)]
    answer(
      [{ type: 'call', id, name, form: 'json', text: JSON.stringify({ order: `A-${1000 + number}` }) }],
      'calls',
    )
    events.push({ ...next(2), type: 'call.started', callId: id, attempt: 1 })
    const bad = random() < 0.08
    const text = bad
      ? 'ETIMEDOUT: the warehouse does not answer'
      : `Order A-${1000 + number}: 3 lines, 48.20 EUR`
    events.push({
      ...next(30 + random() ** 2 * 2500),
      type: 'call.settled',
      callId: id,
      outcome: {
        kind: bad ? 'error' : 'ok',
        parts: [{ type: 'text', text }],
        from: { source: 'tool', tool: name },
      },
    })
  }
  if (!failed) answer([{ type: 'text', text: 'It is done.' }], 'end')
  const error = { code: 'model_failed' as const, message: 'The vendor answered 529: overloaded.' }
  events.push({
    ...next(3),
    type: 'turn.ended',
    turn: 't',
    ...(failed ? { stop: 'error' as const, error } : { stop: 'end' as const }),
  })
  return { at, events, tokens, cost, failed, opening }
}

mkdirSync(folder, { recursive: true, mode: 0o700 })
const store = sqliteStore({ file: join(folder, 'sessions.db') })
const sessions = Number(wanted)
for (let index = 0; index < sessions; index++) {
  const kind = random() < 0.45 ? kinds[0] : random() < 0.6 ? kinds[1] : kinds[2]
  const { at, events, tokens, cost, failed, opening } = plan(kind, timeOf(index, sessions), index)
  const id = `sess_past${String(index).padStart(8, '0')}`
  const owner = pick(owners)
  const born: Event = {
    v: 1,
    at,
    type: 'session.created',
    owner,
    agent: kind.agent,
    wire: 'aap',
    settings,
    seed: [],
  }
  await store.create({
    row: { id, owner, agent: kind.agent, status: 'idle', createdAt: Math.round(at) },
    events: [born],
    summary: { settings, wire: 'aap', agent: kind.agent, opening },
  })
  const facts = { tokens, cost, ...(failed && { stop: 'error' as const }) }
  await store.append({ session: id, epoch: 1, seq: 2, events, status: 'idle', facts })
}
await store.close()
