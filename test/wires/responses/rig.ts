// A whole server for the tests of the Responses wire: a scripted model, the tools of the AAP tests, and the AAP wire beside
// it, behind a real socket. The engine passes structured clones only. The caller names itself with the `x-owner` header.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import {
  type Agent,
  type Engine,
  type EnginePorts,
  LocalEngine,
  type Model,
  type Store,
} from '../../../src/engine/index.ts'
import type { JsonObject } from '../../../src/lib/json/index.ts'
import { randomIds } from '../../../src/lib/text/random.ts'
import type { Script } from '../../../src/models/scripted/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { aap } from '../../../src/wires/aap/index.ts'
import type { WireEnv, WireHost } from '../../../src/wires/host.ts'
import { messages } from '../../../src/wires/messages/index.ts'
import { responses } from '../../../src/wires/responses/index.ts'
import { throughClones } from '../../boundary/structured-clones.ts'
import { agentOf, latch } from '../aap/rig.ts'
import { boundTo } from '../bound.ts'
import { mountWires } from '../mount.ts'
import { checkAnswers, eventProblems } from './schema/wire.ts'

export { latch }

export type RigOptions = {
  script?: Script
  model?: Model
  models?: Record<string, Model>
  agent?: Partial<Agent>
  more?: Agent[]
  store?: Store
  limits?: Partial<WireHost['limits']>
  serverTools?: boolean
}

export type Rig = {
  url: string
  engine: Engine
  store: Store
  runs: { tool: string; input: unknown }[]
  logs: string[]
  post(body: unknown, headers?: Record<string, string>, path?: string): Promise<Response>
  get(path: string, headers?: Record<string, string>): Promise<Response>
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  restart(options?: RigOptions): Promise<Rig>
}

export async function rig(t: TestContext, options: RigOptions = {}, gate = latch()): Promise<Rig> {
  const runs: Rig['runs'] = []
  const logs: string[] = []
  const { script, model, models = {} } = options
  const own = agentOf({ ...(script && { script }), ...(model && { model }) }, runs, gate)
  const agent: Agent = {
    ...own,
    model: settings => {
      const found = settings.model === undefined ? own.model(settings) : models[settings.model]
      if (!found) throw new Error(`no model ${settings.model}`)
      return found
    },
    ...options.agent,
  }
  const agents = [agent, ...(options.more ?? [])]
  const store = options.store ?? memoryStore()
  const log: EnginePorts['log'] = (level, message, fields) =>
    void logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`)
  const ports = {
    world: {
      now: () => Date.now(),
      elapsed: () => performance.now(),
      id: randomIds(),
      timer: (ms: number, run: () => void) => {
        const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1)).unref()
        return () => clearTimeout(timer)
      },
      crashPoint: () => {},
    },
    vault: {
      seal: (value: string) => Buffer.from(value).toString('base64url'),
      open: (value: string) => Buffer.from(value, 'base64url').toString(),
    },
    log,
  }
  const local = new LocalEngine({
    ...ports,
    store,
    agent: name => agents.find(each => each.name === name),
    agents: () => agents.map(each => ({ agent: each })),
    models,
  })
  const engine = throughClones(local)
  const host: WireHost = {
    engineFor: boundTo(engine),
    about: local.description,
    serverTools: new Set(options.serverTools ? [agent.name] : []),
    seal: text => ports.vault.seal(text),
    sign: text => text,
    unseal: sealed => ports.vault.open(sealed),
    limits: {
      bodyBytes: 1024 * 1024,
      jsonDepth: 32,
      heartbeatMs: 0,
      unsentBytes: 1024 * 1024,
      ...options.limits,
    },
    log,
  }
  const url = await listen(t, host, local)
  const send: Rig['send'] = (method, path, body, headers = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  return {
    url,
    engine,
    store,
    runs,
    logs,
    send,
    post: (body, headers, path = '/v1/responses') => send('POST', path, body, headers),
    get: (path, headers) => send('GET', path, undefined, headers),
    restart: again => rig(t, { ...options, store, ...again }, gate),
  }
}

async function listen(t: TestContext, host: WireHost, local: LocalEngine): Promise<string> {
  const app = new Hono<WireEnv>()
  app.use(async (c, next) => {
    const owner = c.req.header('x-owner') ?? 'alice'
    c.set('principal', { owner, name: `${owner}@test` })
    c.set('engine', host.engineFor({ owner }))
    await next()
  })
  await mountWires(app, host, [aap, messages, responses])
  const server = createAdaptorServer({ fetch: app.fetch }) as Server // It is one of HTTP/1 unless asked for another.
  const check = checkAnswers(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
    await local.stop(0)
    check()
  })
  // A TCP server's address is never a path.
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

// ---- answers --------------------------------------------------------------------------------------------------

export type Item = JsonObject & { type: string; id: string; call_id: string; arguments: string; name: string }
export type Body = JsonObject & {
  id: string
  status: string
  output: Item[]
  usage: { input_tokens: number; output_tokens: number; total_tokens: number }
  conversation: { id: string }
}

/** The response of a request that was accepted. */
export async function ok(asked: Response | Promise<Response>): Promise<Body> {
  const answer = await asked
  const body = (await answer.json()) as Body
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(body)}`)
  return body
}

export type Refused = { status: number; message: string; type: string; param: string | null; code: string }

export async function refused(asked: Response | Promise<Response>): Promise<Refused> {
  const answer = await asked
  const { error } = (await answer.json()) as { error: Omit<Refused, 'status'> }
  if (typeof error?.message !== 'string') throw new Error(`no error object in ${answer.status}`)
  return { status: answer.status, ...error }
}

export function textOf(body: Pick<Body, 'output'>): string {
  return body.output
    .flatMap(item => (item.type === 'message' ? (item['content'] as { text?: string }[]) : []))
    .map(part => part.text ?? '')
    .join('')
}

export type StreamEvent = JsonObject & { type: string; sequence_number: number; response: Body; item: Item }

/** Parses a whole stream itself, so that the tests do not rely on the code under test. */
export async function eventsOf(answer: Response | Promise<Response>): Promise<StreamEvent[]> {
  return parseEvents(await (await answer).text())
}

export function parseEvents(text: string): StreamEvent[] {
  const events: StreamEvent[] = []
  let done = false
  for (const block of text.split('\n\n')) {
    const lines = block.split('\n').filter(line => line !== '' && !line.startsWith(':'))
    if (lines.length === 0) continue
    if (done) throw new Error(`after [DONE]: ${block}`)
    const data = lines.filter(line => line.startsWith('data: ')).map(line => line.slice(6))
    if (data[0] === '[DONE]') {
      done = true
      continue
    }
    const event = JSON.parse(data.join('\n')) as StreamEvent
    if (lines[0] !== `event: ${event.type}`) throw new Error(`event line ${lines[0]} of ${event.type}`)
    const problems = eventProblems(event)
    if (problems.length > 0) throw new Error(problems.join('\n'))
    events.push(event)
  }
  if (!done) throw new Error('the stream has no [DONE]')
  return events
}

export const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
export const nested = {
  type: 'function',
  function: { name: 'get_weather', description: 'The weather.', parameters: weather.parameters },
}
export const call = (call_id: string, city = 'Paris'): object => ({
  type: 'function_call',
  call_id,
  name: 'get_weather',
  arguments: JSON.stringify({ city }),
})
export const output = (call_id: string, words = 'sunny'): object => ({
  type: 'function_call_output',
  call_id,
  output: words,
})
export const user = (content: unknown): object => ({ role: 'user', content })
