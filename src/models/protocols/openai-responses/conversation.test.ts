// Conversations with the strict double: which of the model's own items go back, when a request continues from a stored
// response, and when the whole history is sent instead.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entry } from '../../../language/history.ts'
import { isJsonObject, type Json } from '../../../lib/json/index.ts'
import type { ScriptedTurn } from '../../../testing/doubles/script.ts'
import { SessionCache } from '../../common/session-cache.ts'
import {
  call,
  conversation,
  itemsOf,
  outcome,
  request,
  results,
  stateful,
  target,
  user,
} from './harness.test.ts'
import { openaiResponses } from './index.ts'

// ---- conversations ---------------------------------------------------------------------------------------

const busy: ScriptedTurn = {
  thinking: 'I should look',
  text: 'let me see',
  calls: [
    { name: 'f', input: { a: 1 } },
    { name: 'sql', custom: true, text: 'SELECT 1' },
  ],
}
const search = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } }

test('stateless: every output item goes back in its place, byte for byte', () => {
  const { ask, history, last } = conversation(target)
  history.push(user('x'))
  const first = ask(busy).parts.map(part => part.native?.data)
  const second = ask({ thinking: 'more', raw: [search], text: 'hm', calls: [{ name: 'f' }] }).parts.map(
    part => part.native?.data,
  )
  ask({ text: 'done' })
  const items = itemsOf(last())
  assert.deepEqual(items.slice(1, 5), first)
  assert.deepEqual(items.slice(7, 11), second)
  assert.equal(items[2]?.['phase'], 'commentary')
  assert.ok(!('previous_response_id' in last()))
})

test('a second request encodes only its new entries', () => {
  const history: Entry[] = [user('x')]
  const cache = new SessionCache()
  assert.equal(openaiResponses.prepare(request(history), target, cache).encoded, 1)
  history.push({ role: 'assistant', parts: [call('a')] }, results(['a', outcome('y')]))
  const second = openaiResponses.prepare(request([...history]), target, cache)
  assert.equal(second.encoded, 2)
  const third = openaiResponses.prepare(request([...history]), target, cache)
  assert.equal(third.encoded, 0)
  assert.equal(third.body, second.body)
  assert.equal(openaiResponses.prepare(request(history), { ...target, family: 'other' }, cache).encoded, 3)
})

test('reasoning without the item that it led to is not sent', () => {
  const { ask, history, last } = conversation(target)
  history.push(user('x'))
  ask({ thinking: 'hm', stop: 'length' })
  history.push(user('go on'))
  ask({ thinking: 'hm', calls: [{ name: 'f', text: '{"a', cut: true }] })
  ask({ text: 'done' })
  assert.deepEqual(
    itemsOf(last()).map(({ type, id }) => [type, id]),
    [
      ['message', undefined],
      ['message', undefined],
      ['function_call', undefined],
      ['function_call_output', undefined],
    ],
  )
})

test('an edited answer is sent in plain items from the edit on', () => {
  const { ask, history, last } = conversation({ ...target, stateful: true })
  history.push(user('x'))
  ask(busy)
  const entry = history[1]
  assert.ok(entry?.role === 'assistant')
  history[1] = {
    ...entry,
    parts: entry.parts.map(part => (part.type === 'text' ? { ...part, text: '[redacted]' } : part)),
  }
  ask({ text: 'done' })
  assert.ok(!('previous_response_id' in last()))
  assert.deepEqual(itemsOf(last())[1], {
    type: 'message',
    role: 'assistant',
    content: '[redacted]',
    phase: 'commentary',
  })
})

test('reasoning whose text was changed is not sent', () => {
  const { ask, history, last } = conversation(target)
  history.push(user('x'))
  ask({ thinking: 'a secret', text: 'hello' })
  const entry = history[1]
  assert.ok(entry?.role === 'assistant')
  history[1] = {
    ...entry,
    parts: entry.parts.map(part => (part.type === 'thinking' ? { ...part, text: '[redacted]' } : part)),
  }
  history.push(user('and?'))
  ask({ text: 'done' })
  assert.deepEqual(
    itemsOf(last()).map(({ type }) => type),
    ['message', 'message', 'message'],
  )
})

test('items that the caller has to answer are not sent unanswered', () => {
  const { ask, history, last } = conversation(target)
  history.push(user('x'))
  const shell = { type: 'shell_call', call_id: 'sh_1', action: { commands: ['ls'] }, status: 'completed' }
  ask({ thinking: 'hm', raw: [shell], text: 'and then' })
  history.push(user('go on'))
  ask({
    raw: [shell, { type: 'shell_call_output', call_id: 'sh_1', output: [], status: 'completed' }],
    text: 'y',
  })
  assert.ok(!itemsOf(last()).some(({ type }) => type === 'shell_call' || type === 'reasoning'))
  history.push(user('go on'))
  ask({ text: 'done' })
  assert.deepEqual(
    itemsOf(last()).flatMap(({ type }) => (type === 'message' ? [] : [type])),
    ['shell_call', 'shell_call_output'],
  )
})

test('a program goes back with its calls, and its callers with their results', () => {
  const { ask, history, last } = conversation(target)
  const caller = { type: 'program', caller_id: 'prog_call' }
  const raw = [
    { type: 'program', call_id: 'prog_call', code: 'await f({})', fingerprint: 'fp' },
    { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}', caller, status: 'completed' },
  ]
  history.push(user('x'))
  ask({ raw })
  ask({ raw: [{ ...raw[1], call_id: 'call_2' }] })
  assert.deepEqual(itemsOf(last()).at(-1)?.['caller'], caller)
  ask({ text: 'done' })
  assert.equal(itemsOf(last()).filter(item => 'caller' in item).length, 4)
  history.splice(0, 3, user('(summary)'))
  ask({ text: 'done' })
  assert.ok(!itemsOf(last()).some(item => 'caller' in item))
})

test('an item that is in the history twice is sent with its id once', () => {
  const { ask, history, last } = conversation(target)
  history.push(user('x'))
  ask({ text: 'said' })
  history.push({ ...history[1]! }, user('y'))
  ask({ text: 'done' })
  assert.equal(itemsOf(last()).filter(item => 'id' in item).length, 1)
})

// ---- the vendor's memory ---------------------------------------------------------------------------------

test('stateful: each request continues from the last response with only the new items', () => {
  const { ask, history, last, sent } = conversation(stateful)
  history.push(user('x'))
  const first = ask(busy)
  assert.equal(last()['store'], true)
  ask({ calls: [{ name: 'f' }] })
  assert.deepEqual(
    itemsOf(last()).map(({ type }) => type),
    ['function_call_output', 'custom_tool_call_output'],
  )
  const kept = first.continuity?.data
  assert.equal(last()['previous_response_id'], isJsonObject(kept) && kept['response'])
  ask({ text: 'done' })
  history.push({ role: 'system', text: 'be brief' }, user('and now?'))
  ask({ text: 'well' })
  assert.deepEqual(
    itemsOf(last()).map(({ role }) => role),
    ['developer', 'user'],
  )
  assert.deepEqual(
    sent.map(body => 'previous_response_id' in body),
    [false, true, true, true],
  )
})

test('continuity survives a store that reorders keys', () => {
  const { ask, history, last } = conversation(stateful)
  history.push(user('x'))
  ask(busy)
  const sorted = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(sorted)
    if (!isJsonObject(value)) return value
    return Object.fromEntries(
      Object.entries(value)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, each]): [string, Json] => [key, sorted(each)]),
    )
  }
  // A log gives back what was put in, as JSON.
  const reloaded = sorted(JSON.parse(JSON.stringify(history)) as Json) as unknown as Entry[]
  history.splice(0, history.length, ...reloaded)
  ask({ text: 'done' })
  assert.ok('previous_response_id' in last())
})

const breaks: [why: string, change: (history: Entry[]) => void][] = [
  [
    'an answer of another vendor follows',
    history =>
      history.push(
        {
          role: 'assistant',
          parts: [{ type: 'text', text: 'hello' }],
          origin: { protocol: 'anthropic', family: 'claude' },
        },
        user('and?'),
      ),
  ],
  [
    'an answer was cancelled',
    history =>
      history.push(
        user('more'),
        { role: 'assistant', parts: [{ type: 'text', text: 'I wa' }] },
        user('and?'),
      ),
  ],
  ['the history was compacted', history => history.splice(0, 1, { role: 'system', text: 'summary' })],
  ['an earlier entry was edited', history => history.splice(0, 1, user('something else'))],
  ['an entry was left out', history => history.splice(0, 1)],
]
for (const [why, change] of breaks) {
  test(`stateful: the whole history is sent when ${why}, and later requests continue from there`, () => {
    const { ask, history, last } = conversation(stateful)
    history.push(user('x'))
    ask({ thinking: 'hm', text: 'hello' })
    history.push(user('do it'))
    ask(busy)
    change(history)
    ask({ thinking: 'hm', calls: [{ name: 'f' }] })
    assert.ok(!('previous_response_id' in last()))
    assert.ok(itemsOf(last()).length > 5)
    ask({ text: 'done' })
    assert.ok('previous_response_id' in last())
    assert.equal(itemsOf(last()).length, 1)
  })
}

test('stateful: an answer of another family, with a cut call or with unusable ids is not continued from', () => {
  for (const turn of [
    { calls: [{ name: 'f', text: '{"a', cut: true }] },
    { calls: [{ name: 'f', id: 'x'.repeat(65) }] },
  ] satisfies ScriptedTurn[]) {
    const { ask, history, last } = conversation(stateful)
    history.push(user('x'))
    ask(turn)
    ask({ text: 'done' })
    assert.ok(!('previous_response_id' in last()))
  }
  const { ask, history, last } = conversation(stateful)
  history.push(user('x'))
  ask(busy)
  ask({ text: 'done' }, { ...stateful, family: 'other' })
  assert.ok(!('previous_response_id' in last()))
})

test('a session may become stateful and stop being so at any step', () => {
  const { ask, history } = conversation(target)
  history.push(user('x'))
  for (const step of [target, stateful, stateful, target, stateful, target]) ask(busy, step)
  ask({ text: 'done' })
  assert.equal(history.length, 14)
})
