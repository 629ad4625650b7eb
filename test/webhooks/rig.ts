// A receiver of webhooks that checks each message with a library that is not ours, and a whole server that sends to it.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { newKey } from '../../src/callers/keys.ts'
import type { TurnwireConfig } from '../../src/config/config.ts'
import type { Store, Tool } from '../../src/engine/index.ts'
import { Unanswered } from '../../src/lib/net/unanswered.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { type Script, scripted } from '../../src/models/scripted/index.ts'
import { startServer } from '../../src/server/server.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import type { WebhookConfig } from '../../src/webhooks/index.ts'
import { until } from '../wires/rig.ts'

export const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`

export type Message = {
  id: string
  type: string
  timestamp: string
  data: Record<string, unknown> & { session: string; link?: { url: string; id: string; expiresAt: number } }
  body: string
}

export type Receiver = {
  url: string
  port: number
  messages: Message[]
  /** What it answers next. Default 204. */
  answers: number[]
  /** The next message of this type that the test has not taken. */
  next(type: string): Promise<Message>
}

export async function receive(t: TestContext): Promise<Receiver> {
  const messages: Message[] = []
  const taken = new Set<Message>()
  const answers: number[] = []
  const server = createServer((request, response) => {
    void request.toArray().then(pieces => {
      const body = Buffer.concat(pieces as Buffer[]).toString()
      try {
        // Throws for a signature, a time or a body that is not right.
        const seen = new Webhook(secret).verify(body, request.headers as Record<string, string>) as Message
        messages.push({ ...seen, id: String(request.headers['webhook-id']), body })
        response.writeHead(answers.shift() ?? 204).end()
      } catch {
        response.writeHead(401).end()
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const find = (type: string): Message | undefined =>
    messages.find(message => message.type === type && !taken.has(message))
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    port,
    messages,
    answers,
    async next(type) {
      await until(() => find(type) !== undefined)
      const found = find(type)!
      taken.add(found)
      return found
    },
  }
}

const keys = { ada: newKey('ada'), root: newKey('root', true) }

export type Served = {
  url: string
  turnwire: Turnwire
  runs: unknown[]
  logs: string[]
  stop(): Promise<void>
  as(who: 'ada' | 'root' | 'nobody', method: string, path: string, body?: unknown): Promise<Response>
  /** Begins a session of ada's, says something and gives its id. The turn goes on by itself. */
  say(text?: string): Promise<string>
}

export function tools(runs: unknown[]): Tool[] {
  const object = { type: 'object' as const }
  return [
    tool({
      name: 'mail',
      title: 'Send a mail',
      description: 'Sends a mail.',
      input: { ...object, properties: { to: { type: 'string' }, text: { type: 'string' } } },
      trust: 'ask',
      run: input => {
        runs.push(input)
        return 'sent'
      },
    }),
    tool({
      name: 'survey',
      description: 'Asks how many.',
      input: object,
      trust: 'trusted',
      run: async (_, { ask }) => {
        const schema = { ...object, properties: { n: { type: 'integer' as const } }, required: ['n'] }
        return JSON.stringify(await ask({ message: 'How many?', schema }))
      },
    }),
    tool({
      name: 'pay',
      description: 'Pays, and does not hear whether it did.',
      input: object,
      trust: 'trusted',
      run: () => {
        throw new Unanswered('bank.example did not answer.')
      },
    }),
  ]
}

export async function serveHooks(
  t: TestContext,
  script: Script,
  webhooks: Record<string, WebhookConfig>,
  more: Partial<TurnwireConfig> & { store?: Store; agent?: object } = {},
): Promise<Served> {
  const runs: unknown[] = []
  const logs: string[] = []
  const { store = memoryStore(), agent, ...config } = more
  const turnwire = await Turnwire.open(
    {
      data: store,
      egress: { privateHosts: ['127.0.0.1'] },
      agents: [
        {
          name: 'helper',
          model: scripted(script, { whenOver: 'repeat-last' }),
          tools: tools(runs),
          ...agent,
        },
      ],
      webhooks,
      server: { keys: [keys.ada.entry, keys.root.entry], graceMs: 1 },
      ...config,
    },
    {
      log: (level, message, fields) => void logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    },
  )
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  const as: Served['as'] = (who, method, path, body) =>
    fetch(`${server.url}${path}`, {
      method,
      headers: {
        ...(who !== 'nobody' && { authorization: `Bearer ${keys[who].key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  return {
    url: server.url,
    turnwire,
    runs,
    logs,
    stop: () => server.stop(),
    as,
    async say(text = 'go') {
      const own = ['mail', 'survey', 'pay'].map(name => ({ name, trust: name !== 'mail' }))
      const clipboard = {
        name: 'clipboard',
        description: 'Text',
        parameters: { type: 'object', properties: {} },
      }
      const made = await as('ada', 'POST', '/sessions', {
        agent: { name: 'helper', tools: own },
        tools: [clipboard],
      })
      const { sessionId } = (await made.json()) as { sessionId: string }
      await as('ada', 'POST', `/sessions/${sessionId}/turns`, { messages: [{ role: 'user', content: text }] })
      return sessionId
    },
  }
}
