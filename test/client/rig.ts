// A real server on a free port with a scripted model, and a client of it. Both are closed after the test.
import type { TestContext } from 'node:test'
import { AapClient, type ClientOptions } from '../../src/client/index.ts'
import type { AgentConfig, TurnwireConfig } from '../../src/config/config.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { type Script, scripted } from '../../src/models/scripted/index.ts'
import { startServer } from '../../src/server/server.ts'
import { tool } from '../../src/tools/index.ts'

export const anything = { type: 'object' } as const

export const look = tool({
  name: 'look',
  description: 'Looks something up.',
  input: anything,
  readOnly: true,
  run: input => `seen ${JSON.stringify(input)}`,
})
export const send = tool({
  name: 'send',
  description: 'Sends something.',
  input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  run: input => `sent ${JSON.stringify(input)}`,
})

export const clipboard = { name: 'clipboard', description: 'The clipboard.', parameters: { type: 'object' } }

export type Rig = { client: AapClient; url: string; turnwire: Turnwire }

export async function serve(
  t: TestContext,
  script: Script,
  options: {
    agent?: Partial<AgentConfig>
    config?: Partial<TurnwireConfig>
    client?: Partial<ClientOptions>
  } = {},
): Promise<Rig> {
  const turnwire = await Turnwire.open({
    agents: [{ name: 'helper', model: scripted(script), tools: [look, send], ...options.agent }],
    data: 'memory',
    ...options.config,
  })
  const running = await startServer(turnwire, { port: 0 })
  t.after(() => running.stop())
  return { client: new AapClient({ baseUrl: running.url, ...options.client }), url: running.url, turnwire }
}

export const both = [{ name: 'look', trust: true }, { name: 'send' }]
