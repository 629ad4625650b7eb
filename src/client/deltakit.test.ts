import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AnyDeltaKitEvent,
  applyDeltaKit,
  type DeltaKitMessage,
  isPending,
  parseDeltaKit,
  parseDeltaKitEvent,
  readArgument,
  waitingCalls,
  withUserMessage,
} from './deltakit.ts'

/** The test of requirements finds these calls in the source. */
const cites = (...idsThenWords: string[]): string =>
  `${idsThenWords.at(-1)} [${idsThenWords.slice(0, -1).join(' ')}]`

function streamOf(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close()
      else controller.enqueue(bytes.slice(at, at + size))
      at += size
    },
  })
}

async function parsed(text: string, size = 7): Promise<AnyDeltaKitEvent[]> {
  const events: AnyDeltaKitEvent[] = []
  for await (const event of parseDeltaKit(streamOf(text, size))) events.push(event)
  return events
}

const delta = (text: string) => ({ type: 'text_delta', delta: text })
const frame = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

test(cites('DK-SSE-07', 'a stream gives the same events however it is split into chunks'), async () => {
  const text = `${frame(delta('é😀'))}${frame(delta('b'))}data: [DONE]\n\n`
  for (const size of [1, 2, 3, 5, 1000])
    assert.deepEqual(await parsed(text, size), [delta('é😀'), delta('b')])
})

test(cites('DK-SSE-08', 'data that is not an event is skipped'), async () => {
  const text =
    `: beat\n\nevent: x\nid: 3\nretry: 1\n${frame(delta('a'))}` +
    `data: {bad\n\ndata: 7\n\ndata: {"no":"type"}\n\ndata:${JSON.stringify(delta('b'))}\ndata: ${JSON.stringify(delta('c'))}\n\n` +
    `data: [DONE]\n\n${frame(delta('late'))}`
  assert.deepEqual(await parsed(text), [delta('a'), delta('b'), delta('c')])
})

test(
  cites('DK-SSE-09', 'a last block without its empty line is lost, and CRLF is not an empty line'),
  async () => {
    assert.deepEqual(await parsed(`${frame(delta('a'))}data: ${JSON.stringify(delta('b'))}\n`), [delta('a')])
    assert.deepEqual(await parsed(`data: ${JSON.stringify(delta('a'))}\r\n\r\n`), [])
  },
)

test('the parser stops when its signal aborts', async () => {
  const stop = new AbortController()
  const seen: AnyDeltaKitEvent[] = []
  for await (const event of parseDeltaKit(streamOf(frame(delta('a')).repeat(50), 20), stop.signal)) {
    seen.push(event)
    stop.abort()
  }
  assert.ok(seen.length < 50)
})

function after(...events: AnyDeltaKitEvent[]): DeltaKitMessage[] {
  return events.reduce(applyDeltaKit, withUserMessage([], 'hi'))
}

const call = { type: 'tool_call', tool_name: 'search', argument: '{"q":1}', call_id: 'c1' }

test(cites('DK-PART-01', 'DK-PART-02', 'a call is pending until it has a result'), () => {
  const [, before] = after(call)
  assert.deepEqual(before!.parts, [
    { type: 'tool_call', tool_name: 'search', argument: '{"q":1}', callId: 'c1' },
  ])
  assert.ok(isPending(before!.parts[0]!))
  assert.deepEqual(readArgument({ argument: '{"q":1}' }), { q: 1 })
  assert.equal(readArgument({ argument: '{' }), undefined)
  const [, later] = after(
    call,
    { ...call, call_id: 'c2' },
    { type: 'tool_result', call_id: 'c1', output: '' },
  )
  assert.deepEqual(
    later!.parts.map(part => isPending(part)),
    [false, true],
  )
})

test(cites('DK-PART-03', 'text is appended to the last text part'), () => {
  const reasoning = (text: string) => ({ type: 'reasoning', text })
  const [, message] = after(reasoning('a'), reasoning('b'), delta('c'), delta('d'), call, delta('e'))
  assert.deepEqual(
    message!.parts.map(part => (part.type === 'tool_call' ? part.tool_name : `${part.type} ${part.text}`)),
    ['reasoning ab', 'text cd', 'search', 'text e'],
  )
})

test(cites('DK-PART-04', 'a user message comes with an empty answer'), () => {
  const first = withUserMessage([], 'hi')
  const second = withUserMessage(first, 'ho')
  assert.deepEqual(
    second.map(({ role, parts }) => [role, parts.length]),
    [
      ['user', 1],
      ['assistant', 0],
      ['user', 1],
      ['assistant', 0],
    ],
  )
  assert.equal(new Set(second.map(({ id }) => id)).size, 4)
  assert.equal(first.length, 2)
  const user = first.slice(0, 1)
  assert.deepEqual(applyDeltaKit(user, delta('x')), user)
})

test(cites('DK-PART-05', 'waiting calls are listed by who must act on them'), () => {
  const asked = {
    type: 'tool_approval_request',
    tool_name: 'search',
    argument: '{}',
    arguments_hash: 'h',
    call_id: 'c1',
    reason: 'why',
  }
  const execute = { type: 'tool_execute_request', tool_name: 'search', argument: '{}', call_id: 'c2' }
  const messages = after(call, { ...call, call_id: 'c2' }, asked, execute)
  const { approvals, executions } = waitingCalls(messages)
  assert.deepEqual(
    approvals.map(({ callId, approval }) => [callId, approval]),
    [['c1', { hash: 'h', reason: 'why' }]],
  )
  assert.deepEqual(
    executions.map(({ callId }) => callId),
    ['c2'],
  )
  const done = applyDeltaKit(
    applyDeltaKit(messages, { type: 'tool_call_edited', call_id: 'c1', argument: '{"q":2}' }),
    { type: 'tool_result', call_id: 'c1', output: 'x' },
  )
  assert.deepEqual(waitingCalls(done).approvals, [])
  assert.equal(done[1]!.parts[0]!.type === 'tool_call' && done[1]!.parts[0]!.argument, '{"q":2}')
})

test(cites('DK-PART-06', 'a result without an id belongs to the last call without a result'), () => {
  const bare = { type: 'tool_call', tool_name: 'a', argument: '{}', call_id: null }
  const [, message] = after(
    bare,
    { ...bare, tool_name: 'b' },
    { type: 'tool_result', call_id: null, output: 'x' },
  )
  assert.deepEqual(message!.parts.map(isPending), [true, false])
  assert.ok(!('callId' in message!.parts[0]!))
})

test('an unknown event changes nothing', () => {
  const messages = after(call)
  assert.deepEqual(applyDeltaKit(messages, { type: 'progress', percent: 3 }), messages)
  assert.deepEqual(applyDeltaKit(messages, { type: 'tool_result', call_id: 'other', output: 'x' }), messages)
  assert.equal(parseDeltaKitEvent('{"type":7}'), undefined)
  assert.equal(parseDeltaKitEvent('x'), undefined)
  assert.deepEqual(applyDeltaKit([], delta('x')), [])
})
