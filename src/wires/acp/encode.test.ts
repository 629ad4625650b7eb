// The encoder without a server: items in, updates out.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AgentInfo, FollowItem, SessionSummary } from '../../engine/index.ts'
import type { Delta, Event } from '../../language/events.ts'
import { AcpEncoder, type AcpUpdate, type EncoderOptions } from './encode.ts'

const info: AgentInfo = {
  name: 'helper',
  version: '1',
  tools: [
    {
      name: 'look',
      title: 'Look',
      description: 'Looks.',
      input: { form: 'json', schema: { type: 'object' } },
      kind: 'read',
      readOnly: true,
      idempotent: true,
      destructive: false,
      side: 'server',
      exposed: false,
      trust: 'trusted',
    },
  ],
  options: [{ name: 'mode', type: 'select', default: 'ask', options: ['ask', 'code'] }],
  choice: 'auto',
  parallel: true,
  clientTools: true,
  fullHistory: true,
  images: { http: true, data: true },
  model: { id: 'm', contextTokens: 100 },
}

const empty: SessionSummary = {
  id: 's',
  owner: 'o',
  agent: 'helper',
  wire: 'acp',
  status: 'idle',
  createdAt: 0,
  updatedAt: 0,
  seq: 1,
  settings: { tools: null, options: {}, clientTools: [] },
  entries: 0,
  calls: [],
  next: { do: 'rest' },
  grants: [],
  used: { tokens: 0 },
  known: [],
}

function encoder(over: Partial<EncoderOptions> = {}, summary: Partial<SessionSummary> = {}): AcpEncoder {
  return new AcpEncoder(
    {
      host: { info, models: undefined, modelInfos: {}, folder: '/w' },
      abilities: { notices: true, compaction: true, states: false, showsTerminals: false, elicitation: [] },
      cwd: '/w',
      replay: false,
      attached: () => [],
      ...over,
    },
    { ...empty, ...summary },
  )
}

type Given<Item = Event> = Item extends Event ? Omit<Item, 'v' | 'at'> : never

const event = (seq: number, given: Given): FollowItem => ({
  type: 'event',
  seq,
  event: { v: 1, at: 0, ...given } as Event, // `Given` is an event without these two.
})
const delta = (given: Delta): FollowItem => ({ type: 'delta', delta: given })

const turn = (seq: number, id = 't'): FollowItem =>
  event(seq, { type: 'turn.started', turn: id, parts: [{ type: 'text', text: 'hi' }], wire: 'acp' })
const text = (words: string): FollowItem => delta({ type: 'text', text: words })
const opened = delta({ type: 'call.opened', callId: 'c', name: 'look', form: 'json' })
const asked = (seq: number, path = 'a.txt'): FollowItem =>
  event(seq, {
    type: 'model.answered',
    parts: [{ type: 'call', id: 'c', name: 'look', form: 'json', text: JSON.stringify({ path }) }],
    stop: 'calls',
    model: 'm',
    usage: { input: 7, output: 3 },
  })
const settled = (seq: number): FollowItem =>
  event(seq, {
    type: 'call.settled',
    callId: 'c',
    outcome: { kind: 'ok', parts: [{ type: 'text', text: 'seen' }], from: { source: 'tool', tool: 'look' } },
  })
const ended = (seq: number, id = 't'): FollowItem => event(seq, { type: 'turn.ended', turn: id, stop: 'end' })

function takeAll(from: AcpEncoder, items: readonly FollowItem[]): AcpUpdate[] {
  return items.flatMap(item => from.take(item))
}

const tags = (updates: readonly AcpUpdate[]): string[] => updates.map(update => update.sessionUpdate)

/** What a client sees of its messages: the id, and the text so far. */
function messages(updates: readonly AcpUpdate[]): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const update of updates)
    if ('messageId' in update && update.messageId != null && update.content.type === 'text')
      texts[update.messageId] = (texts[update.messageId] ?? '') + update.content.text
  return texts
}

const conversation = [
  turn(2),
  delta({ type: 'step.started', step: 1 }),
  opened,
  asked(3),
  event(4, { type: 'call.started', callId: 'c', attempt: 1 }),
  settled(5),
  delta({ type: 'step.started', step: 2 }),
  text('Do'),
  text('ne'),
  event(6, {
    type: 'model.answered',
    parts: [{ type: 'text', text: 'Done' }],
    stop: 'end',
    model: 'm',
  }),
  ended(7),
]

describe('a turn', () => {
  test('is shown as it happens', () => {
    const updates = takeAll(encoder(), conversation)
    assert.deepEqual(tags(updates), [
      'user_message_chunk',
      'session_info_update',
      'tool_call',
      'tool_call_update',
      'usage_update',
      'tool_call_update',
      'tool_call_update',
      'agent_message_chunk',
      'agent_message_chunk',
      'session_info_update',
      'state',
    ])
    assert.deepEqual(messages(updates), { 't:user': 'hi', 't:2': 'Done' })
    assert.deepEqual(updates[3], {
      sessionUpdate: 'tool_call_update',
      toolCallId: 'c',
      title: 'Look: a.txt',
      rawInput: { path: 'a.txt' },
      locations: [{ path: '/w/a.txt' }],
    })
  })

  test('is replayed with the same messages, each call announced with its arguments', () => {
    const created = event(1, {
      type: 'session.created',
      owner: 'o',
      agent: 'helper',
      wire: 'acp',
      settings: empty.settings,
      seed: [],
    })
    const updates = takeAll(encoder({ replay: true }, { seq: 7 }), [created, ...conversation])
    assert.deepEqual(messages(updates), { 't:user': 'hi', 't:2': 'Done' })
    const [call] = updates.filter(update => update.sessionUpdate === 'tool_call')
    assert.deepEqual(call, {
      sessionUpdate: 'tool_call',
      toolCallId: 'c',
      status: 'pending',
      name: 'look',
      kind: 'read',
      title: 'Look: a.txt',
      rawInput: { path: 'a.txt' },
      locations: [{ path: '/w/a.txt' }],
    })
    assert.ok(!tags(updates).includes('state'), 'a replay tells no states')
  })

  test('of this client is shown without its message and without its end', () => {
    const own = encoder()
    own.own('t')
    const updates = takeAll(own, conversation)
    assert.deepEqual(messages(updates), { 't:2': 'Done' })
    assert.equal(tags(updates).at(-1), 'session_info_update')
  })

  test('that is under way is not shown again to a client that resumes it, but its calls are known', () => {
    const resuming = encoder(
      {},
      { seq: 3, status: 'running', turn: { id: 't', wire: 'acp', startedAt: 0, first: 2, steps: 1 } },
    )
    assert.equal(resuming.seq, 1)
    assert.deepEqual(takeAll(resuming, conversation.slice(0, 4)), [])
    const updates = takeAll(resuming, conversation.slice(4))
    assert.deepEqual(tags(updates).slice(0, 2), ['tool_call', 'tool_call_update'])
    assert.deepEqual(messages(updates), { 't:2': 'Done' })
  })
})

describe('a step that starts over', () => {
  test('goes on as another message, and its half-made calls have failed', () => {
    const updates = takeAll(encoder(), [
      turn(2),
      delta({ type: 'step.started', step: 1 }),
      text('Good morning'),
      opened,
      delta({ type: 'step.reset', step: 1 }),
      text('Good evening'),
      event(3, {
        type: 'model.answered',
        parts: [{ type: 'text', text: 'Good evening' }],
        stop: 'end',
        model: 'm',
      }),
    ])
    assert.deepEqual(messages(updates), {
      't:user': 'hi',
      't:1': 'Good morning',
      't:1:1': 'Good evening',
    })
    const last = updates.findLast(update => update.sessionUpdate === 'tool_call_update')
    assert.equal(last?.status, 'failed')
  })
})

describe('a call', () => {
  const requested = event(4, {
    type: 'approval.requested',
    callId: 'c',
    argsHash: 'h',
    toolHash: 't',
    rule: 'r',
    reason: 'why',
  })

  test('waits for a person until it is decided or settled', () => {
    const waiting = encoder()
    takeAll(waiting, [turn(2), opened, asked(3), requested])
    const [approval] = waiting.approvals
    assert.equal(approval?.callId, 'c')
    assert.equal(approval.argsHash, 'h')
    assert.deepEqual(approval.content, [{ type: 'content', content: { type: 'text', text: 'why' } }])
    assert.equal(approval.fields.title, 'Look: a.txt')
    waiting.take(settled(5))
    assert.deepEqual(waiting.approvals, [])
  })

  test('says what is easy to misread in its arguments, and its title has both ends', () => {
    const waiting = encoder()
    const path = `p\u0430ypal/${'x'.repeat(500)}/invoice\u202efdp.exe`
    takeAll(waiting, [turn(2), opened, asked(3, path), requested])
    const [approval] = waiting.approvals
    const said = JSON.stringify(approval?.content)
    assert.match(said, /1 hidden or control characters: U\+202E/)
    assert.match(said, /change the direction of text/)
    assert.match(said, /mixes letters of several alphabets/)
    assert.ok(said.includes('invoice\\\\u202efdp.exe'), 'spelled out')
    assert.match(
      approval?.fields.title ?? '',
      /^Look: p\u0430ypal\/x+ \[…\d+ characters…\] x+\/invoice\\u202efdp\.exe$/,
    )
  })

  test('in a terminal keeps the terminal as its content', () => {
    const updates = encoder()
    takeAll(updates, [turn(2), opened, asked(3)])
    assert.deepEqual(updates.terminal('c', 'term'), [
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: 'c',
        content: [{ type: 'terminal', terminalId: 'term' }],
      },
    ])
    assert.deepEqual(updates.take(delta({ type: 'output', callId: 'c', text: 'x' })), [])
    const [last] = updates.take(settled(4))
    assert.ok(last?.sessionUpdate === 'tool_call_update' && last.content === undefined)
  })

  test('whose terminal is known before the call starts shows it with the start', () => {
    const updates = encoder()
    assert.deepEqual(updates.terminal('c', 'term'), [])
    const all = takeAll(updates, [
      turn(2),
      opened,
      asked(3),
      event(4, { type: 'call.started', callId: 'c', attempt: 1 }),
    ])
    const last = all.at(-1)
    assert.ok(last?.sessionUpdate === 'tool_call_update')
    assert.deepEqual(last.content, [{ type: 'terminal', terminalId: 'term' }])
  })
})

test('settings that change are shown as options and as the mode', () => {
  const updates = encoder().take(
    event(2, { type: 'session.configured', settings: { options: { mode: 'code' } } }),
  )
  assert.deepEqual(tags(updates), ['config_option_update', 'current_mode_update'])
})

test('a state is told when it changes', () => {
  const told = encoder()
  const states = [{ type: 'ended' }, { type: 'running' }, { type: 'running' }, { type: 'waiting' }] as const
  assert.deepEqual(takeAll(told, states), [
    { sessionUpdate: 'state', state: 'running' },
    { sessionUpdate: 'state', state: 'requires_action' },
  ])
  assert.deepEqual(told.state, { state: 'requires_action' })
})
