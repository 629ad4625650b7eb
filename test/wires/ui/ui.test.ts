// The AI SDK's UI stream with the SDK itself: its chat and transport send, read and keep the messages.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  readUIMessageStream,
  type UIMessage,
} from 'ai'
import type { Model } from '../../../src/engine/index.ts'
import { type ScriptStep, scripted } from '../../../src/models/scripted/index.ts'
import { type Rig, rig, until } from '../rig.ts'
import { Chat, shown } from './client.ts'

const clipboard = {
  name: 'clipboard',
  description: 'Text on the clipboard',
  inputSchema: { type: 'object', properties: {} },
}
const body = { tools: [clipboard] }
const last = (chat: Chat): string[] => shown(chat.messages.at(-1)!)

/** Speaks once the page reads: deltas are for readers that are there. */
function onceRead(reading: Promise<void>, script: ScriptStep[]): Model {
  const inner = scripted(script)
  return {
    ...inner,
    respond: async (...given) => {
      await reading
      return inner.respond(...given)
    },
  }
}

test('a whole turn: the header, the chunks in order, the message', async t => {
  const reading = Promise.withResolvers<void>()
  const at = await rig(t, {
    model: onceRead(reading.promise, [
      {
        thinking: 'hm hm',
        text: 'Looking.',
        calls: [
          { name: 'search', input: { q: 'a' } },
          { name: 'fails' },
          { name: 'weather' },
          { name: 'picture' },
        ],
        chunk: 4,
      },
      { text: 'Found it.', chunk: 4 },
    ]),
  })
  const chat = new Chat(at, { id: 'chat-1', onAnswer: reading.resolve })
  await chat.sendMessage({ text: 'find it' })
  assert.equal(chat.status, 'ready')
  const [answer] = chat.answers
  assert.equal(answer?.headers.get('x-vercel-ai-ui-message-stream'), 'v1')
  assert.match(answer?.headers.get('content-type') ?? '', /^text\/event-stream/)
  assert.match(answer?.headers.get('cache-control') ?? '', /no-cache/)
  assert.match(answer?.headers.get('x-session-id') ?? '', /^sess_/)
  const { types } = chat
  assert.deepEqual(types.slice(0, 3), ['start', 'start-step', 'reasoning-start'])
  assert.deepEqual(types.slice(-3), ['text-end', 'finish-step', 'finish'])
  assert.equal(types.filter(type => type === 'start-step').length, 2)
  assert.equal(types.filter(type => type === 'finish-step').length, 2)
  assert.ok(types.indexOf('tool-input-start') < types.indexOf('tool-input-delta'))
  assert.ok(types.indexOf('tool-input-delta') < types.indexOf('tool-input-available'))
  assert.ok(types.indexOf('tool-input-available') < types.indexOf('tool-output-available'))
  assert.deepEqual(last(chat), [
    'reasoning: hm hm',
    'text: Looking.',
    'tool-search output-available "found a"',
    'tool-fails output-error The tool failed: no such luck',
    'tool-weather output-available {"degrees":4}',
    'tool-picture output-available [{"type":"text","text":"look"},{"type":"image","url":"https://example.org/a.png"}]',
    'text: Found it.',
  ])
})

test('the raw stream ends with [DONE], and readUIMessageStream reads it', async t => {
  const at = await rig(t, { script: [{ text: 'one\u2028two 😀' }] })
  const messages: UIMessage[] = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'x' }] }]
  const raw = await (
    await at.request('POST', '/ui/helper', { id: 'raw', messages, trigger: 'submit-message' })
  ).text()
  assert.ok(raw.endsWith('data: [DONE]\n\n'))
  assert.ok(!raw.includes('\u2028'))
  const transport = new DefaultChatTransport({ api: `${at.url}/ui/helper`, headers: at.headers() })
  const stream = await transport.sendMessages({
    chatId: 'read',
    messages,
    trigger: 'submit-message',
    messageId: undefined,
    abortSignal: undefined,
  })
  let message: UIMessage | undefined
  for await (const next of readUIMessageStream({ stream })) message = next
  assert.deepEqual(shown(message!), ['text: one\u2028two 😀'])
})

test('a chat continues, also after a restart, and only new content is used', async t => {
  const seen: number[] = []
  const first = await rig(t, {
    script: request => {
      seen.push(request.history.length)
      return { text: `answer ${seen.length}` }
    },
  })
  const chat = new Chat(first, { id: 'goes-on' })
  await chat.sendMessage({ text: 'one' })
  await chat.sendMessage({ text: 'two' })
  const at = await first.restart()
  const later = new Chat(at, { id: 'goes-on', messages: chat.messages })
  await later.sendMessage({ text: 'three' })
  assert.deepEqual(seen, [1, 3, 5])
  assert.equal((await at.sessions.list('alice', { limit: 9 })).rows.length, 1)
  assert.equal(new Set(later.messages.map(({ id }) => id)).size, 6)
})

test('a chat that is unknown begins with the messages that the client has', async t => {
  const at = await rig(t, {
    script: request => ({ text: request.history.map(({ role }) => role).join(' ') }),
  })
  const messages: UIMessage[] = [
    { id: 's', role: 'system', parts: [{ type: 'text', text: 'Be kind.' }] },
    { id: 'u', role: 'user', parts: [{ type: 'text', text: 'one' }] },
    {
      id: 'a',
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'reasoning', text: 'hm' },
        {
          type: 'tool-search',
          toolCallId: 'c1',
          state: 'output-available',
          input: { q: 'a' },
          output: { hits: 1 },
        },
        { type: 'tool-search', toolCallId: 'c2', state: 'input-available', input: { q: 'b' } },
        { type: 'step-start' },
        { type: 'text', text: 'found' },
      ],
    },
  ]
  const chat = new Chat(at, { id: 'from-elsewhere', messages })
  await chat.sendMessage({ text: 'two' })
  assert.deepEqual(last(chat), ['text: system user assistant tool assistant user'])
})

test('tools of the client: the stream ends, the page runs them, the message continues', async t => {
  const at = await rig(t, {
    script: [
      { text: 'Let me see. ', calls: [{ name: 'search', input: { q: 'a' } }, { name: 'clipboard' }] },
      { text: 'Thanks.', expect: { results: [{ text: 'found a' }, { text: '{"pasted":true}' }] } },
    ],
  })
  const asked: string[] = []
  const chat = new Chat(at, {
    body,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall }) => {
      asked.push(toolCall.toolName)
      if (toolCall.toolName === 'clipboard')
        void chat.addToolOutput({
          tool: 'clipboard',
          toolCallId: toolCall.toolCallId,
          output: { pasted: true },
        })
    },
  })
  await chat.sendMessage({ text: 'go' })
  await until(() => chat.status === 'ready' && chat.answers.length === 2)
  assert.deepEqual(asked.toSorted(), ['clipboard', 'search'])
  assert.equal(chat.messages.length, 2)
  assert.deepEqual(last(chat), [
    'text: Let me see. ',
    'tool-search output-available "found a"',
    'tool-clipboard output-available {"pasted":true}',
    'text: Thanks.',
  ])
})

test('a tool of the client that fails, and one whose input does not fit', async t => {
  const strict = {
    ...clipboard,
    inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  }
  const at = await rig(t, {
    script: [
      {
        calls: [
          { name: 'clipboard', input: { n: 1 } },
          { name: 'clipboard', input: { n: 'x' } },
          { name: 'clipboard', text: '{"n":' },
        ],
      },
      { text: 'I see.', expect: { results: [{ kind: 'error' }, { kind: 'invalid' }, { kind: 'invalid' }] } },
    ],
  })
  const ran: unknown[] = []
  const chat = new Chat(at, {
    body: { tools: [strict] },
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall }) => {
      ran.push(toolCall.input)
      void chat.addToolOutput({
        tool: 'clipboard',
        toolCallId: toolCall.toolCallId,
        state: 'output-error',
        errorText: 'no clipboard',
      })
    },
  })
  await chat.sendMessage({ text: 'go' })
  await until(() => chat.status !== 'submitted' && chat.status !== 'streaming' && chat.answers.length === 2)
  assert.deepEqual(ran, [{ n: 1 }])
  const [failed, misfit, torn, text] = last(chat)
  assert.equal(failed, 'tool-clipboard output-error no clipboard')
  assert.match(misfit!, /^tool-clipboard output-error The tool was not run/)
  assert.match(torn!, /^tool-clipboard output-error The tool was not run/)
  assert.equal(text, 'text: I see.')
})

const asks = [{ text: 'May I? ', calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'Done.' }]

async function asking(at: Rig): Promise<{ chat: Chat; id: string }> {
  const chat = new Chat(at, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
  await chat.sendMessage({ text: 'go' })
  const part = chat.messages.at(-1)!.parts.find(({ type }) => type === 'tool-mail')
  assert.ok(part && 'state' in part && part.state === 'approval-requested' && 'approval' in part)
  assert.deepEqual(at.runs, [])
  return { chat, id: part.approval!.id }
}

test('an approval: asked, given, and the same message continues', async t => {
  const at = await rig(t, { script: asks })
  const { chat, id } = await asking(at)
  assert.deepEqual(chat.chunks.at(-1), { type: 'finish', finishReason: 'tool-calls' })
  await chat.addToolApprovalResponse({ id, approved: true })
  await until(() => chat.status === 'ready' && chat.answers.length === 2)
  assert.deepEqual(at.runs, [{ tool: 'mail', input: { to: 'ana' } }])
  assert.equal(chat.messages.length, 2)
  assert.deepEqual(last(chat), ['text: May I? ', 'tool-mail output-available "sent to ana"', 'text: Done.'])
  assert.deepEqual(chat.chunks.at(-1), { type: 'finish', finishReason: 'stop' })
})

test('an approval that is refused', async t => {
  const at = await rig(t, {
    script: [asks[0]!, { text: 'Then not.', expect: { results: [{ text: 'Tool call denied: not her' }] } }],
  })
  const { chat, id } = await asking(at)
  await chat.addToolApprovalResponse({ id, approved: false, reason: 'not her' })
  await until(() => chat.status === 'ready' && chat.answers.length === 2)
  assert.deepEqual(last(chat), ['text: May I? ', 'tool-mail output-denied', 'text: Then not.'])
  assert.deepEqual(at.runs, [])
})

test('an approval and a tool of the client in one message', async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'mail', input: { to: 'ana' } }, { name: 'clipboard' }] }, { text: 'Both.' }],
  })
  const chat = new Chat(at, { body })
  await chat.sendMessage({ text: 'go' })
  const [mail, clip] = chat.messages.at(-1)!.parts.filter(({ type }) => type.startsWith('tool-'))
  assert.ok(mail && 'approval' in mail && clip && 'toolCallId' in clip)
  await chat.addToolOutput({ tool: 'clipboard', toolCallId: clip.toolCallId, output: 'pasted' })
  await chat.addToolApprovalResponse({ id: mail.approval!.id, approved: true })
  await chat.sendMessage()
  assert.deepEqual(last(chat), [
    'tool-mail output-available "sent to ana"',
    'tool-clipboard output-available "pasted"',
    'text: Both.',
  ])
})

test('a result and a user message in one request are both used, in that order', async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'clipboard' }] }, { text: 'Thanks.' }, { text: 'And now this.' }],
  })
  const chat = new Chat(at, { body })
  await chat.sendMessage({ text: 'go' })
  const clip = chat.messages.at(-1)!.parts.find(({ type }) => type === 'tool-clipboard')
  assert.ok(clip && 'toolCallId' in clip)
  await chat.addToolOutput({ tool: 'clipboard', toolCallId: clip.toolCallId, output: 'pasted' })
  await chat.sendMessage({ text: 'and more' })
  assert.deepEqual(last(chat), ['text: And now this.'])
  assert.equal(chat.messages.length, 4)
})

test('a tool of free text shows its text', async t => {
  const reading = Promise.withResolvers<void>()
  const script = [{ calls: [{ name: 'patch', text: '*** free' }], chunk: 3 }, { text: 'ok' }]
  const at = await rig(t, { model: onceRead(reading.promise, script) })
  const chat = new Chat(at, { onAnswer: reading.resolve })
  await chat.sendMessage({ text: 'go' })
  const start = chat.chunks.find(({ type }) => type === 'tool-input-start')
  assert.equal(start && 'inputEncoding' in start && start.inputEncoding, 'text')
  const part = chat.messages.at(-1)!.parts.find(({ type }) => type === 'tool-patch')
  assert.equal(part && 'input' in part && part.input, '*** free')
})

test('a step that starts over is taken back, its calls too', async t => {
  const { promise: seen, resolve } = Promise.withResolvers<void>()
  const at = await rig(t, {
    model: {
      id: 'wavering',
      async respond({ history }, watch) {
        if (history.length > 1) return { parts: [{ type: 'text', text: 'Done.' }], stop: 'end' }
        watch({ type: 'text', text: 'Wrong ' })
        watch({ type: 'call', index: 0, name: 'clipboard', form: 'json' })
        watch({ type: 'arguments', index: 0, text: '{"a":' })
        await seen
        watch({ type: 'reset' })
        watch({ type: 'text', text: 'Right' })
        return {
          parts: [
            { type: 'text', text: 'Right' },
            { type: 'call', name: 'search', form: 'json', text: '{"q":"b"}' },
          ],
          stop: 'calls',
        }
      },
    },
  })
  const chat = new Chat(at, { body })
  const sending = chat.sendMessage({ text: 'go' })
  await until(() => chat.types.includes('tool-input-delta'))
  resolve()
  await sending
  assert.deepEqual(last(chat), ['text: Right', 'tool-search output-available "found b"', 'text: Done.'])
})

test('a failure before the stream is a status, in the stream a chunk; the same message can be sent again', async t => {
  let asked = 0
  const at = await rig(t, {
    script: () => {
      asked += 1
      return asked === 1
        ? { text: 'so far', fail: { code: 'model_failed', message: 'Away.', after: 1 } }
        : { text: 'Here.' }
    },
  })
  const errors: string[] = []
  const chat = new Chat(at, { id: 'fails', onError: error => errors.push(error.message) })
  await chat.sendMessage({ text: 'x' })
  assert.equal(chat.status, 'error')
  assert.deepEqual(errors, ['Away.'])
  const again = new Chat(at, { id: 'fails', messages: chat.messages.slice(0, 1) })
  await again.sendMessage()
  assert.deepEqual(last(again), ['text: Here.'])
  const nobody = new Chat(at, { agent: 'nobody', onError: error => errors.push(error.message) })
  await nobody.sendMessage({ text: 'x' })
  assert.match(errors[1]!, /There is no agent named/)
})

// ---- resuming ---------------------------------------------------------------------------------------------------

test('nothing runs: 204, and no session is made', async t => {
  const at = await rig(t)
  const answer = await at.request('GET', '/ui/helper/never/stream')
  assert.equal(answer.status, 204)
  assert.deepEqual((await at.sessions.list('alice', { limit: 5 })).rows, [])
  const chat = new Chat(at, { id: 'over' })
  await chat.sendMessage({ text: 'x' })
  const before = structuredClone(chat.messages)
  await chat.resumeStream()
  assert.deepEqual([chat.answers.at(-1)?.status, chat.status], [204, 'ready'])
  assert.deepEqual(chat.messages, before)
})

/** Writes half of a call's input, and the rest when it is told to. */
function halfway(go: Promise<void>): NonNullable<Parameters<typeof rig>[1]>['model'] & object {
  return {
    id: 'halfway',
    async respond({ history }, watch) {
      if (history.length > 1) return { parts: [{ type: 'text', text: 'Done.' }], stop: 'end' }
      watch({ type: 'thinking', text: 'hm ' })
      watch({ type: 'text', text: 'Looking' })
      watch({ type: 'call', index: 0, name: 'search', form: 'json' })
      watch({ type: 'arguments', index: 0, text: '{"q":"some' })
      await go
      watch({ type: 'arguments', index: 0, text: 'thing"}' })
      return {
        parts: [
          { type: 'thinking', text: 'hm ' },
          { type: 'text', text: 'Looking' },
          { type: 'call', name: 'search', form: 'json', text: '{"q":"something"}' },
        ],
        stop: 'calls',
      }
    },
  }
}

const whole = [
  'reasoning: hm ',
  'text: Looking',
  'tool-search output-available "found something"',
  'text: Done.',
]

test('a page that comes back in the middle of a tool’s input sees the rest of it', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const at = await rig(t, { model: halfway(promise) })
  const first = new Chat(at, { id: 'b49' })
  const sending = first.sendMessage({ text: 'go' })
  await until(() => first.types.includes('tool-input-delta'))
  // The page is loaded anew, with what it had kept of the chat.
  const kept = structuredClone(first.messages)
  const second = new Chat(at, { id: 'b49', messages: kept })
  const resuming = second.resumeStream()
  await until(() => second.types.includes('tool-input-delta'))
  resolve()
  await Promise.all([sending, resuming])
  assert.deepEqual(last(second), whole)
  assert.deepEqual(last(first), whole)
  assert.equal(second.chunks.filter(({ type }) => type === 'tool-input-delta').length, 2)
  assert.deepEqual(
    second.messages.map(({ id }) => id),
    first.messages.map(({ id }) => id),
  )
})

test('a page that comes back doubles neither messages nor parts', async t => {
  for (const keeps of [1, 2]) {
    const { promise, resolve } = Promise.withResolvers<void>()
    const at = await rig(t, { model: halfway(promise) })
    const first = new Chat(at, { id: 'b50' })
    await first.resumeStream()
    const sending = first.sendMessage({ text: 'go' })
    await until(() => first.types.includes('tool-input-delta'))
    await Promise.all([first.stop(), sending])
    const second = new Chat(at, { id: 'b50', messages: structuredClone(first.messages.slice(0, keeps)) })
    const resuming = second.resumeStream()
    await until(() => second.types.includes('tool-input-delta'))
    resolve()
    await resuming
    assert.equal(second.messages.length, 2)
    assert.deepEqual(last(second), whole)
    assert.deepEqual(at.runs, [{ tool: 'search', input: { q: 'something' } }])
  }
})

test('a page whose connection broke doubles neither messages nor parts', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const at = await rig(t, { model: halfway(promise) })
  const chat = new Chat(at, { id: 'broken' })
  await chat.resumeStream()
  const sending = chat.sendMessage({ text: 'go' })
  await until(() => chat.types.includes('tool-input-delta'))
  await Promise.all([chat.stop(), sending])
  const resuming = chat.resumeStream()
  await until(() => chat.types.filter(type => type === 'tool-input-delta').length === 2)
  resolve()
  await resuming
  assert.equal(chat.messages.length, 2)
  assert.deepEqual(last(chat), whole)
})

test('a turn that continues after a restart is found by its chat', async t => {
  const script = [{ text: 'Wait. ', calls: [{ name: 'slow' }] }, { text: 'Done.' }]
  const first = await rig(t, { script })
  const chat = new Chat(first, { id: 'restarted' })
  const sending = chat.sendMessage({ text: 'go' }).catch(() => {})
  // The page has the beginning of the message before the server goes away.
  await until(() => first.runs.length === 1 && chat.messages.length === 2)
  const at = await first.restart()
  await sending
  await until(() => at.runs.length === 1)
  const later = new Chat(at, { id: 'restarted', messages: chat.messages.slice(0, 1) })
  const resuming = later.resumeStream()
  await until(() => later.types.includes('tool-input-available'))
  at.release()
  await resuming
  assert.deepEqual(last(later), ['text: Wait. ', 'tool-slow output-available "at last"', 'text: Done.'])
  assert.equal(later.messages[1]!.id, chat.messages[1]!.id)
})

test('a page that comes back after an approval sees the whole message', async t => {
  const at = await rig(t, {
    script: [
      { text: 'May I? ', calls: [{ name: 'mail', input: { to: 'ana' } }] },
      { calls: [{ name: 'slow' }] },
      { text: 'Done.' },
    ],
  })
  const { chat, id } = await asking(at)
  void chat.addToolApprovalResponse({ id, approved: true })
  await until(() => at.runs.length === 2)
  const later = new Chat(at, { id: chat.id, messages: structuredClone(chat.messages) })
  const resuming = later.resumeStream()
  await until(() => later.types.filter(type => type === 'tool-input-available').length === 2)
  at.release()
  await resuming
  assert.equal(later.messages.length, 2)
  assert.deepEqual(last(later), [
    'text: May I? ',
    'tool-mail output-available "sent to ana"',
    'tool-slow output-available "at last"',
    'text: Done.',
  ])
})

// ---- refusals ---------------------------------------------------------------------------------------------------

test('bad input is refused with a message and records nothing', async t => {
  const at = await rig(t)
  const say = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'x' }] }
  const good = { id: 'c', messages: [say], trigger: 'submit-message' }
  const file = (part: object) => ({ ...good, messages: [{ ...say, parts: [{ type: 'file', ...part }] }] })
  const bodies: unknown[] = [
    '',
    '[]',
    {},
    { ...good, id: 7 },
    { ...good, id: '' },
    { ...good, messages: [] },
    { ...good, messages: 'x' },
    { ...good, messages: [{ ...say, id: undefined }] },
    { ...good, messages: [{ ...say, role: 'robot' }] },
    { ...good, messages: [{ ...say, parts: 'x' }] },
    { ...good, messages: [{ ...say, parts: [] }] },
    { ...good, trigger: 'other' },
    { ...good, tools: [{ name: 'search', description: 'taken' }] },
    file({ url: 'http://x.y/z', mediaType: 'image/png' }),
    file({ url: 'https://x.y/z' }),
    file({ url: 'data:image/png;base64,!', mediaType: 'image/png' }),
  ]
  for (const given of bodies) {
    const answer = await at.request('POST', '/ui/helper', given)
    assert.equal(answer.status, 400, JSON.stringify(given))
    assert.ok(((await answer.json()) as { error: string }).error.length > 10)
  }
  assert.deepEqual((await at.sessions.list('alice', { limit: 5 })).rows, [])
})

test('a chat is its owner’s; a session of another owner is not found', async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'x' }] })
  const mine = new Chat(at, { id: 'same' })
  const sending = mine.sendMessage({ text: 'x' })
  await until(() => at.runs.length === 1)
  assert.equal((await at.request('GET', '/ui/helper/same/stream', undefined, { who: 'bob' })).status, 204)
  const id = mine.answers[0]!.headers.get('x-session-id')!
  const messages = [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'x' }] }]
  assert.equal((await at.request('POST', '/ui/helper', { id, messages }, { who: 'bob' })).status, 404)
  assert.equal((await at.request('GET', `/ui/helper/${id}/stream`, undefined, { who: 'bob' })).status, 404)
  assert.equal((await at.request('POST', '/ui/other', { id, messages })).status, 400)
  assert.equal((await at.request('GET', '/ui/helper/same/stream', undefined, { who: 'nobody' })).status, 401)
  at.release()
  await sending
})
