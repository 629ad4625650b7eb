// A whole server for the tests of any wire: the real runtime on a store in memory, a scripted model, a handful of
// tools and two keys. A test speaks to it over a socket, as clients do.
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newKey } from '../../src/callers/keys.ts'
import type { AgentConfig, TurnwireConfig } from '../../src/config/config.ts'
import type { Model, OpenSessions, Store, Tool } from '../../src/engine/index.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { type Script, scripted } from '../../src/models/scripted/index.ts'
import { startServer } from '../../src/server/server.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import { putBehindClones } from '../boundary/structured-clones.ts'

export type RigOptions = {
  script?: Script
  model?: Model
  store?: Store
  tools?: Tool[]
  heartbeatMs?: number
  unsentBytes?: number
  bodyBytes?: number
  clientTools?: boolean
  /** The agent's own tools run on the Responses wire too. */
  serverTools?: boolean
  policy?: TurnwireConfig['policy']
  /** Further agents. */
  agents?: readonly AgentConfig[]
  serveMcp?: AgentConfig['serveMcp']
  server?: TurnwireConfig['server']
}

export type Rig = {
  url: string
  turnwire: Turnwire
  /** The sessions behind the engine's boundary. */
  sessions: OpenSessions
  store: Store
  runs: { tool: string; input: unknown }[]
  logs: string[]
  /** Lets `slow` go on. */
  release(): void
  /** Asks as alice, unless told otherwise. */
  request(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Response>
  headers(who?: Who): Record<string, string>
  /** Another server on the same store, with this one gone: what a restart leaves. */
  restart(options?: RigOptions): Promise<Rig>
  stop(): Promise<void>
}

export type Who = 'alice' | 'bob' | 'nobody'
export type RequestOptions = { who?: Who; headers?: Record<string, string>; signal?: AbortSignal }

const keys = { alice: newKey('alice'), bob: newKey('bob') }
const query: JsonObject = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] }
const nothing: JsonObject = { type: 'object', properties: {} }

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

function tools(runs: Rig['runs'], wait: () => Promise<void>): Tool[] {
  const ran = (name: string, input: unknown): void => void runs.push({ tool: name, input })
  return [
    tool({
      name: 'search',
      description: 'Finds documents.',
      input: query,
      readOnly: true,
      trust: 'trusted',
      run: input => {
        ran('search', input)
        return `found ${shown(input['q'])}`
      },
    }),
    tool({
      name: 'mail',
      description: 'Sends a mail.',
      input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
      run: input => {
        ran('mail', input)
        return `sent to ${shown(input['to'])}`
      },
    }),
    tool({
      name: 'patch',
      description: 'Takes free text.',
      input: 'text',
      run: input => {
        ran('patch', input)
        return `patched ${input}`
      },
    }),
    tool({
      name: 'slow',
      description: 'Waits for the test.',
      input: nothing,
      readOnly: true,
      trust: 'trusted',
      run: async input => {
        ran('slow', input)
        await wait()
        return 'at last'
      },
    }),
    tool({
      name: 'fails',
      description: 'Throws.',
      input: nothing,
      trust: 'trusted',
      run: () => {
        throw new Error('no such luck')
      },
    }),
    tool({
      name: 'weather',
      description: 'Gives data.',
      input: nothing,
      trust: 'trusted',
      output: { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] },
      run: () => ({ degrees: 4 }),
    }),
    tool({
      name: 'picture',
      description: 'Gives text and an image.',
      input: nothing,
      trust: 'trusted',
      run: () => [
        { type: 'text', text: 'look' },
        { type: 'image', url: 'https://example.org/a.png' },
      ],
    }),
  ]
}

export async function rig(t: TestContext, options: RigOptions = {}): Promise<Rig> {
  const runs: Rig['runs'] = []
  const logs: string[] = []
  const store = options.store ?? memoryStore()
  const { promise, resolve: release } = Promise.withResolvers<void>()
  const turnwire = await Turnwire.open(
    {
      data: store,
      agents: [
        {
          name: 'helper',
          model:
            options.model ?? scripted(options.script ?? [{ text: 'hello' }], { whenOver: 'repeat-last' }),
          tools: options.tools ?? tools(runs, () => promise),
          clientTools: options.clientTools ?? true,
          responses: { serverTools: options.serverTools ?? false },
          ...(options.serveMcp && { serveMcp: options.serveMcp }),
        },
        { name: 'other', model: scripted([{ text: 'the other one' }], { whenOver: 'repeat-last' }) },
        ...(options.agents ?? []),
      ],
      ...(options.policy && { policy: options.policy }),
      server: {
        keys: [keys.alice.entry, keys.bob.entry],
        heartbeatMs: options.heartbeatMs ?? 15_000,
        unsentBytes: options.unsentBytes ?? 4 * 1024 * 1024,
        ...(options.bodyBytes !== undefined && { bodyBytes: options.bodyBytes }),
        graceMs: 1,
        ...options.server,
      },
    },
    {
      log: (level, message, fields) => void logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    },
  )
  const sessions = await putBehindClones(turnwire)
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => {
    release()
    return server.stop()
  })
  const headers = (who: Who = 'alice'): Record<string, string> =>
    who === 'nobody' ? {} : { authorization: `Bearer ${keys[who].key}` }
  return {
    url: server.url,
    turnwire,
    sessions,
    store,
    runs,
    logs,
    release,
    headers,
    request: (method, path, body, { who, headers: more, signal } = {}) =>
      fetch(`${server.url}${path}`, {
        method,
        headers: {
          ...headers(who),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...more,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...(signal && { signal }),
      }),
    restart: async again => {
      await server.stop()
      return rig(t, { ...options, store: again?.store ?? store, ...again })
    },
    stop: () => server.stop(),
  }
}

/** Waits for what happens soon; the test's own deadline is the only one. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(5)
}

export const clipboard = {
  name: 'clipboard',
  description: 'Text on the clipboard',
  parameters: { type: 'object', properties: {} },
}
