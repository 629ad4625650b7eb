// A real server on a free port with one agent per model, for the stateless wires. It is closed with the test.
import type { TestContext } from 'node:test'
import type { AgentConfig, TurnwireConfig } from '../../../src/config/config.ts'
import type { EngineDescription, Model, OpenSessions } from '../../../src/engine/index.ts'
import { Turnwire } from '../../../src/library/turnwire.ts'
import { startServer } from '../../../src/server/server.ts'
import {
  type RunningDouble,
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
