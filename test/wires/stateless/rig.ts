// A real server on a free port with one agent per model, for the stateless wires. It is closed with the test.
import type { TestContext } from 'node:test'
import type { AgentConfig, TurnwireConfig } from '../../../src/config/config.ts'
import type { EngineDescription, Model, OpenSessions } from '../../../src/engine/index.ts'
import { Turnwire } from '../../../src/library/turnwire.ts'
import { anthropic, gemini, openai, openaiChat } from '../../../src/models/index.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { startServer } from '../../../src/server/server.ts'
import {
  type RunningDouble,
  type ScriptedTurn,
  type ServeOptions,
  startDouble,
  type VendorName,
} from '../../../src/testing/index.ts'
import { putBehindClones } from '../../boundary/structured-clones.ts'

export type Rig = {
  url: string
  turnwire: Turnwire
  sessions: OpenSessions
  post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Response>
}

/** One agent per model, in this order: the first also answers for models of the configuration. */
export async function serve(
  t: TestContext,
  models: Record<string, Model>,
  options: { agent?: Partial<AgentConfig>; config?: Partial<TurnwireConfig> } = {},
): Promise<Rig> {
  const turnwire = await Turnwire.open(
    {
      agents: Object.entries(models).map(([name, model]) => ({ name, model, ...options.agent })),
      data: 'memory',
      ...options.config,
    },
    { log: () => {} },
  )
  const sessions = await putBehindClones(turnwire)
  const running = await startServer(turnwire, { port: 0 })
  t.after(() => running.stop())
  return {
    url: running.url,
    turnwire,
    sessions,
    post: (path, body, headers = {}) =>
      fetch(running.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  }
}

/** A strict double of a vendor, closed with the test. */
export async function double(
  t: TestContext,
  vendor: VendorName,
  script: NonNullable<ServeOptions['script']>,
): Promise<RunningDouble> {
  const running = await startDouble({ vendor, script })
  t.after(() => running.close())
  return running
}

export type Frame = { event?: string; data: string }

export async function framesOf(response: Response): Promise<Frame[]> {
  const text = await response.text()
  return text
    .split('\n\n')
    .filter(block => block !== '' && !block.startsWith(':'))
    .map(block => {
      const lines = block.split('\n')
      const value = (name: string): string | undefined =>
        lines.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const event = value('event')
      return { data: value('data') ?? '', ...(event !== undefined && { event }) }
    })
}

/** An engine with one agent, as the decoders of a wire know it. */
export const about: EngineDescription = {
  agents: [
    {
      name: 'helper',
      version: '1',
      tools: [],
      options: [],
      choice: 'auto',
      parallel: true,
      clientTools: true,
      fullHistory: true,
      images: { http: true, data: true },
      model: { id: 'scripted' },
    },
  ],
  models: {},
}

export const weather = {
  name: 'weather',
  description: 'The weather of a city.',
  schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
}

export const cities = [
  { name: 'weather', input: { city: 'Oslo' } },
  { name: 'weather', input: { city: 'Rome' } },
]

/** A model that asks for the weather of two cities. */
export const weatherModel = (): Model =>
  scripted([
    { text: 'Let me look.', chunk: 5, calls: cities, usage: { input: 10, output: 5 } },
    {
      text: 'Rain and sun.',
      chunk: 3,
      usage: { input: 20, output: 5 },
      expect: { results: [{ text: 'Oslo: rain' }, { text: 'Rome: sun' }] },
    },
  ])

export const forecast: Record<string, string> = { Oslo: 'rain', Rome: 'sun' }

/** The same from a vendor that thinks, and that is asked a second time. */
export const weatherTurns: ScriptedTurn[] = [
  { thinking: 'Two cities.', text: 'Let me look.', calls: cities },
  { thinking: 'One more.', calls: cities.slice(0, 1) },
  { text: 'Rain and sun.' },
  { text: 'You are welcome.' },
]

/** A model of each vendor, at the address of its double. */
export const vendors: [vendor: VendorName, model: (url: string) => Model][] = [
  ['anthropic', baseUrl => anthropic({ model: 'claude-opus-4-6', apiKey: 'k', baseUrl })],
  ['gemini', url => gemini({ model: 'gemini-3-pro', apiKey: 'k', baseUrl: `${url}/v1beta` })],
  ['openai-chat', url => openaiChat({ model: 'gpt-5', apiKey: 'k', baseUrl: `${url}/v1` })],
  ['openai-responses', url => openai({ model: 'gpt-5', apiKey: 'k', baseUrl: `${url}/v1` })],
]
