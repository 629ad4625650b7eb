// What the tests of the runner share: a model behind a double, and servers that do as they are told.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, type TestContext } from 'node:test'
import type { Model, ModelAnswer, ModelDelta, ModelRequest } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { type RunningDouble, type ScriptedTurn, startDouble } from '../testing/doubles/index.ts'
import type { ModelTarget } from './protocol.ts'
import { openaiChat } from './protocols/openai-chat/index.ts'
import { createModel, type RunLimits } from './run.ts'
import { createAgents } from './run-http.ts'

export const KEY = 'sk-canary-0123456789abcdef'
export const target: ModelTarget = {
  model: 'm',
  family: 'f',
  maxTokens: 100,
  body: {},
  hosted: [],
  quirks: new Set(),
  stateful: false,
}
export const agents = createAgents({})
after(() => {
  agents.http.destroy()
  agents.https.destroy()
})

export const request: ModelRequest = {
  session: 's',
  history: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
  tools: [],
  choice: 'auto',
  parallel: true,
  options: {},
}

export function modelAt(
  url: string,
  limits: Partial<RunLimits> = {},
  protocol: typeof openaiChat = openaiChat,
): Model {
  return createModel({
    protocol,
    provider: { name: 'double', url: () => `${url}/v1`, headers: () => ({ authorization: `Bearer ${KEY}` }) },
    target,
    limits: { backoffMs: 1, maxBackoffMs: 2, ...limits },
    agents,
  })
}

export async function double(context: TestContext, ...script: ScriptedTurn[]): Promise<RunningDouble> {
  const running = await startDouble({ vendor: 'openai-chat', script })
  context.after(() => running.close())
  return running
}

export async function ask(model: Model, signal = new AbortController().signal) {
  const deltas: ModelDelta[] = []
  const answer = await model.respond(request, delta => deltas.push(delta), signal)
  return { answer, deltas }
}

export async function failing(model: Model): Promise<TurnwireError> {
  const error: unknown = await ask(model).then(
    () => assert.fail('it answered'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof TurnwireError, String(error))
  assert.ok(
    !JSON.stringify([error.message, error.stack, String(error.cause)]).includes(KEY),
    'the key is told',
  )
  return error
}

export const textOf = (answer: ModelAnswer): string =>
  answer.parts.map(part => (part.type === 'text' ? part.text : '')).join('')

// ---- servers ---------------------------------------------------------------------------------------------

export async function serve(
  context: TestContext,
  answer: (response: Response, incoming: Incoming, body: string) => void,
): Promise<string> {
  const server = createServer((incoming, response) => {
    let body = ''
    incoming.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    incoming.on('end', () => answer(response, incoming, body))
  })
  context.after(() => closing(server))
  return listen(server)
}

type Listener = NonNullable<Parameters<typeof createServer>[1]>
type Incoming = Parameters<Listener>[0]
type Response = Parameters<Listener>[1]

export async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return addressOf(server)
}

export function addressOf(server: Server): string {
  // A TCP server that listens has an AddressInfo; the string form is for pipes only.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export async function closing(server: Server): Promise<void> {
  if (!server.listening) return
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}
