// Histories as contents of generateContent, checked by its strict double.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeKinds } from '../../../language/calls.ts'
import type { Entry } from '../../../language/history.ts'
import type { JsonObject } from '../../../lib/json/index.ts'
import { SessionCache } from '../../common/session-cache.ts'
import {
  answerOf,
  assistant,
  at,
  bodyOf,
  call,
  callsIn,
  entryOf,
  older,
  outcome,
  PNG,
  request,
  results,
  rows,
  startTalk,
  target,
  user,
} from '../google/harness.test.ts'
import { geminiGenerate } from './index.ts'

const talk = () => startTalk(geminiGenerate)
const bodyFor = (history: Entry[], over: Parameters<typeof request>[0] = {}, to = target()): JsonObject =>
  bodyOf(geminiGenerate.prepare(request({ history, ...over }), to))
const two = [
  { name: 'read', input: { p: 'x' } },
  { name: 'read', input: { p: 'y' } },
]
const DUMMY = 'skip_thought_signature_validator'

// ---- requests ----------------------------------------------------------------------------------------------

test('the request goes to the stream of the model', () => {
  const { path, reading, encoded } = geminiGenerate.prepare(request(), target())
  assert.equal(path, '/models/gemini-3-pro:streamGenerateContent?alt=sse')
  assert.deepEqual(
    [...reading.names],
    [
      ['read', 'read'],
      ['patch', 'patch'],
    ],
  )
  assert.equal(encoded, 1)
})

test('a loop of parallel calls keeps order, ids and signatures', () => {
  const double = talk()
  const first = double.ask({ thinking: 'hm', calls: two, text: 'reading' })
  const answer = answerOf(first)
  assert.equal(answer.stop, 'calls')
  const entry = entryOf(answer)
  const history = [user('hello'), entry, results(entry)]
  const second = double.ask({ text: 'done' }, request({ history }))
  const sent = at(second.body, 'contents', 1, 'parts')
  const given = first.frames.flatMap(
    frame => at(JSON.parse(frame.data), 'candidates', 0, 'content', 'parts') ?? [],
  )
  const signed = (parts: unknown) =>
    rows(parts).filter(part => 'thoughtSignature' in part || 'functionCall' in part)
  assert.deepEqual(signed(sent), signed(given))
  assert.equal(answerOf(second).stop, 'end')
})

test('calls without ids are paired by order, and the same function twice keeps both', () => {
  const double = talk()
  const answer = answerOf(double.ask({ calls: two, fault: { kind: 'omit-ids' } }))
  assert.deepEqual(
    callsIn(answer).map(one => one.nativeId),
    [undefined, undefined],
  )
  const entry = entryOf(answer)
  const tools: Entry = {
    role: 'tool',
    results: results(entry)
      .results.map((result, index) => ({ ...result, outcome: outcome(`r${index}`) }))
      .reverse(),
  }
  const { body } = double.ask({ text: 'x' }, request({ history: [user('a'), entry, tools] }))
  assert.deepEqual(at(body, 'contents', 2, 'parts'), [
    { functionResponse: { name: 'read', response: { output: 'r0' } } },
    { functionResponse: { name: 'read', response: { output: 'r1' } } },
  ])
})

for (const ids of ['empty', 'duplicate', 'long'] as const)
  test(`${ids} call ids go round`, () => {
    const double = talk()
    const entry = entryOf(answerOf(double.ask({ calls: two, fault: { kind: 'call-ids', ids } })))
    double.ask({ text: 'x' }, request({ history: [user('a'), entry, results(entry)] }))
  })

test('a history that begins with an answer gets a user message before it', () => {
  const entry = assistant(call('c1', 'read'))
  const body = bodyFor([entry, results(entry)])
  assert.deepEqual(at(body, 'contents', 0), { role: 'user', parts: [{ text: 'Continue.' }] })
  assert.deepEqual(talk().judge(request({ history: [entry, results(entry)] })), [])
})

test('an empty history, and one that ends with an answer, get a user message at the end', () => {
  assert.deepEqual(at(bodyFor([]), 'contents'), [{ role: 'user', parts: [{ text: 'Continue.' }] }])
  const prepared = geminiGenerate.prepare(
    request({ history: [user('a'), assistant({ type: 'text', text: 'b' })] }),
    target(),
  )
  assert.equal(at(bodyOf(prepared), 'contents', -1, 'role'), 'user')
  assert.match(prepared.warnings.join(), /asked to continue/)
})

test('neighbours of one role are one content', () => {
  const entry = assistant(call('c1', 'read'))
  const body = bodyFor([
    user('a'),
    user('b'),
    entry,
    results(entry),
    user('c'),
    assistant({ type: 'text', text: 'd' }),
    user('e'),
  ])
  assert.deepEqual(
    rows(at(body, 'contents')).map(one => one['role']),
    ['user', 'model', 'user', 'model', 'user'],
  )
})

test('the first foreign call of each step has the documented signature and no foreign artifact', () => {
  const foreign = { origin: { protocol: 'anthropic', family: 'claude' }, data: { signature: 'Eq' } }
  const entry = assistant(
    { type: 'thinking', text: 'secret', native: foreign },
    { type: 'text', text: 'so', native: foreign },
    call('c1', 'read', { nativeId: 'toolu_1', native: foreign }),
    call('c2', 'read'),
  )
  const history = [
    user('a'),
    entry,
    results(entry),
    assistant(call('c3', 'read')),
    results(assistant(call('c3', 'read'))),
  ]
  const body = bodyFor(history)
  assert.deepEqual(at(body, 'contents', 1, 'parts'), [
    { text: 'so' },
    { functionCall: { name: 'read', args: {} }, thoughtSignature: DUMMY },
    { functionCall: { name: 'read', args: {} } },
  ])
  assert.equal(at(body, 'contents', 3, 'parts', 0, 'thoughtSignature'), DUMMY)
  assert.deepEqual(talk().judge(request({ history })), [])
})

test('an older family gets no foreign signature and no stand-in', () => {
  const double = talk()
  const entry = entryOf(answerOf(double.ask({ calls: two })))
  const history = [user('a'), entry, results(entry)]
  assert.doesNotMatch(JSON.stringify(bodyFor(history, {}, older)), /thoughtSignature|"id"/)
  assert.deepEqual(double.judge(request({ history }), older), [])
  const quirky = target({ quirks: new Set(['no-thought-signatures']) })
  assert.doesNotMatch(
    JSON.stringify(
      bodyFor([user('a'), assistant(call('c', 'read')), results(assistant(call('c', 'read')))], {}, quirky),
    ),
    /thoughtSignature/,
  )
})

test('a signature on a trailing empty part stays on it', () => {
  const double = talk()
  const heard = double.ask({ text: 'hello there', fault: { kind: 'signature-on-empty-part' } })
  const answer = answerOf(heard)
  assert.deepEqual(
    answer.parts.map(part => (part.type === 'text' ? part.text : part.type)),
    ['hello there', ''],
  )
  const { body } = double.ask({ text: 'x' }, request({ history: [user('a'), entryOf(answer), user('b')] }))
  const last = at(JSON.parse(heard.frames.at(-1)!.data), 'candidates', 0, 'content', 'parts', -1)
  assert.ok(at(last, 'thoughtSignature'))
  assert.deepEqual(at(body, 'contents', 1, 'parts'), [{ text: 'hello there' }, last])
})

test('parts of the vendor’s own tools are hosted parts, and go back with id and signature', () => {
  const native = [
    { executableCode: { id: 'e1', language: 'PYTHON', code: 'print(1)' }, thoughtSignature: 'Q29kZQ==' },
    { codeExecutionResult: { id: 'e1', outcome: 'OUTCOME_OK', output: '1' } },
    { toolCall: { id: 't1', toolType: 'GOOGLE_SEARCH_WEB', args: { q: 'x' } }, thoughtSignature: 'VG9vbA==' },
    { toolResponse: { id: 't1', toolType: 'GOOGLE_SEARCH_WEB', response: {} } },
  ]
  const double = startTalk(geminiGenerate, { trustForeign: true })
  const answer = answerOf(
    double.ask({ native, text: 'one' }, request(), target({ hosted: [{ codeExecution: {} }] })),
  )
  const hosted = answer.parts.filter(part => part.type === 'hosted')
  assert.deepEqual(
    hosted.map(part => [part.tool, part.summary]),
    [
      ['code_execution', 'print(1)'],
      ['code_execution_result', '1'],
      ['google_search_web', '{"q":"x"}'],
      ['google_search_web', 'google_search_web'],
    ],
  )
  const { body } = double.ask({ text: 'x' }, request({ history: [user('a'), entryOf(answer), user('b')] }))
  assert.deepEqual(rows(at(body, 'contents', 1, 'parts')).slice(0, 4), native)
  const elsewhere = target({ family: 'gemini-4' })
  assert.doesNotMatch(
    JSON.stringify(bodyFor([user('a'), entryOf(answer), user('b')], {}, elsewhere)),
    /executableCode|toolCall/,
  )
})

test('a result that is JSON is given as a value, unless that would change how it is written', () => {
  const said = (text: string) => {
    const entry = assistant(call('c1', 'read'))
    const body = bodyFor([user('a'), entry, results(entry, outcome(text, 'ok'))])
    return at(body, 'contents', 2, 'parts', 0, 'functionResponse', 'response', 'output')
  }
  assert.deepEqual(said('{"t":[21,"°C"]}'), { t: [21, '°C'] })
  assert.deepEqual(said('[1,2]'), [1, 2])
  const deep = '['.repeat(1_000) + ']'.repeat(1_000)
  for (const text of ['{"id":12345678901234567890}', '{ "t": 1 }', '{"a":1,"a":2}', '21', 'null', '{', deep])
    assert.equal(said(text), text)
})

test('every outcome is a response with its own text', () => {
  for (const kind of outcomeKinds) {
    const entry = assistant(call('c1', 'read'))
    const body = bodyFor([user('a'), entry, results(entry, outcome('why', kind))])
    const said = at(body, 'contents', 2, 'parts', 0, 'functionResponse', 'response')
    assert.deepEqual(said, kind === 'ok' ? { output: 'why' } : { error: 'why' })
  }
})

test('media is in the response, or after all responses for an older family', () => {
  const entry = assistant(call('c1', 'read'), call('c2', 'read'))
  const image = {
    ...outcome('see'),
    parts: [
      { type: 'text' as const, text: 'see' },
      { type: 'image' as const, url: PNG },
    ],
  }
  const history = [user('a'), entry, results(entry, image)]
  const inlineData = { mimeType: 'image/png', data: 'iVBORw0KGgoAAAA=' }
  assert.deepEqual(at(bodyFor(history), 'contents', 2, 'parts', 1, 'functionResponse', 'parts'), [
    { inlineData },
  ])
  const parts = at(bodyFor(history, {}, older), 'contents', 2, 'parts')
  assert.deepEqual(
    rows(parts).map(part => Object.keys(part)[0]),
    ['functionResponse', 'functionResponse', 'text', 'inlineData', 'text', 'inlineData'],
  )
})

test('input media goes inline or by address', () => {
  const entry: Entry = {
    role: 'user',
    parts: [
      { type: 'image', url: PNG },
      { type: 'image', url: 'https://example.com/a.webp?x=1' },
      { type: 'file', url: 'https://example.com/a', mediaType: 'application/pdf' },
      { type: 'text', text: '' },
    ],
  }
  assert.deepEqual(at(bodyFor([entry]), 'contents', 0, 'parts'), [
    { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgoAAAA=' } },
    { fileData: { mimeType: 'image/webp', fileUri: 'https://example.com/a.webp?x=1' } },
    { fileData: { mimeType: 'application/pdf', fileUri: 'https://example.com/a' } },
  ])
})

test('instructions come first, and a system message in the middle keeps its position', () => {
  const history: Entry[] = [
    { role: 'system', text: 'two' },
    user('a'),
    { role: 'system', text: 'three' },
    user('b'),
  ]
  const prepared = geminiGenerate.prepare(request({ system: 'one', history }), target())
  const body = bodyOf(prepared)
  assert.deepEqual(body['systemInstruction'], { parts: [{ text: 'one' }, { text: 'two' }] })
  assert.deepEqual(at(body, 'contents', 0, 'parts', 1), { text: '<system>\nthree\n</system>' })
  assert.match(prepared.warnings.join(), /mid-conversation/)
})

test('a call without a result and a result without a call are told in text', () => {
  const lone = assistant(call('c1', 'read'), call('c2', 'read'))
  const half: Entry = { role: 'tool', results: results(lone).results.slice(1) }
  const history = [user('a'), lone, half, user('b'), results(lone), user('c')]
  assert.deepEqual(talk().judge(request({ history })), [])
  assert.match(JSON.stringify(bodyFor(history)), /nothing is known of its result.*\[result of read\] done/)
})

// ---- memory ------------------------------------------------------------------------------------------------

test('a second request encodes only its new entries and leaves the others unchanged', () => {
  const double = talk()
  const tools = request().tools
  const cache = new SessionCache()
  const history: Entry[] = [user('a')]
  assert.equal(geminiGenerate.prepare(request({ tools, history }), target(), cache).encoded, 1)
  const entry = entryOf(answerOf(double.ask({ calls: two }, request({ tools, history }))))
  const longer = [...history, entry, results(entry)]
  const second = geminiGenerate.prepare(request({ tools, history: longer }), target(), cache)
  assert.equal(second.encoded, 2)
  const third = geminiGenerate.prepare(request({ tools, history: [...longer, user('b')] }), target(), cache)
  assert.equal(third.encoded, 1)
  assert.deepEqual(
    rows(at(bodyOf(third), 'contents')).slice(0, 2),
    rows(at(bodyOf(second), 'contents')).slice(0, 2),
  )
})
