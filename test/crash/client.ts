// Starts and kills servers, and drives a conversation over HTTP as a client that remembers nothing: it reads everything
// from the server's history.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Message, resolvePendingToolUse, type ToolSpec } from '../wires/aap/reference-client.ts'

export type Server = { url: string; pid: number; died: Promise<NodeJS.Signals | number | null> }

const script = fileURLToPath(new URL('./server.ts', import.meta.url))

/** `wrap`: a command that runs the server, such as strace. Undefined when it died before it was ready. */
export async function start(
  folder: string,
  crashAt?: string,
  wrap: readonly string[] = [],
): Promise<Server | undefined> {
  const [command, ...args] = [...wrap, process.execPath, script, folder]
  const { TURNWIRE_CRASH_AT: _, ...env } = process.env
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: crashAt === undefined ? env : { ...env, TURNWIRE_CRASH_AT: crashAt },
  })
  const died = new Promise<NodeJS.Signals | number | null>(resolve =>
    child.once('exit', (code, signal) => resolve(signal ?? code)),
  )
  const lines = createInterface({ input: child.stdout! })
  const first = new Promise<string>(resolve => lines.once('line', resolve))
  const line = await Promise.race([first, died.then(() => undefined)])
  if (line === undefined) return undefined
  const [url = '', pid] = line.split(' ')
  return { url, pid: Number(pid), died }
}

export async function kill(server: Server): Promise<void> {
  process.kill(server.pid, 'SIGKILL')
  await server.died
}

const ring: ToolSpec = { name: 'ring', description: 'Rings.', parameters: { type: 'object', properties: {} } }
const settings = {
  agent: {
    name: 'helper',
    tools: [
      { name: 'look', trust: true },
      { name: 'put', trust: true },
      { name: 'pay', trust: true },
      { name: 'mail' },
      { name: 'survey', trust: true },
    ],
  },
  tools: [ring],
}

/** Creates the session, or returns the same one when called again. */
export async function create(url: string): Promise<string> {
  const answer = await post(url, '/aap/v3/sessions', settings, 'create')
  if (answer.status >= 500) throw new Refused(answer.status)
  const { sessionId } = (await answer.json()) as { sessionId: string }
  return sessionId
}

/** A POST of the client. */
export type Request = { path: string; body: unknown; key: string }
type Deliver = (url: string, request: Request) => Promise<Response>

let deliver: Deliver = deliverOnce

/** While `work` runs, requests are delivered in this way. */
export async function sendingBy(way: Deliver, work: () => Promise<void>): Promise<void> {
  deliver = way
  try {
    await work()
  } finally {
    deliver = deliverOnce
  }
}

function post(url: string, path: string, body: unknown, key: string): Promise<Response> {
  return deliver(url, { path, body, key })
}

export function deliverOnce(url: string, { path, body, key }: Request): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  })
}

export async function history(url: string, id: string): Promise<Message[]> {
  const answer = await fetch(`${url}/aap/v3/sessions/${id}/history?type=full`)
  const { history: found } = (await answer.json()) as { history: { full: Message[] } }
  return found.full
}

/** The messages that the server has accepted, as the history shows them. */
export type Acked = Set<string>

/** What an accepted message leaves in a history. */
function traceOf(message: Message): string[] {
  if (message.role === 'user') return [`user ${JSON.stringify(message.content)}`]
  return message.role === 'tool' ? [`tool ${message.toolCallId}`] : []
}

/** The accepted messages that the history does not have. */
export async function lost(url: string, id: string, acked: Acked): Promise<string[]> {
  const there = new Set((await history(url, id)).flatMap(traceOf))
  return [...acked].filter(trace => !there.has(trace))
}

/**
 * Sends `words` unless the history has them, answers open calls, and waits until the model has answered `last`. Notes what
 * was accepted in `acked`.
 */
export async function converse(
  url: string,
  id: string,
  words: string,
  last: string,
  acked: Acked = new Set(),
): Promise<void> {
  for (let round = 0; round < 400; round += 1) {
    const messages = await history(url, id)
    if (!messages.some(message => message.role === 'user' && message.content === words))
      await send(url, id, [{ role: 'user', content: words }], `say ${words}`, acked)
    else if (messages.at(-1)?.role === 'assistant' && JSON.stringify(messages.at(-1)).includes(last)) return
    else {
      const { client, server } = resolvePendingToolUse(messages, [ring])
      const answers: Message[] = [
        ...client.map(({ toolCallId }): Message => ({ role: 'tool', toolCallId, content: 'rang' })),
        ...server
          .filter(({ name }) => name === 'mail')
          .map(({ toolCallId }): Message => ({ role: 'tool_permission', toolCallId, granted: true })),
      ]
      answers.push(...(await questionsOf(url, id)))
      if (answers.length > 0) await send(url, id, answers, `answer ${JSON.stringify(answers)}`, acked)
    }
    await sleep(5)
  }
  throw new NeverSaid(`"${last}" was never said: ${JSON.stringify(await history(url, id))}`)
}

/** The conversation came to no end, and nothing was refused. */
export class NeverSaid extends Error {}

/** Every question that is open, answered. */
async function questionsOf(url: string, id: string): Promise<Message[]> {
  const answer = await fetch(`${url}/aap/v3/sessions/${id}`)
  const { questions = [] } = (await answer.json()) as { questions?: { questionId: string }[] }
  return questions.map(
    // An extension that the reference client does not know.
    ({ questionId }) =>
      ({ role: 'tool_answer', questionId, action: 'accept', content: { n: 3 } }) as unknown as Message,
  )
}

/** The server could not do it. */
export class Refused extends Error {
  readonly status: number

  constructor(status: number) {
    super(`The server answered ${status}.`)
    this.status = status
  }
}

/** A refusal of the request is not a failure here: the next look at the history decides what to do. */
async function send(
  url: string,
  id: string,
  messages: Message[],
  words: string,
  acked: Acked,
): Promise<void> {
  const key = Buffer.from(words).toString('base64url').slice(0, 200)
  const answer = await post(url, `/aap/v3/sessions/${id}/turns`, { messages, stream: 'none' }, key)
  await answer.text()
  if (answer.status >= 500) throw new Refused(answer.status)
  if (answer.ok) for (const trace of messages.flatMap(traceOf)) acked.add(trace)
}
