// An engine in memory with everything real but the clock and the model, for tests that read given / when / then.

import type { CallSlots } from '../../src/engine/calls/running-calls.ts'
import {
  type Agent,
  type EnginePorts,
  type FeedItem,
  type FollowItem,
  type Hooks,
  LocalEngine,
  ManualControl,
  type Model,
  type Observer,
  type OpenSessions,
  type Session,
  type Store,
  type Tool,
  type Vault,
  type World,
} from '../../src/engine/index.ts'
import type { Event, Settings } from '../../src/language/events.ts'
import type { Egress } from '../../src/lib/net/egress.ts'
import { randomIds } from '../../src/lib/text/random.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { createGate, defaultLimits, type GateOptions } from '../../src/policy/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'

export type RigOptions = {
  model?: Model
  script?: Parameters<typeof scripted>[0]
  tools?: readonly Tool[]
  gate?: GateOptions
  agent?: Partial<Agent>
  store?: Store
  world?: Partial<World>
  callSlots?: CallSlots
  hooks?: Hooks
  observer?: Observer
  egress?: Egress
  receipts?: EnginePorts['receipts']
  vault?: Vault
  summon?: EnginePorts['summon']
  snapshotGrowth?: { events: number; bytes: number }
}

export const owner = 'ana'

/** Unless a test gives one, the clock that nobody sets is the time of day. */
export function makeWorld(over: Partial<World> = {}): World {
  const { now = Date.now } = over
  return {
    now,
    elapsed: now,
    id: randomIds(),
    timer(ms, run) {
      const timer = setTimeout(run, Math.min(ms, 0x7fffffff))
      return () => clearTimeout(timer)
    },
    crashPoint() {},
    ...over,
  }
}

export function makeAgent(options: RigOptions): Agent {
  const model = options.model ?? scripted(options.script ?? [])
  return {
    name: 'helper',
    version: '1.0.0',
    tools: options.tools ?? [],
    options: [],
    gate: createGate(options.gate ?? {}),
    limits: defaultLimits,
    choice: 'auto',
    parallel: true,
    clientTools: true,
    fullHistory: true,
    images: { http: true, data: true },
    model: () => model,
    ...options.agent,
  }
}

export type Rig = {
  local: LocalEngine
  engine: OpenSessions
  agent: Agent
  store: Store
  logs: string[]
}

const engines = new Set<OpenSessions>()

/** Ends what tests left running on purpose, so that the process can end. */
export async function stopAll(): Promise<void> {
  await Promise.all([...engines].map(engine => engine.stop(0)))
}

export function makeRig(options: RigOptions = {}): Rig {
  const store = options.store ?? memoryStore()
  const agent = makeAgent(options)
  const logs: string[] = []
  const local = new LocalEngine({
    store,
    world: makeWorld(options.world),
    vault: options.vault ?? { seal: text => `sealed(${text})`, open: sealed => sealed.slice(7, -1) },
    agent: name => (name === agent.name ? agent : undefined),
    agents: () => [{ agent }],
    ...(options.callSlots && { callSlots: options.callSlots }),
    ...(agent.budgets && { countsSpending: true }),
    ...(options.hooks && { hooks: options.hooks }),
    ...(options.summon && { summon: options.summon }),
    ...(options.snapshotGrowth && { snapshotGrowth: options.snapshotGrowth }),
    ...(options.observer && { observer: options.observer }),
    ...(options.egress && { egress: options.egress }),
    ...(options.receipts && { receipts: options.receipts }),
    log: (level, message, fields) => void logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
  })
  const engine = local.sessions
  engines.add(engine)
  return { local, engine, agent, store, logs }
}

export const plainSettings: Settings = { tools: null, options: {}, clientTools: [] }

export async function begin(rig: Rig, settings: Partial<Settings> = {}): Promise<Session> {
  return rig.engine.create({
    owner,
    agent: 'helper',
    wire: 'test',
    settings: { ...plainSettings, ...settings },
    seed: [],
  })
}

/** Does something and waits until the session rests or waits; gives all that its watchers saw. */
export async function until(session: Session, act: () => Promise<unknown>): Promise<FeedItem[]> {
  const items: FeedItem[] = []
  const over = Promise.withResolvers<void>()
  const before = session.state.seq
  let begun = false
  const unwatch = session.feed.watch(item => {
    begun ||= item.type === 'event' && item.seq > before
    items.push(item)
    if (item.type === 'closed') over.reject(item.reason)
    if (begun && item.type === 'status' && item.status !== 'running') over.resolve()
  })
  try {
    await act()
    await over.promise
    return items
  } finally {
    over.promise.catch(() => {})
    unwatch()
  }
}

export function say(session: Session, text: string): Promise<FeedItem[]> {
  return until(session, () => session.say({ parts: [{ type: 'text', text }], wire: 'test' }))
}

export async function eventsOf(rig: Rig, session: Session): Promise<Event[]> {
  return (await rig.store.read(session.id)).map(({ event }) => event)
}

export async function typesOf(rig: Rig, session: Session): Promise<string[]> {
  return (await eventsOf(rig, session)).map(event => event.type)
}

export function clientTool(name: string): Settings['clientTools'][number] {
  return {
    name,
    description: `${name}, run by the application`,
    input: { form: 'json', schema: { type: 'object' } },
    kind: 'other',
    readOnly: false,
    idempotent: false,
    destructive: true,
    side: 'client',
  }
}

/** Someone takes manual control of a session. */
export async function takeControl(
  { engine }: Pick<Rig, 'engine'>,
  id: string,
  by: string,
  force = false,
): Promise<ManualControl> {
  return ManualControl.take(await engine.open(owner, id), by, force)
}

/** Reads a session from its first event until the signal aborts, and adds what it is given. */
export async function collect(
  { local }: Pick<Rig, 'local'>,
  id: string,
  items: FollowItem[],
  signal: AbortSignal,
): Promise<void> {
  const options = { from: 1, until: 'never', deltas: 'raw' } as const
  for await (const batch of local.follow({ owner, session: id }, options, signal)) items.push(...batch)
}
