// Requests that no client sends, on every wire: over HTTP, WebSockets and a pipe. Whatever comes, nothing answers with a
// defect, nothing hangs, the event loop stays free, and a normal turn works afterwards. `npm run fuzz` sends ten times as
// many from another seed.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { isJsonObject, type JsonObject } from '../../src/lib/json/index.ts'
import type { Chance } from '../sim/chance.ts'
import { type Attacked, attacked } from './attack-rig.ts'
import { type Editor, startEditor } from './editor-rig.ts'
import { answerWithinMs, assertHealthy, assertWorks, type Fuzz, requests, run } from './fuzz/fuzz.ts'
import { mutateMessage, mutateRequest, type RawRequest } from './fuzz/mutate.ts'
import { acpMessages, deltakitFrames, httpRequests, initialize } from './fuzz/requests.ts'
import { sendRaw } from './fuzz/send.ts'

/** What the kernel takes of a body that nobody reads. */
const unreadBytes = 64 * 1024

const shown = (bytes: Buffer): string => JSON.stringify(bytes.subarray(0, 400).toString('latin1'))

type Ids = Record<'$SESSION' | '$RESPONSE' | '$THREAD' | '$CONNECTION', string>

/** Ids of things that exist, in place of their names. */
function filled<T>(value: T, ids: Partial<Ids>): T {
  const text = JSON.stringify(value).replace(
    /\$(SESSION|RESPONSE|THREAD|CONNECTION)/g,
    name => ids[name as keyof Ids] ?? name,
  )
  return JSON.parse(text) as T // The same shape with other texts.
}

async function makeIds(server: Attacked): Promise<Ids> {
  const session = await server.session('ana')
  await server.turn(session, 'hello', { as: 'ana' })
  const stored = { model: 'helper', input: 'hello', store: true }
  const response = await server.send({ path: '/v1/responses', body: stored, as: 'ana' })
  const acp = await server.send({ path: '/acp', body: initialize, as: 'ana' })
  return {
    $SESSION: session,
    $RESPONSE: (JSON.parse(response.text) as { id: string }).id,
    $THREAD: `thread-${Math.random()}`,
    $CONNECTION: String(acp.headers['acp-connection-id']),
  }
}

async function httpFuzz(server: Attacked): Promise<Fuzz> {
  const key = server.keys['ana'] ?? ''
  let ids = await makeIds(server)
  const made = (chance: Chance): RawRequest => mutateRequest(filled(chance.pick(httpRequests), ids), chance)
  // Everything that is used is loaded and compiled.
  for (const [index, given] of httpRequests.entries()) {
    const body = given.body ? Buffer.from(JSON.stringify(filled(given.body, ids))) : Buffer.alloc(0)
    const headers = [...Object.entries(filled(given.headers, ids)), ['content-length', `${body.length}`]]
    const request = {
      ...given,
      path: filled(given.path, ids),
      headers: headers as [string, string][],
      body,
      broken: false,
    }
    const { status, text } = await sendRaw(server.port, key, request, answerWithinMs)
    assert.ok(status >= 200 && status < 500, `${index} ${given.method} ${given.path}: ${text.slice(0, 400)}`)
  }
  return {
    server,
    count: Math.round(requests * 0.75),
    at: 8,
    every: 50,
    async send(chance, index) {
      if (index % 250 === 249) ids = await makeIds(server)
      const request = made(chance)
      const { status } = await sendRaw(server.port, key, request, answerWithinMs)
      if (status >= 500) return `answered ${status}`
      // A refusal that comes while a large body is on its way may be lost with the connection.
      const mayClose = request.broken || request.body.length > unreadBytes
      return status === 0 && !mayClose ? 'closed without an answer' : undefined
    },
    describe(chance) {
      const { method, path, headers, body } = made(chance)
      return `${method} ${path.slice(0, 200)} ${JSON.stringify(headers).slice(0, 200)} ${shown(body)}`
    },
  }
}

test('HTTP: every wire answers, and never with a defect', async t => {
  const servers: Attacked[] = []
  await run(async () => {
    const server = await attacked(t, { owners: ['ana', 'ben'], config: { server: { acp: true } } })
    servers.push(server)
    return httpFuzz(server)
  })
  for (const server of servers) {
    await assertWorks(server, 'ana')
    await assertWorks(server, 'ben')
    assertHealthy(server.log)
  }
})

// ---- WebSockets -------------------------------------------------------------------------------------------------

/** A socket that is opened again whenever the server has closed it. */
class FuzzedSocket {
  readonly #url: string
  readonly #headers: Record<string, string>
  readonly #greet: (socket: WebSocket) => void
  #socket: WebSocket | undefined
  received: JsonObject[] = []

  constructor(url: string, key: string, greet: (socket: WebSocket) => void = () => {}) {
    this.#url = url
    this.#headers = { authorization: `Bearer ${key}` }
    this.#greet = greet
  }

  async open(): Promise<WebSocket> {
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#socket
    const socket = new WebSocket(this.#url, { headers: this.#headers })
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('message', data => this.received.push(JSON.parse((data as Buffer).toString()) as JsonObject))
    await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject))
    this.#greet(socket)
    return socket
  }

  /** Sends a frame and waits until the server has read it. */
  async send(frame: Buffer, binary: boolean): Promise<void> {
    const socket = await this.open()
    await new Promise<void>(resolve => {
      const read = (): void => {
        socket.off('close', read).off('pong', read)
        resolve()
      }
      socket.on('close', read).on('pong', read)
      socket.send(binary ? frame : frame.toString('utf8'), { binary }, () => {})
      socket.ping(() => {})
    })
  }

  close(): void {
    this.#socket?.terminate()
  }
}

function defectIn(received: readonly JsonObject[]): string | undefined {
  const found = received.find(
    ({ error, code }) => code === 'internal' || (isJsonObject(error) && error['code'] === -32603),
  )
  return found && `answered ${JSON.stringify(found).slice(0, 300)}`
}

type SocketFuzz = Fuzz & { end(): Promise<void> }

async function socketFuzz(
  t: TestContext,
  path: '/api/ws' | '/acp',
  messages: readonly JsonObject[],
): Promise<SocketFuzz> {
  const server = await attacked(t, { owners: ['ana'], config: { server: { acp: true } } })
  const session = await server.session('ana')
  await server.turn(session, 'hello', { as: 'ana' })
  const ids = { $SESSION: session }
  const made = (chance: Chance): { frame: Buffer; binary: boolean } => ({
    binary: chance.maybe(0.03),
    frame: mutateMessage(filled(chance.pick(messages), ids), chance),
  })
  const key = server.keys['ana'] ?? ''
  const greet = (socket: WebSocket): void => {
    if (path === '/acp') socket.send(JSON.stringify(initialize))
  }
  const sockets = Array.from(
    { length: 4 },
    () => new FuzzedSocket(`${server.url.replace('http', 'ws')}${path}`, key, greet),
  )
  t.after(() => {
    for (const socket of sockets) socket.close()
  })
  for (const message of messages)
    await sockets[0]?.send(Buffer.from(JSON.stringify(filled(message, ids))), false)
  return {
    server,
    count: Math.round(requests * 0.075),
    at: 4,
    every: 50,
    async send(chance, index) {
      const socket = sockets[index % sockets.length]!
      const { frame, binary } = made(chance)
      await socket.send(frame, binary)
      return defectIn(socket.received.splice(0))
    },
    describe: chance => shown(made(chance).frame),
    async end() {
      for (const socket of sockets) assert.equal(defectIn(socket.received), undefined)
      await assertWorks(server, 'ana')
      assertHealthy(server.log)
    },
  }
}

for (const [name, path, messages] of [
  ['DeltaKit', '/api/ws', deltakitFrames],
  ['ACP', '/acp', acpMessages],
] as const)
  test(`WebSocket: ${name} reads any frame, or refuses it`, async t => {
    const made: SocketFuzz[] = []
    await run(async () => {
      const fuzz = await socketFuzz(t, path, messages)
      made.push(fuzz)
      return fuzz
    })
    for (const fuzz of made) await fuzz.end()
  })

// ---- a pipe -----------------------------------------------------------------------------------------------------

const openIn = async (editor: Editor): Promise<string> => {
  const { result } = await editor.ask('session/new', { cwd: '/tmp', mcpServers: [] })
  return (result as { sessionId: string }).sessionId
}

async function pipeFuzz(editor: Editor): Promise<Fuzz> {
  await editor.ask('initialize', initialize['params'] as JsonObject)
  const ids = { $SESSION: await openIn(editor) }
  // Named servers are started, and a file is not one of them.
  const messages = acpMessages.filter(({ method }) => method !== 'session/delete')
  const made = (chance: Chance): Buffer => {
    const line = mutateMessage(filled(chance.pick(messages), ids), chance)
    // A line break ends a line.
    return Buffer.from(line.map(byte => (byte === 0x0a ? 0x20 : byte)))
  }
  return {
    server: editor,
    count: Math.round(requests * 0.1),
    at: 1,
    every: 25,
    async send(chance) {
      editor.write(made(chance))
      await editor.ask('session/list', {})
      return defectIn(editor.received.splice(0))
    },
    describe: chance => shown(made(chance)),
  }
}

test('a pipe: turnwire acp reads any line, or refuses it, and prints nothing else', async t => {
  const editors: Editor[] = []
  await run(async () => {
    const editor = startEditor(t)
    editors.push(editor)
    return pipeFuzz(editor)
  })
  for (const editor of editors) {
    const { result } = await editor.ask('session/prompt', {
      sessionId: await openIn(editor),
      prompt: [{ type: 'text', text: 'hello' }],
    })
    assert.deepEqual(result, { stopReason: 'end_turn' })
    assertHealthy(editor.log())
  }
})
