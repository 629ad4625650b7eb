// Histories as steps of Interactions, stateful and stateless, checked by its strict double.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeKinds } from '../../../language/calls.ts'
import type { AssistantEntry, Entry } from '../../../language/history.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json/index.ts'
import type { ScriptedTurn } from '../../../testing/doubles/index.ts'
import { SessionCache } from '../../common/session-cache.ts'
import {
  answerOf,
  assistant,
  at,
  bodyOf,
  call,
  callsIn,
  entryOf,
  fold,
  older,
  outcome,
  PNG,
  request,
  results,
  rows,
  startTalk,
  target,
  tool,
  user,
} from '../google/harness.test.ts'
import { geminiInteractions } from './index.ts'

const talk = () => startTalk(geminiInteractions)
const prepare = (history: Entry[], over: Parameters<typeof request>[0] = {}, to = target()) =>
  geminiInteractions.prepare(request({ history, ...over }), to)
const stepsFor = (
  history: Entry[],
  over: Parameters<typeof request>[0] = {},
  to = target(),
): JsonObject[] => {
  const input = bodyOf(prepare(history, over, to))['input']
  return Array.isArray(input) ? input.filter(isJsonObject) : []
}
const typesOf = (steps: readonly JsonObject[]) => steps.map(step => step['type'])
const two = [
  { name: 'read', input: { p: 'x' } },
  { name: 'read', input: { p: 'y' } },
]
const DUMMY = { type: 'thought', signature: 'skip_thought_signature_validator' }
const stateful = target({ stateful: true })

// ---- requests ----------------------------------------------------------------------------------------------

test('the request is one interaction, stored only if the target is stateful', () => {
  const prepared = prepare([user('hi')], { system: 'be brief' })
  assert.equal(prepared.path, '/interactions')
  const body = bodyOf(prepared)
  assert.deepEqual(body['input'], [{ type: 'user_input', content: [{ type: 'text', text: 'hi' }] }])
  assert.deepEqual([body['store'], body['stream'], body['model']], [false, true, 'gemini-3-pro'])
  assert.equal(body['system_instruction'], 'be brief')
  assert.deepEqual(body['generation_config'], { max_output_tokens: 4096 })
  assert.equal(bodyOf(prepare([user('hi')], {}, stateful))['store'], true)
})

test('a stateless loop keeps thoughts byte for byte and pairs calls with results', () => {
  const double = talk()
  const first = double.ask({ thinking: 'žluť', text: 'reading', calls: two, chunk: 2 })
  const answer = answerOf(first)
  assert.equal(answer.stop, 'calls')
  assert.equal(answer.continuity, undefined)
  const entry = entryOf(answer)
  const { body } = double.ask({ text: 'done' }, request({ history: [user('a'), entry, results(entry)] }))
  const steps = rows(body['input'])
  assert.deepEqual(typesOf(steps), [
    'user_input',
    'thought',
    'model_output',
    'function_call',
    'function_call',
    'function_result',
    'function_result',
  ])
  assert.deepEqual(steps.slice(1, 5), at(first.whole, 'steps'))
  assert.deepEqual(
    steps.slice(5).map(step => step['call_id']),
    steps.slice(3, 5).map(step => step['id']),
  )
})

test('a foreign call has the documented thought before it and no foreign artifact', () => {
  const foreign = { origin: { protocol: 'gemini', family: 'gemini-3' }, data: { thoughtSignature: 'QQ==' } }
  const entry = assistant(
    { type: 'thinking', text: 'x', native: foreign },
    { type: 'text', text: 'so' },
    call('c1', 'read', { nativeId: 'f1', native: foreign }),
  )
  const history = [user('a'), entry, results(entry)]
  assert.deepEqual(stepsFor(history).slice(1, 4), [
    DUMMY,
    { type: 'model_output', content: [{ type: 'text', text: 'so' }] },
    { type: 'function_call', arguments: {}, id: 'c1', name: 'read' },
  ])
  assert.deepEqual(talk().judge(request({ history })), [])
  assert.deepEqual(stepsFor(history, {}, older)[1], DUMMY)
})

test('a thought goes back only with the very call that it led to', () => {
  for (const fault of [
    { kind: 'max-tokens-in-arguments' },
    { kind: 'call-ids', ids: 'empty' },
    { kind: 'call-ids', ids: 'duplicate' },
    { kind: 'call-ids', ids: 'long' },
  ] as const) {
    const double = talk()
    const entry = entryOf(
      answerOf(double.ask({ thinking: 'hm', calls: two.slice(0, fault.kind === 'call-ids' ? 2 : 1), fault })),
    )
    double.ask(
      { text: 'x' },
      request({ history: [user('a'), entry, results(entry, outcome('no', 'invalid'))] }),
    )
  }
})

test('two answers in a row get a user message between them', () => {
  const double = talk()
  const entry = entryOf(answerOf(double.ask({ thinking: 'hm', text: 'one' })))
  const again = entryOf(answerOf(double.ask({ thinking: 'hm', calls: two })))
  const history = [user('a'), entry, again, results(again)]
  assert.deepEqual(double.judge(request({ history })), [])
  assert.deepEqual(typesOf(stepsFor(history)).slice(0, 5), [
    'user_input',
    'thought',
    'model_output',
    'user_input',
    'thought',
  ])
})

test('ids that a vendor repeated are made unique, for the call and its result alike', () => {
  const native = {
    origin: { protocol: 'gemini-interactions', family: 'gemini-3' },
    data: { type: 'function_call', id: 'same', name: 'read' },
  }
  const entries = ['c1', 'c2'].map(id => assistant(call(id, 'read', { nativeId: 'same', native })))
  const history = entries.flatMap(entry => [user('a'), entry, results(entry)])
  assert.deepEqual(talk().judge(request({ history })), [])
  const ids = stepsFor(history).flatMap(step => step['call_id'] ?? [])
  assert.deepEqual(ids, ['same', 'c2'])
})

test('every outcome but ok is flagged as an error', () => {
  for (const kind of outcomeKinds) {
    const entry = assistant(call('c1', 'read'))
    const last = stepsFor([user('a'), entry, results(entry, outcome('why', kind))]).at(-1)
    assert.deepEqual(last, {
      type: 'function_result',
      call_id: 'c1',
      name: 'read',
      result: 'why',
      ...(kind !== 'ok' && { is_error: true }),
    })
  }
})

test('media is content, of a user and of a result', () => {
  const entry = assistant(call('c1', 'read'))
  const image = { ...outcome(''), parts: [{ type: 'image' as const, url: PNG }] }
  const history: Entry[] = [
    {
      role: 'user',
      parts: [
        { type: 'image', url: 'https://example.com/a.png' },
        { type: 'file', url: 'data:application/pdf;base64,JVBERg==', mediaType: 'application/pdf' },
      ],
    },
    entry,
    results(entry, image),
  ]
  const steps = stepsFor(history)
  assert.deepEqual(steps[0]?.['content'], [
    { type: 'image', mime_type: 'image/png', uri: 'https://example.com/a.png' },
    { type: 'document', mime_type: 'application/pdf', data: 'JVBERg==' },
  ])
  assert.deepEqual(steps.at(-1)?.['result'], [
    { type: 'text', text: '[image]' },
    { type: 'image', mime_type: 'image/png', data: 'iVBORw0KGgoAAAA=' },
  ])
  assert.deepEqual(talk().judge(request({ history })), [])
})

test('unusual histories still end with a user message', () => {
  const lone = assistant(call('c1', 'read'), call('c2', 'read'))
  const half: Entry = { role: 'tool', results: results(lone).results.slice(1) }
  const said = assistant({ type: 'text', text: 'b' })
  for (const history of [
    [],
    [said],
    [lone, results(lone)],
    [user('a'), said],
    [user('a'), said, said, user('')],
    [user('a'), lone, half, user('b'), results(lone), user('c')],
    [user('a'), { role: 'system', text: 'note' }, said],
  ] satisfies Entry[][])
    assert.deepEqual(talk().judge(request({ history })), [], JSON.stringify(history))
  assert.match(prepare([user('a'), said]).warnings.join(), /asked to continue/)
  assert.match(prepare([user('a'), { role: 'system', text: 'x' }]).warnings.join(), /mid-conversation/)
})

test('tools, instructions and settings are sent every time; results are never sent without tools', () => {
  const entry = assistant(call('c1', 'fs/read'))
  const history = [user('a'), entry, results(entry)]
  const body = bodyOf(prepare(history, { tools: [] }))
  assert.deepEqual(at(body, 'generation_config', 'tool_choice'), 'none')
  assert.deepEqual(talk().judge(request({ tools: [], history })), [])
  const tools = [
    tool('fs/read'),
    tool('now', { input: { form: 'json', schema: { type: 'object', properties: {} } } }),
  ]
  const declared = rows(bodyOf(prepare(history, { tools }))['tools'])
  assert.deepEqual(
    declared.map(one => 'parameters' in one),
    [true, false],
  )
  assert.deepEqual(talk().judge(request({ tools, history })), [])
})

test('every choice', () => {
  const rows = [
    ['auto', undefined],
    ['none', 'none'],
    ['required', 'any'],
    [{ tool: 'read' }, { allowed_tools: { mode: 'any', tools: ['read'] } }],
    [{ allowed: ['read', 'gone'], mode: 'auto' }, { allowed_tools: { mode: 'validated', tools: ['read'] } }],
    [{ allowed: ['patch'], mode: 'required' }, { allowed_tools: { mode: 'any', tools: ['patch'] } }],
    [{ tool: 'gone' }, 'none'],
  ] as const
  for (const [choice, expected] of rows) {
    const asked = request({
      choice:
        typeof choice === 'object' && 'allowed' in choice
          ? { ...choice, allowed: [...choice.allowed] }
          : choice,
    })
    assert.deepEqual(talk().judge(asked), [])
    assert.deepEqual(
      at(bodyOf(geminiInteractions.prepare(asked, target())), 'generation_config', 'tool_choice'),
      expected,
    )
  }
})

test('a text tool is declared and read as a function of one string', () => {
  const double = talk()
  const heard = double.ask({
    calls: [
      { name: 'patch', input: { input: '*** "a"\n' } },
      { name: 'patch', input: { text: 'odd' } },
    ],
    chunk: 3,
  })
  const answer = answerOf(heard)
  assert.deepEqual(
    callsIn(answer).map(one => [one.form, one.text]),
    [
      ['text', '*** "a"\n'],
      ['text', '{"text":"odd"}'],
    ],
  )
  assert.ok(heard.deltas.filter(delta => delta.type === 'arguments').length > 3)
  const entry = entryOf(answer)
  const { body } = double.ask({ text: 'x' }, request({ history: [user('a'), entry, results(entry)] }))
  assert.deepEqual(
    rows(body['input']).flatMap(step => step['arguments'] ?? []),
    [{ input: '*** "a"\n' }, { text: 'odd' }],
  )
})

test('without parallel calls only the first is kept, with a warning', () => {
  const double = talk()
  const heard = double.ask({ calls: two }, request({ parallel: false }), stateful)
  assert.match(heard.prepared.warnings.join(), /only the first call/)
  const answer = answerOf(heard)
  assert.equal(callsIn(answer).length, 1)
  assert.equal(answer.continuity, undefined)
  const entry = entryOf(answer)
  double.ask({ text: 'x' }, request({ history: [user('a'), entry, results(entry)] }), stateful)
})

// ---- the vendor's memory -----------------------------------------------------------------------------------

const roundTrip = (turn: ScriptedTurn = { thinking: 'hm', calls: two }) => {
  const double = talk()
  const history = [user('a')]
  const entry = entryOf(answerOf(double.ask(turn, request({ history }), stateful)))
  return { double, entry, history }
}

test('a stateful loop sends only what is new', () => {
  const { double, entry, history } = roundTrip()
  const next = [...history, entry, results(entry)]
  const second = double.ask({ text: 'done' }, request({ history: next }), stateful)
  assert.deepEqual(typesOf(rows(second.body['input'])), ['function_result', 'function_result'])
  assert.ok(second.body['previous_interaction_id'])
  assert.ok(second.body['tools'])
  assert.equal(second.prepared.encoded, 1)
  const answered = [...next, entryOf(answerOf(second)), user('more')]
  const third = double.ask({ text: 'x' }, request({ history: answered }), stateful)
  assert.deepEqual(typesOf(rows(third.body['input'])), ['user_input'])
})

test('the whole history is sent if the stored one differs or may not be used', () => {
  const { double, entry } = roundTrip()
  const continued = (history: Entry[], to = stateful) =>
    'previous_interaction_id' in bodyOf(prepare(history, {}, to))
  const tail = [entry, results(entry)]
  assert.equal(continued([user('a'), ...tail]), true)
  assert.equal(continued([user('a'), ...tail], target()), false)
  assert.equal(continued([user('edited'), ...tail]), false)
  assert.equal(continued([user('compacted'), user('a'), ...tail]), false)
  assert.equal(continued([user('a'), ...tail], target({ stateful: true, family: 'other' })), false)
  const changed: AssistantEntry = { ...entry, parts: [{ type: 'text', text: 'put in' }, ...entry.parts] }
  assert.equal(continued([user('a'), changed, results(changed)]), false)
  const elsewhere = assistant({ type: 'text', text: 'by another model' })
  assert.equal(continued([user('a'), ...tail, elsewhere, user('b')]), false)
  assert.equal(continued([user('a'), entry]), false)
  assert.deepEqual(double.judge(request({ history: [user('edited'), ...tail] }), stateful), [])
})

test('an answer that stopped at the vendor’s limit is continued by its token', () => {
  const raw = {
    id: 'v1_a',
    object: 'interaction',
    status: 'requires_continuation',
    continuation_token: 'tok',
    steps: [{ type: 'model_output', content: [{ type: 'text', text: 'half' }] }],
  }
  for (const to of [target(), stateful]) {
    const heard = talk().ask({ raw }, request({ history: [user('a')] }), to)
    const answer = answerOf(fold(geminiInteractions, heard.prepared, [{ data: JSON.stringify(raw) }]))
    assert.equal(answer.stop, 'pause')
    const body = bodyOf(prepare([user('a'), entryOf(answer)], {}, to))
    assert.equal(body['continuation_token'], 'tok')
    assert.equal(body['previous_interaction_id'], to.stateful ? 'v1_a' : undefined)
    assert.deepEqual(
      body['input'],
      to.stateful ? undefined : [{ type: 'user_input', content: [{ type: 'text', text: 'a' }] }],
    )
  }
})

test('a second request encodes only its new entries', () => {
  const double = talk()
  const tools = request().tools
  const history: Entry[] = [user('a')]
  const cache = new SessionCache()
  const encodedFor = (entries: Entry[]): number =>
    geminiInteractions.prepare(request({ history: entries, tools }), target(), cache).encoded
  assert.equal(encodedFor(history), 1)
  const entry = entryOf(answerOf(double.ask({ calls: two }, request({ tools, history }))))
  const longer = [...history, entry, results(entry)]
  assert.equal(encodedFor(longer), 2)
  assert.equal(encodedFor([...longer, user('b')]), 1)
})
