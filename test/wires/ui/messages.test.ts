// The AI SDK's UI: messages while an answer is streamed, and its WebSocket transport, with the SDK itself.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { readUIMessageStream, type UIMessage, type UIMessageChunk, WebSocketChatTransport } from 'ai'
import { WebSocket } from 'ws'
import type { Script } from '../../../src/models/scripted/index.ts'
import { type Rig, rig, until } from '../rig.ts'
import { Chat, shown } from './client.ts'

const user = (id: string, text: string): UIMessage => ({ id, role: 'user', parts: [{ type: 'text', text }] })

async function say(at: Rig, chat: string, message: UIMessage, during?: string): Promise<Response> {
  return at.request('POST', `/ui/helper/${chat}/messages`, { message, ...(during && { during }) })
}

test('a message that steers is a part of the answer that is streamed; one that is queued is answered next', async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'slow' }] }, { text: 'In blue.' }, { text: 'Tidy.' }],
  })
  const chat = new Chat(at, { id: 'chat-1' })
  const sent = chat.sendMessage({ text: 'paint' })
  await until(() => at.runs.length > 0)
  const steered = await say(at, 'chat-1', user('m2', 'in blue'))
  assert.equal(steered.status, 202)
  assert.equal(((await steered.json()) as { state: string }).state, 'queued')
  await say(at, 'chat-1', user('m3', 'then tidy'), 'queue')
  const dropped = (await (await say(at, 'chat-1', user('m4', 'never mind'), 'queue')).json()) as {
    messageId: string
  }
  const again = (await (await say(at, 'chat-1', user('m4', 'never mind'), 'queue')).json()) as {
    messageId: string
  }
  assert.equal(again.messageId, dropped.messageId, 'the same message is said once')
  const path = `/ui/helper/chat-1/messages`
  const listed = (await (await at.request('GET', path)).json()) as { messages: { during: string }[] }
  assert.deepEqual(
    listed.messages.map(({ during }) => during),
    ['steer', 'queue', 'queue'],
  )
  assert.equal((await at.request('DELETE', `${path}/${dropped.messageId}`)).status, 204)
  at.release()
  await sent
  const last = chat.messages.at(-1)!
  const steering = last.parts.find(part => part.type === 'steering-message')
  assert.deepEqual(steering?.type === 'steering-message' && steering.parts, [
    { type: 'text', text: 'in blue' },
  ])
  assert.match(shown(last).join(), /In blue\./)
  assert.doesNotMatch(shown(last).join(), /Tidy/)
  const session = chat.answers[0]?.headers.get('x-session-id') ?? ''
  const resumed = await at.turnwire.resume(session, { owner: 'alice' })
  await until(async () => JSON.stringify(await resumed.history()).includes('Tidy.'))
  assert.doesNotMatch(JSON.stringify(await resumed.history()), /never mind/)
})

function transport(t: TestContext, at: Rig): WebSocketChatTransport<UIMessage> {
  class Keyed extends WebSocket {
    constructor(url: string | URL) {
      super(url, { headers: at.headers() })
    }
  }
  const made = new WebSocketChatTransport({
    url: `${at.url}/ui/helper/socket`,
    // The SDK wants the constructor of a browser, and uses what both have.
    webSocket: Keyed as never,
  })
  t.after(() => made.close())
  return made
}

async function messageOf(stream: ReadableStream<UIMessageChunk>): Promise<UIMessage> {
  let last: UIMessage | undefined
  for await (const message of readUIMessageStream({ stream })) last = message
  assert.ok(last)
  return last
}

const request = (chatId: string, messages: UIMessage[]) => ({
  chatId,
  messages,
  trigger: 'submit-message' as const,
  messageId: undefined,
  abortSignal: undefined,
})

test('the WebSocket transport sends several messages at once, each with its own answer', async t => {
  const at = await rig(t, {
    script: ({ history }) => ({ text: `Answer ${history.length}.`, chunk: 3 }),
  })
  const over = transport(t, at)
  const [one, two] = await Promise.all([
    over.sendMessages(request('chat-a', [user('m1', 'one')])),
    over.sendMessages(request('chat-b', [user('m1', 'two')])),
  ])
  const messages = await Promise.all([messageOf(one), messageOf(two)])
  for (const message of messages) assert.match(shown(message).join(), /Answer 1\./)
})

test('a message is resumed over another socket from its start; a chat at rest has none', async t => {
  const at = await rig(t, { script: [{ text: 'On it.', calls: [{ name: 'slow' }] }, { text: 'Done.' }] })
  const first = transport(t, at)
  assert.equal(await first.reconnectToStream({ chatId: 'chat-1' }), null)
  const stream = await first.sendMessages(request('chat-1', [user('m1', 'go')]))
  await until(() => at.runs.length > 0)
  first.close()
  await stream.cancel().catch(() => {})
  const second = transport(t, at)
  const resumed = await second.reconnectToStream({ chatId: 'chat-1' })
  assert.ok(resumed)
  at.release()
  assert.match(shown(await messageOf(resumed)).join(), /On it\..*Done\./)
})

test('a request that is wrong is an error of its own, and the socket stays open', async t => {
  const at = await rig(t, { script: [{ text: 'Fine.' }] })
  const over = transport(t, at)
  await assert.rejects(async () => messageOf(await over.sendMessages(request('chat-1', []))))
  const stream = await over.sendMessages(request('chat-1', [user('m1', 'go')]))
  assert.match(shown(await messageOf(stream)).join(), /Fine\./)
})

test('abort over the socket ends the turn of that request alone', async t => {
  const at = await rig(t, {
    script: ({ history }) =>
      JSON.stringify(history).includes('wait') ? { calls: [{ name: 'slow' }] } : { text: 'Fine.' },
  })
  const over = transport(t, at)
  const stop = new AbortController()
  const waiting = await over.sendMessages({
    ...request('chat-a', [user('m1', 'wait')]),
    abortSignal: stop.signal,
  })
  const read = messageOf(waiting)
  await until(() => at.runs.length > 0)
  stop.abort()
  await read.catch(() => {})
  const sessions: { id: string; status: string }[] = []
  await until(async () => {
    sessions.length = 0
    for await (const session of at.turnwire.sessions({ owner: 'alice' })) sessions.push(session)
    return sessions.every(({ status }) => status === 'idle')
  })
  const id = sessions[0]?.id ?? ''
  assert.equal((await at.sessions.peek('alice', id)).lastStop?.stop, 'cancelled')
  const other = await over.sendMessages(request('chat-b', [user('m1', 'go')]))
  assert.match(shown(await messageOf(other)).join(), /Fine\./)
})

type RawFrame = {
  type: string
  requestId: string
  sequence?: number
  chunk?: UIMessageChunk
  errorText?: string
}

/** Frames as they are, for what the SDK's transport never sends. */
async function rawSocket(t: TestContext, at: Rig, who?: 'bob') {
  const headers = at.headers(who)
  const socket = new WebSocket(`${at.url.replace('http', 'ws')}/ui/helper/socket`, { headers })
  t.after(() => socket.close())
  const frames: RawFrame[] = []
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString()) as RawFrame))
  await new Promise(resolve => socket.once('open', resolve))
  const of = (requestId: string) => frames.filter(frame => frame.requestId === requestId)
  return {
    socket,
    send: (frame: object) => socket.send(JSON.stringify(frame)),
    of,
    ends: (requestId: string) => until(() => /end|error|no-active/.test(of(requestId).at(-1)?.type ?? '')),
    chunks: (requestId: string) => of(requestId).filter(({ type }) => type === 'chunk'),
  }
}

const sendFrame = (requestId: string, id: string, text: string) => ({
  ...{ type: 'send', requestId, id, trigger: 'submit-message' },
  messages: [user('m1', text)],
})

const words = 'I look at the fence, and then I paint it.'
const paint: Script = [
  { text: words, calls: [{ name: 'slow' }], chunk: 4 },
  { text: 'It is done, and it is blue.', chunk: 4 },
]

/** The message that chunks make, as the SDK reads them. */
function readChunks(frames: readonly RawFrame[]): Promise<UIMessage> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const { chunk } of frames) if (chunk) controller.enqueue(chunk)
      controller.close()
    },
  })
  return messageOf(stream)
}

test('a client whose socket was lost goes on after the last chunk that it has, in the middle of a text', async t => {
  const at = await rig(t, { script: paint })
  const first = await rawSocket(t, at)
  first.send(sendFrame('r1', 'chat-1', 'go'))
  await until(() => at.runs.length > 0 && first.chunks('r1').length > 8)
  first.socket.terminate()
  const had = first.chunks('r1').slice(0, 6)
  assert.equal(had.at(-1)?.chunk?.type, 'text-delta')
  const second = await rawSocket(t, at)
  second.send({ type: 'resume', requestId: 'r2', id: 'chat-1', lastSequence: 5 })
  await until(() => second.chunks('r2').length > 2)
  // Once more, after a chunk of the second socket.
  second.socket.terminate()
  had.push(...second.chunks('r2').slice(0, 1))
  const third = await rawSocket(t, at)
  third.send({ type: 'resume', requestId: 'r3', id: 'chat-1', lastSequence: 6 })
  await until(() => third.chunks('r3').length > 1)
  at.release()
  await third.ends('r3')
  const all = [...had, ...third.chunks('r3')]
  assert.deepEqual(
    all.map(({ sequence }) => sequence),
    all.map((_, index) => index),
    'numbered from 0, without a gap',
  )
  assert.equal(third.of('r3').at(-1)?.type, 'end')
  const { parts } = await readChunks(all)
  assert.deepEqual(
    parts.flatMap(part => (part.type === 'text' ? part.text : [])),
    [words, 'It is done, and it is blue.'],
  )
  // What was lost with the last socket is there after the end too.
  const late = await rawSocket(t, at)
  late.send({ type: 'resume', requestId: 'r4', id: 'chat-1', lastSequence: all.length - 3 })
  await late.ends('r4')
  assert.deepEqual(
    late.chunks('r4').map(({ chunk }) => chunk),
    all.slice(-2).map(({ chunk }) => chunk),
  )
})

test('a number that is not known is refused; without one another page gets the whole message', async t => {
  const at = await rig(t, { script: paint })
  const one = await rawSocket(t, at)
  one.send(sendFrame('r1', 'chat-1', 'go'))
  await until(() => at.runs.length > 0 && one.chunks('r1').length > 8)
  const refused = async (who: 'bob' | undefined, lastSequence: unknown): Promise<string | undefined> => {
    const { send, of, ends } = await rawSocket(t, at, who)
    send({ type: 'resume', requestId: 'x', id: 'chat-1', lastSequence })
    await ends('x')
    return of('x').at(-1)?.errorText
  }
  assert.match((await refused(undefined, 5_000)) ?? '', /Leave out lastSequence/)
  assert.match((await refused(undefined, -1)) ?? '', /whole number/)
  assert.match((await refused('bob', 3)) ?? '', /no such chat/)
  const two = await rawSocket(t, at)
  two.send({ type: 'resume', requestId: 'r2', id: 'chat-1' })
  await until(() => two.chunks('r2').length > 4)
  at.release()
  await Promise.all([one.ends('r1'), two.ends('r2')])
  const [left, right] = await Promise.all([readChunks(one.chunks('r1')), readChunks(two.chunks('r2'))])
  assert.deepEqual(left, right)
})

test('after a restart a message is resumed from its start alone', async t => {
  const at = await rig(t, { script: paint })
  const first = await rawSocket(t, at)
  first.send(sendFrame('r1', 'chat-1', 'go'))
  await until(() => at.runs.length > 0 && first.chunks('r1').length > 8)
  const next = await at.restart({ script: paint })
  const { send, of, chunks, ends } = await rawSocket(t, next)
  send({ type: 'resume', requestId: 'r2', id: 'chat-1' })
  await until(() => next.runs.length > 0 && chunks('r2').length > 4)
  send({ type: 'resume', requestId: 'r3', id: 'chat-1', lastSequence: 4 })
  await ends('r3')
  assert.match(of('r3').at(-1)?.errorText ?? '', /Leave out lastSequence/)
  next.release()
  await ends('r2')
  assert.match(shown(await readChunks(chunks('r2'))).join(), /fence.*blue/)
})

test('resuming a message once more ends no turn, and an abort after a number ends it', async t => {
  const at = await rig(t, { script: paint })
  const over = transport(t, at)
  const sent = await over.sendMessages(request('chat-1', [user('m1', 'go')]))
  await until(() => at.runs.length > 0)
  // A chat of the SDK that resumes again aborts its request before.
  const again = new AbortController()
  assert.ok(await over.reconnectToStream({ chatId: 'chat-1', abortSignal: again.signal }))
  again.abort()
  const resumed = await over.reconnectToStream({ chatId: 'chat-1' })
  assert.ok(resumed)
  const other = await rawSocket(t, at)
  other.send({ type: 'resume', requestId: 'r2', id: 'chat-1', lastSequence: 2 })
  await until(() => other.chunks('r2').length > 2)
  const stops = async (): Promise<unknown[]> => {
    const found: unknown[] = []
    for await (const { id } of at.turnwire.sessions({ owner: 'alice' }))
      found.push((await at.sessions.peek('alice', id)).lastStop?.stop)
    return found
  }
  assert.deepEqual(await stops(), [undefined])
  other.send({ type: 'abort', requestId: 'r2' })
  await until(async () => (await stops())[0] === 'cancelled')
  await Promise.all([sent.cancel(), resumed.cancel()])
})

test("the SDK's own queue sends what was said meanwhile, one by one, and one of it at once if the user wants", async t => {
  const heard: string[] = []
  const at = await rig(t, {
    script: ({ history }) => {
      const last = history.at(-1)
      const said = last?.role === 'user' && last.parts[0]?.type === 'text' ? last.parts[0].text : 'the result'
      heard.push(said)
      return said === 'one' ? { calls: [{ name: 'slow' }] } : { text: `Heard ${said}.` }
    },
  })
  const chat = new Chat(at, { id: 'queued', experimental_queue: true })
  const sent = [chat.sendMessage({ text: 'one' })]
  await until(() => at.runs.length > 0)
  sent.push(chat.sendMessage({ text: 'two' }), chat.sendMessage({ text: 'three' }))
  const waiting = () =>
    chat.experimental_queuedMessages.map(({ id, parts: [part] }) => ({
      id,
      text: part?.type === 'text' && part.text,
    }))
  await until(() => waiting().length === 2)
  assert.deepEqual(heard, ['one'])
  const three = waiting().find(({ text }) => text === 'three')
  await chat.experimental_sendQueuedMessageNow(three?.id ?? '')
  await Promise.all(sent)
  await until(() => chat.status === 'ready' && waiting().length === 0)
  assert.deepEqual(heard, ['one', 'three', 'two'])
  assert.equal(chat.error, undefined)
  const id = chat.answers[0]?.headers.get('x-session-id') ?? ''
  const history = await (await at.turnwire.resume(id, { owner: 'alice' })).history()
  assert.deepEqual(
    history.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'user', 'assistant', 'user', 'assistant'],
  )
})
