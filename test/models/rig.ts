// Five vendors behind one engine: the real codecs, through the one runner, over sockets, against the strict doubles.
// A session can be copied at any state, so that every vendor can be tried on it without changing it.
import assert from 'node:assert/strict'
import { type Model, OpenSessions, type Session, type Store, type Tool } from '../../src/engine/index.ts'
import type { Ask, Settings } from '../../src/language/events.ts'
import type { Entry } from '../../src/language/history.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { createAgents, createModel, type Protocol, preparedFor, protocols } from '../../src/models/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import {
  type Exchange,
  type RunningDouble,
  type ScriptedCall,
  type ScriptedTurn,
  startDouble,
  type VendorName,
} from '../../src/testing/doubles/index.ts'
import { makeAgent, makeWorld, owner, plainSettings, type RigOptions, until } from '../engine/rig.ts'

export type Vendor = (typeof vendorNames)[number]

export const vendorNames = [
  'anthropic',
  'openai-responses',
  'openai-chat',
  'gemini',
  'gemini-interactions',
] as const satisfies readonly VendorName[]

type Deployed = {
  protocol: Protocol
  base: string
  auth: Record<string, string>
  model: string
  family: string
  body: JsonObject
  hosted: JsonObject[]
}

const bearer = { authorization: 'Bearer key-of-a-test' }
const google = { 'x-goog-api-key': 'key-of-a-test' }

const deployed: Record<Vendor, Deployed> = {
  anthropic: {
    protocol: protocols.anthropicMessages,
    base: '',
    auth: { 'x-api-key': 'key-of-a-test' },
    model: 'claude-sonnet-4-6',
    family: 'claude',
    body: { thinking: { type: 'enabled', budget_tokens: 2000 } },
    hosted: [{ type: 'web_search_20260318', name: 'web_search' }],
  },
  'openai-responses': {
    protocol: protocols.openaiResponses,
    base: '/v1',
    auth: bearer,
    model: 'gpt-5.2',
    family: 'gpt',
    body: {},
    hosted: [{ type: 'web_search' }],
  },
  'openai-chat': {
    protocol: protocols.openaiChat,
    base: '/v1',
    auth: bearer,
    model: 'gpt-5.2',
    family: 'gpt',
    body: {},
    hosted: [],
  },
  gemini: {
    protocol: protocols.geminiGenerate,
    base: '/v1beta',
    auth: google,
    model: 'gemini-3-pro',
    family: 'gemini',
    body: {},
    hosted: [],
  },
  'gemini-interactions': {
    protocol: protocols.geminiInteractions,
    base: '/v1beta',
    auth: google,
    model: 'gemini-3-pro',
    family: 'gemini',
    body: {},
    hosted: [],
  },
}

export type Vendors = {
  doubles: Record<Vendor, RunningDouble>
  models: Record<Vendor, Model>
  /** Log lines of every engine over these vendors. */
  logs: string[]
  close(): Promise<void>
}

/** With `stateful`, the two vendors that can store a conversation do so. */
export async function startVendors(options: { stateful?: boolean } = {}): Promise<Vendors> {
  const agents = createAgents({})
  const doubles = {} as Vendors['doubles'] // Filled below, one for each name.
  const models = {} as Vendors['models']
  for (const name of vendorNames) {
    const { protocol, base, auth, model, family, body, hosted } = deployed[name]
    const double = await startDouble({ vendor: name, script: () => ({ text: 'Very well.' }) })
    doubles[name] = double
    models[name] = createModel({
      protocol,
      provider: { name, url: () => double.url + base, headers: () => auth },
      target: {
        model,
        family,
        maxTokens: 4096,
        body,
        hosted,
        quirks: new Set(),
        stateful: options.stateful ?? false,
      },
      limits: { retries: 1, backoffMs: 1, maxBackoffMs: 1 },
      agents,
    })
  }
  const close = async (): Promise<void> => {
    agents.http.destroy()
    for (const double of Object.values(doubles)) await double.close()
  }
  return { doubles, models, logs: [], close }
}

export type Table = {
  engine: OpenSessions
  store: Store
  vendors: Vendors
  /** The same store under another engine, as after a crash. */
  restart(): Table
}

export function openTable(vendors: Vendors, options: RigOptions = {}): Table {
  const store = options.store ?? memoryStore()
  const agent = makeAgent({
    ...options,
    agent: {
      model: ({ model = 'anthropic' }) => vendors.models[model as Vendor], // Only these names are set here.
      system: 'You are careful.',
      ...options.agent,
    },
  })
  const { logs } = vendors
  const engine = new OpenSessions({
    store,
    world: makeWorld({ timer, ...options.world }),
    vault: { seal: text => text, open: text => text },
    agent: () => agent,
    log: (level, message, fields) => void logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
  })
  return { engine, store, vendors, restart: () => openTable(vendors, { ...options, store }) }
}

/** A crashed session keeps its timers in this process. They must not keep the tests alive. */
function timer(ms: number, run: () => void): () => void {
  const clock = setTimeout(run, Math.min(ms, 0x7fffffff)).unref()
  return () => clearTimeout(clock)
}

export function begin(table: Table, model: Vendor, more: Partial<Settings> = {}, seed: Entry[] = []) {
  const settings: Settings = { ...plainSettings, model, ...more }
  return table.engine.create({ owner, agent: 'helper', wire: 'test', settings, seed })
}

/** A copy of the session as it stands, in a store of its own. */
export async function copyOf(table: Table, session: Session, options: RigOptions = {}): Promise<Session> {
  await session.flushed()
  const events = (await table.store.read(session.id)).map(({ event }) => structuredClone(event))
  const id = `${session.id}_copy${copies++}`
  const { status } = session
  const { agent } = session
  const other = openTable(table.vendors, {
    ...options,
    tools: agent.tools,
    agent: { ...agent, ...options.agent },
  })
  const row = { id, owner, agent: agent.name, status, createdAt: 1 }
  await other.store.create({ row, events })
  return other.engine.open(owner, id)
}
let copies = 0

export function tell(session: Session, text: string, model?: Vendor, ask?: Ask) {
  const settings = { ...(model !== undefined && { settings: { model } }), ...(ask && { ask }) }
  return until(session, () => session.say({ parts: [{ type: 'text', text }], wire: 'test', ...settings }))
}

/** Continues copies of the session with each of the five vendors. None may refuse. */
export async function acceptedByAll(table: Table, session: Session, where: string): Promise<void> {
  for (const name of vendorNames) {
    const copy = await copyOf(table, session)
    const before = table.vendors.doubles[name].exchanges.length
    await tell(copy, 'Go on.', name)
    const { lastStop } = copy.state
    assert.deepEqual(refusals(table.vendors.doubles[name], before), [], `${where}: ${name}`)
    assert.equal(lastStop?.stop, 'end', `${where}: ${name}: ${table.vendors.logs.at(-1)}`)
  }
}

export function refusals(double: RunningDouble, from = 0): string[] {
  return double.exchanges
    .slice(from)
    .flatMap(({ rejections, harness, rawText }) => [
      ...rejections.map(({ rule, message }) => `${rule} ${message} in ${rawText.slice(0, 3000)}`),
      ...(harness === null ? [] : [harness]),
    ])
}

export function lastExchange(vendors: Vendors, name: Vendor): Exchange {
  const exchange = vendors.doubles[name].exchanges.at(-1)
  assert.ok(exchange, `${name} was never asked`)
  return exchange
}

/** Scripts a turn in the vendor's terms: tools under the names that the vendor was sent, text tools in its own form. */
export function say(vendors: Vendors, session: Session, name: Vendor, turn: ScriptedTurn): void {
  const prepared = preparedFor(vendors.models[name], {
    session: 's',
    history: [],
    tools: session.offer.declarations,
    choice: 'auto',
    parallel: true,
    options: {},
  })
  // Every protocol reads its answers with a map of names.
  const { names } = (prepared?.reading ?? { names: new Map() }) as { names: ReadonlyMap<string, string> }
  const wire = new Map([...names].map(([theirs, ours]) => [ours, theirs]))
  const native = name === 'openai-responses' || name === 'openai-chat'
  const calls = turn.calls?.map((call): ScriptedCall => {
    const isText = session.offer.byName.get(call.name)?.tool.input.form === 'text'
    const as = { ...call, name: wire.get(call.name) ?? call.name }
    if (!isText || call.text === undefined) return as
    if (native) return { ...as, custom: true }
    const { text, ...rest } = as
    return { ...rest, input: { input: text } }
  })
  vendors.doubles[name].push({ ...turn, ...(calls && { calls }) })
}

/** Every signature and encrypted text that this vendor made in these entries. */
export function artifactsOf(entries: readonly Entry[], name: Vendor): string[] {
  const found: string[] = []
  const visit = (value: unknown, key: string): void => {
    if (typeof value === 'string' && /signature|encrypted|^data$/i.test(key)) found.push(value)
    if (Array.isArray(value)) for (const each of value) visit(each, '')
    else if (typeof value === 'object' && value !== null)
      for (const [inner, each] of Object.entries(value)) visit(each, inner)
  }
  for (const entry of entries) {
    if (entry.role !== 'assistant') continue
    for (const part of entry.parts)
      if (part.native?.origin.protocol === deployed[name].protocol.name) visit(part.native.data, '')
  }
  return found.filter(text => text.length > 8)
}

export type { Session, Tool }
