// A whole server for the AAP tests: an engine on a memory store, a scripted model, a handful of tools, behind a real
// socket. Authentication is not here: the caller names itself with the `x-owner` header.
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import {
  type Agent,
  type EnginePorts,
  LocalEngine,
  type Model,
  type OpenSessions,
  type Store,
  type Tool,
} from '../../../src/engine/index.ts'
import type { JsonObject } from '../../../src/lib/json/index.ts'
import { randomIds } from '../../../src/lib/text/random.ts'
import { type Script, scripted } from '../../../src/models/scripted/index.ts'
import { createGate, defaultLimits } from '../../../src/policy/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { tool } from '../../../src/tools/index.ts'
import { aap } from '../../../src/wires/aap/index.ts'
import type { WireEnv, WireHost } from '../../../src/wires/host.ts'
import type { Wire } from '../../../src/wires/wire.ts'
import { throughClones } from '../../boundary/structured-clones.ts'
import { boundTo } from '../bound.ts'
import { mountWires } from '../mount.ts'

export type RigOptions = {
  script?: Script
  model?: Model
  agent?: Partial<Agent>
  agents?: Agent[]
  store?: Store
  limits?: Partial<WireHost['limits']>
  now?: () => number
  /** Beside AAP. */
  wires?: readonly Wire[]
}

export type Rig = {
  url: string
  engine: OpenSessions
  host: WireHost
  /** What each tool ran with, in order. */
  runs: { tool: string; input: unknown }[]
  sealed: string[]
  logs: string[]
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  /** Another server on the same store: what a restart leaves. */
  restart(options?: RigOptions): Promise<Rig>
}

const query: JsonObject = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] }

/** `search` and `mail` are exposed, `hidden` is not; `slow` ends when its test lets it. */
export function tools(runs: Rig['runs'], gate: { wait(): Promise<void> }): Tool[] {
  const ran = (name: string, input: unknown): void => void runs.push({ tool: name, input })
  return [
    tool({
      name: 'search',
      title: 'Search',
      description: 'Finds documents.',
      input: query,
      readOnly: true,
      run: input => {
        ran('search', input)
        return typeof input['q'] === 'string' ? `found ${input['q']}` : undefined
      },
    }),
    tool({
      name: 'mail',
      description: 'Sends a mail.',
      input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
      run: input => {
        ran('mail', input)
        return typeof input['to'] === 'string' ? `sent to ${input['to']}` : undefined
      },
    }),
    tool({
      name: 'hidden',
      description: 'Not listed.',
      input: query,
      exposed: false,
      trust: 'trusted',
      run: input => {
        ran('hidden', input)
        return 'from behind'
      },
    }),
    tool({
      name: 'patch',
      description: 'Takes free text.',
      input: 'text',
      run: input => {
        ran('patch', input)
        return `patched ${input.length}`
      },
    }),
    tool({
      name: 'large',
      description: 'Says a lot.',
      input: { type: 'object', properties: {} },
      outputLimit: 512,
      run: () => 'x'.repeat(5000),
    }),
    tool({
      name: 'slow',
      description: 'Waits for the test.',
      input: { type: 'object', properties: {} },
      run: async input => {
        ran('slow', input)
        await gate.wait()
        return 'at last'
      },
    }),
    tool({
      name: 'fails',
      description: 'Throws.',
      input: { type: 'object', properties: {} },
      run: () => {
        throw new Error('no such luck')
      },
    }),
    tool({
      name: 'picture',
      description: 'Gives text and an image.',
      input: { type: 'object', properties: {} },
      run: () => [
        { type: 'text', text: 'look' },
        { type: 'image', url: 'https://example.org/a.png' },
      ],
    }),
  ]
}

/** Holds whoever waits until it is opened. */
export function latch(): { wait(): Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { wait: () => promise, open: resolve }
}

export function agentOf(options: RigOptions, runs: Rig['runs'], gate = latch()): Agent {
  const model = options.model ?? scripted(options.script ?? [{ text: 'hello' }])
  return {
    name: 'helper',
    title: 'Helper',
    version: '1.2.3',
    description: 'Helps.',
    tools: tools(runs, gate),
    options: [
      { name: 'tone', type: 'select', default: 'warm', options: ['warm', 'dry'] },
      { name: 'city', type: 'text', title: 'City', description: 'Where.', default: 'Paris' },
      { name: 'key', type: 'secret', default: '' },
    ],
    gate: createGate(),
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

export async function rig(t: TestContext, options: RigOptions = {}, gate = latch()): Promise<Rig> {
  const runs: Rig['runs'] = []
  const sealed: string[] = []
  const logs: string[] = []
  const agents = options.agents ?? [agentOf(options, runs, gate)]
  const store = options.store ?? memoryStore()
  const log: EnginePorts['log'] = (level, message, fields) =>
    void logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`)
  const local = new LocalEngine({
    store,
    world: {
      now: options.now ?? (() => Date.now()),
      elapsed: () => performance.now(),
      id: randomIds(),
      timer: (ms, run) => {
        const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1)).unref()
        return () => clearTimeout(timer)
      },
      crashPoint: () => {},
    },
    vault: {
      seal: value => {
        sealed.push(value)
        return Buffer.from(value).toString('base64')
      },
      open: value => Buffer.from(value, 'base64').toString(),
    },
    agent: name => agents.find(agent => agent.name === name),
    agents: () => agents.map(agent => ({ agent })),
    log,
  })
  const engine = local.sessions
  const host: WireHost = {
    engineFor: boundTo(throughClones(local)),
    about: local.description,
    serverTools: new Set(),
    seal: (value, use) => engine.ports.vault.seal(value, use),
    sign: text => text,
    unseal: (value, use) => engine.ports.vault.open(value, use),
    limits: {
      bodyBytes: 1024 * 1024,
      jsonDepth: 32,
      heartbeatMs: 0,
      unsentBytes: 1024 * 1024,
      ...options.limits,
    },
    log,
  }
  const url = await listen(t, host, engine, [...(options.wires ?? []), aap])
  return {
    url,
    engine,
    host,
    runs,
    sealed,
    logs,
    request: (method, path, body, headers = {}) =>
      fetch(`${url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    restart: again => rig(t, { ...options, store, ...again }, gate),
  }
}

async function listen(
  t: TestContext,
  host: WireHost,
  engine: OpenSessions,
  wires: readonly Wire[],
): Promise<string> {
  const app = new Hono<WireEnv>()
  app.use(async (c, next) => {
    const owner = c.req.header('x-owner') ?? 'alice'
    c.set('principal', { owner, name: `${owner}@test` })
    c.set('engine', host.engineFor({ owner }))
    await next()
  })
  await mountWires(app, host, wires)
  const server = createAdaptorServer({ fetch: app.fetch })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
    await engine.stop(0)
  })
  // A TCP server's address is never a path.
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

// ---- a session in one line ----------------------------------------------------------------------------------

export const clipboard = {
  name: 'clipboard',
  description: 'Text on the clipboard',
  parameters: { type: 'object', properties: {} },
}

export async function newSession(at: Rig, body: Record<string, unknown> = {}): Promise<string> {
  const { agent, ...rest } = body
  const answer = await at.request('POST', '/aap/v3/sessions', {
    agent: { name: 'helper', ...(agent as object) },
    ...rest,
  })
  const { sessionId, error } = (await answer.json()) as { sessionId: string; error?: string }
  if (answer.status !== 201) throw new Error(`${answer.status} ${error}`)
  return sessionId
}

export function turn(
  at: Rig,
  id: string,
  body: unknown,
  headers?: Record<string, string>,
): Promise<Response> {
  return at.request('POST', `/aap/v3/sessions/${id}/turns`, body, headers)
}

export function say(words: string, stream = 'none'): { stream: string; messages: unknown[] } {
  return { stream, messages: [{ role: 'user', content: words }] }
}

export type Message = { role: string; toolCallId?: string; content: unknown }
export type Answer = { stopReason: string; messages: Message[] }
export type Info = {
  sessionId: string
  agent: { name: string; tools: unknown[]; options: Record<string, string> }
  tools?: unknown[]
}

export async function answerOf(answer: Response | Promise<Response>): Promise<Answer> {
  const body = (await (await answer).json()) as Answer & { error?: string }
  if (body.stopReason === undefined) throw new Error(`${(await answer).status} ${body.error}`)
  return body
}

export async function info(at: Rig, id: string): Promise<Info> {
  return (await (await at.request('GET', `/aap/v3/sessions/${id}`)).json()) as Info
}

export async function history(at: Rig, id: string, type = 'full'): Promise<Message[]> {
  const answer = await at.request('GET', `/aap/v3/sessions/${id}/history?type=${type}`)
  return ((await answer.json()) as { history: Record<string, Message[]> }).history[type]!
}

export type Call = { type: string; toolCallId: string; name: string; input: Record<string, unknown> }

/** The calls in these messages, in order. */
export function callsIn(messages: readonly Message[]): Call[] {
  return messages.flatMap(({ role, content }) =>
    role === 'assistant' && Array.isArray(content)
      ? (content as Call[]).filter(block => block.type === 'tool_use')
      : [],
  )
}

export const grant = (toolCallId: string, more: object = {}) => ({
  role: 'tool_permission',
  toolCallId,
  granted: true,
  ...more,
})
export const deny = (toolCallId: string, reason?: string) => ({
  role: 'tool_permission',
  toolCallId,
  granted: false,
  ...(reason !== undefined && { reason }),
})
export const result = (toolCallId: string, content: unknown) => ({ role: 'tool', toolCallId, content })

/** The status and code of a refusal, whose words must be text. */
export async function refusal(asked: Response | Promise<Response>): Promise<[number, string]> {
  const answer = await asked
  const { error, code } = (await answer.json()) as { error: unknown; code: string }
  if (typeof error !== 'string') throw new Error(`no error text in ${answer.status}`)
  return [answer.status, code]
}

export type SseItem = { event?: string; id?: string; data: unknown }

/** Parses a whole stream by hand, so that the tests do not rely on what they test. */
export async function sseOf(answer: Response): Promise<SseItem[]> {
  return parseSse(await answer.text())
}

export function parseSse(text: string): SseItem[] {
  const items: SseItem[] = []
  for (const block of text.split('\n\n')) {
    const lines = block.split('\n').filter(line => line !== '' && !line.startsWith(':'))
    if (lines.length === 0) continue
    const item: SseItem = { data: undefined }
    const data: string[] = []
    for (const line of lines) {
      const [field, ...rest] = line.split(': ')
      const value = rest.join(': ')
      if (field === 'event') item.event = value
      else if (field === 'id') item.id = value
      else if (field === 'data') data.push(value)
      else throw new Error(`unknown field in ${JSON.stringify(line)}`)
    }
    item.data = JSON.parse(data.join('\n'))
    items.push(item)
  }
  return items
}
