import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  contractRequest,
  foldDeltas,
  type ModelScenario,
  modelContract,
} from '../../../test/contracts/model.ts'
import type { ModelDelta, ModelRequest } from '../../engine/ports/index.ts'
import type { OutcomeKind } from '../../language/calls.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Entry } from '../../language/history.ts'
import { parseScript, type Script, type ScriptedOptions, type ScriptStep, scripted } from './index.ts'

const calls = [
  { name: 'get_weather', input: { city: 'Paris' } },
  { name: 'get_time', input: { city: 'Oslo' } },
]
const scenes: Record<ModelScenario, ScriptStep | { skip: string }> = {
  words: { thinking: 'A greeting.', text: 'Good morning to you.', chunk: 3 },
  calls: { text: 'I look.', calls, chunk: 4 },
  'one-call': { skip: 'a script decides how many calls there are' },
  'no-calls': { text: 'I may not look.' },
  reset: { text: 'Good morning.', chunk: 2, reset: true },
  slow: { text: 'one two', chunk: 3, delayMs: 600_000 },
  silent: { hang: true },
  fails: { text: 'so far', fail: { code: 'model_failed', message: 'It broke.', after: 1 } },
  rejects: { fail: { code: 'model_rejected', message: 'Not like that.' } },
  'times-out': { fail: { code: 'model_timeout', message: 'Too slow.' } },
}
modelContract('scripted', scenario => {
  const scene = scenes[scenario]
  return 'skip' in scene ? scene : scripted([scene])
})

const user = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })
const said = (text: string): Entry => ({ role: 'assistant', parts: [{ type: 'text', text }] })
const came = (name: string, kind: OutcomeKind, text: string): Entry => ({
  role: 'tool',
  results: [
    { callId: 'c1', name, outcome: { kind, parts: [{ type: 'text', text }], from: { source: 'runtime' } } },
  ],
})
const request = (...history: Entry[]): ModelRequest => ({ ...contractRequest('words'), history })

async function play(script: Script, asked: ModelRequest, options: ScriptedOptions = {}) {
  const deltas: ModelDelta[] = []
  const model = scripted(script, options)
  const answer = await model.respond(asked, delta => deltas.push(delta), new AbortController().signal)
  return { answer, deltas }
}

async function failure(script: Script, asked: ModelRequest, options: ScriptedOptions = {}) {
  const deltas: ModelDelta[] = []
  const error = await scripted(script, options)
    .respond(asked, delta => deltas.push(delta), new AbortController().signal)
    .then(
      () => assert.fail('it answered'),
      (thrown: unknown) => thrown,
    )
  assert.ok(error instanceof TurnwireError)
  return { code: error.code, message: error.message, deltas }
}

test('the step follows from the history, whichever process asks', async () => {
  const script = [{ text: 'first' }, { text: 'second' }]
  for (let process = 0; process < 2; process++) {
    const model = scripted(script)
    const signal = new AbortController().signal
    const second = await model.respond(request(user('a'), said('first'), user('b')), () => {}, signal)
    const first = await model.respond(request(user('a')), () => {}, signal)
    assert.deepEqual(first.parts, [{ type: 'text', text: 'first' }])
    assert.deepEqual(second.parts, [{ type: 'text', text: 'second' }])
  }
})

test('seeded entries are not counted', async () => {
  const { answer } = await play([{ text: 'first' }], request(user('a'), said('seed'), user('b')), {
    seeded: 1,
  })
  assert.deepEqual(answer.parts, [{ type: 'text', text: 'first' }])
})

test('a counter answers a retry differently', async () => {
  const model = scripted([{ fail: { code: 'model_failed', message: 'once' } }, { text: 'then' }], {
    position: 'counter',
  })
  const ask = () => model.respond(request(user('a')), () => {}, new AbortController().signal)
  await assert.rejects(ask(), /once/)
  assert.deepEqual((await ask()).parts, [{ type: 'text', text: 'then' }])
})

test('whenOver decides what follows the last step', async () => {
  const beyond = request(user('a'), said('one'), user('b'))
  const script = [{ text: 'one' }]
  assert.deepEqual(await failure(script, beyond), {
    code: 'model_failed',
    message:
      'The script of scripted is over: it was asked for step 2 of 1. ' +
      'Add a step, or say what comes after the last one (whenOver: repeat-last, or whenOver: end).',
    deltas: [],
  })
  const repeated = await play(script, beyond, { whenOver: 'repeat-last' })
  assert.deepEqual(repeated.answer.parts, [{ type: 'text', text: 'one' }])
  const ended = await play({ steps: script, whenOver: 'end' }, beyond)
  assert.deepEqual(ended.answer, { parts: [{ type: 'text', text: '(script over)' }], stop: 'end' })
  assert.throws(() => scripted([], { whenOver: 'repeat-last' }), /no step to repeat/)
})

test('a function writes the step from the request', async () => {
  const echo: Script = (asked, step) => ({ text: `${step}: ${asked.tools.length} tools` })
  const { answer } = await play(echo, request(user('a'), said('x'), user('b')))
  assert.deepEqual(answer.parts, [{ type: 'text', text: '1: 2 tools' }])
  const thrown = await failure(
    () => {
      throw new Error('no idea')
    },
    request(user('a')),
  )
  assert.equal(thrown.message, 'The script failed at step 1: no idea')
  assert.match((await failure(() => undefined, request(user('a')))).message, /asked for step 1\. Add/)
})

test('calls have arguments, forms, native ids and cuts', async () => {
  const asked: ModelRequest = {
    ...contractRequest('calls'),
    tools: [{ ...contractRequest('calls').tools[0]!, name: 'patch', input: { form: 'text' } }],
  }
  const { answer } = await play(
    [
      {
        calls: [
          { name: 'none' },
          { name: 'raw', text: '{"a":', id: 'n1' },
          { name: 'patch', text: '*** Begin' },
          { name: 'half', input: { word: 'abcdef' }, cut: true },
        ],
      },
    ],
    asked,
  )
  assert.deepEqual(answer, {
    parts: [
      { type: 'call', name: 'none', form: 'json', text: '{}' },
      { type: 'call', name: 'raw', form: 'json', text: '{"a":', nativeId: 'n1' },
      { type: 'call', name: 'patch', form: 'text', text: '*** Begin' },
      { type: 'call', name: 'half', form: 'json', text: '{"word":', cut: true },
    ],
    stop: 'length',
  })
})

test('usage and native artifacts pass through', async () => {
  const native = { origin: { protocol: 'p', family: 'f' }, data: { signature: 's' } }
  const usage = { input: 3, output: 4, thinking: 1 }
  const { answer } = await play([{ thinking: 'hm', text: 'yes', native, usage }], request(user('a')))
  assert.deepEqual(answer, {
    parts: [
      { type: 'thinking', text: 'hm', native },
      { type: 'text', text: 'yes' },
    ],
    stop: 'end',
    origin: native.origin,
    usage,
  })
})

test('a failure comes after as many deltas as it says', async () => {
  const { code, message, deltas } = await failure(
    [{ text: 'abcdef', chunk: 2, fail: { code: 'model_timeout', message: 'quiet', after: 2 } }],
    request(user('a')),
  )
  assert.deepEqual([code, message], ['model_timeout', 'quiet'])
  assert.deepEqual(deltas, [
    { type: 'text', text: 'ab' },
    { type: 'text', text: 'cd' },
  ])
})

test('delays pass between deltas, and before the first when asked', async () => {
  const slept: number[] = []
  const sleep = async (ms: number) => void slept.push(ms)
  await play([{ text: 'abc', chunk: 1, stepDelayMs: 50, delayMs: 7 }], request(user('a')), { sleep })
  assert.deepEqual(slept, [50, 7, 7])
})

test('a hanging step shows what it has, and only the signal ends it', async () => {
  const abort = new AbortController()
  const deltas: ModelDelta[] = []
  const answer = scripted([{ text: 'so', hang: true }]).respond(
    request(user('a')),
    d => deltas.push(d),
    abort.signal,
  )
  setImmediate(() => abort.abort(new Error('enough')))
  await assert.rejects(answer, { code: 'model_failed', cause: new Error('enough') })
  assert.deepEqual(deltas, [{ type: 'text', text: 'so' }])
})

test('a step rejects a request that is not the expected one', async () => {
  const history = [user('Is it warm?'), said('x'), came('get_weather', 'ok', '18 °C')]
  const at = (expect: NonNullable<ScriptStep['expect']>): Script => [{ text: 'x' }, { text: 'met', expect }]
  const met: NonNullable<ScriptStep['expect']>[] = [
    { lastUser: 'warm', tools: ['get_time', 'get_weather'] },
    { lastUser: /^IS/i, results: [{ name: 'get_weather', kind: 'ok', text: { pattern: '^\\d+' } }] },
    () => undefined,
    async () => true,
  ]
  for (const expect of met) assert.equal((await play(at(expect), request(...history))).answer.stop, 'end')
  const unmet: [NonNullable<ScriptStep['expect']>, RegExp][] = [
    [{ lastUser: 'cold' }, /step 2 the last user message to match "cold", but it is "Is it warm\?"/],
    [{ tools: ['mail'] }, /the tools \[mail\] to be offered, but the request has \[get_time, get_weather\]/],
    [{ results: [] }, /0 results in the last batch, but there are 1/],
    [{ results: [{ name: 'mail' }] }, /result 1 of the last batch to be of mail, but it is of get_weather/],
    [{ results: [{ kind: 'denied' }] }, /to be denied, but it is ok/],
    [{ results: [{ text: /^x/ }] }, /to match \/\^x\/, but it is "18 °C"/],
    [() => 'a kinder word', /expects at step 2 a kinder word\. Mend/],
    [() => false, /its check to hold/],
    [() => assert.fail('thrown'), /thrown/],
  ]
  for (const [expect, message] of unmet) {
    const refused = await failure(at(expect), request(...history))
    assert.equal(refused.code, 'model_rejected')
    assert.match(refused.message, message)
  }
})

test('a parsed script plays', async () => {
  const script = parseScript(
    '- expect: { lastUser: { pattern: hello, flags: i } }\n  text: Hello, you.\n  chunk: 4',
  )
  const { answer, deltas } = await play(script, request(user('HELLO')))
  assert.deepEqual(answer.parts, [{ type: 'text', text: 'Hello, you.' }])
  assert.equal(deltas.length, 3)
})

test('the deltas of any text in any chunks add up, and none cuts a character', () =>
  fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.integer({ min: 1, max: 7 }),
      fc.boolean(),
      async (text, chunk, reset) => {
        const step: ScriptStep = { thinking: text, text, calls: [{ name: 'x', text }], chunk }
        const { deltas } = await play([reset ? { ...step, reset } : step], request(user('a')))
        const shown = foldDeltas(deltas)
        assert.deepEqual([shown.thinking, shown.text, shown.calls[0]?.text], [text, text, text])
        for (const delta of deltas) assert.ok(!('text' in delta) || delta.text.isWellFormed())
      },
    ),
    { numRuns: 60 },
  ))
