import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasons } from '../../../doctor/reasons.ts'
import { DUMMY_SIGNATURES } from '../google/common.ts'
import type { Mode } from '../script.ts'
import { seal } from '../seal.ts'
import { checkRequestAll } from '../vendors.ts'

type Body = Record<string, unknown>

const model = 'gemini-3-pro'
const read = {
  type: 'function' as const,
  name: 'read',
  parameters: { type: 'object', properties: { p: { type: 'string' } } },
}
const said = { type: 'user_input', content: [{ type: 'text', text: 'go' }] }
const call = (id = 'c1', extra: object = {}): object => ({
  type: 'function_call',
  id,
  name: 'read',
  arguments: { p: 'x' },
  ...extra,
})
const result = (call_id = 'c1', extra: object = {}): object => ({
  type: 'function_result',
  call_id,
  name: 'read',
  result: 'ok',
  ...extra,
})
const thought = (extra: object = {}): object => ({
  type: 'thought',
  signature: seal('thought-step', ''),
  ...extra,
})
const output = { type: 'model_output', content: [{ type: 'text', text: 'so' }] }
const request = (input: unknown, extra: object = {}): Body => ({ model, input, tools: [read], ...extra })

const REFUSED: {
  id: string
  why: string
  body: Body
  says: string
  code?: string
  status?: number
  mode?: Mode
}[] = [
  { id: 'I-01', why: 'no input', body: request(undefined), says: "'input' is required." },
  { id: 'I-01', why: 'no model', body: { input: 'x' }, says: "One of 'model' and 'agent' is required." },
  {
    id: 'I-01',
    why: 'a step of no known type',
    body: request([{ type: 'message' }]),
    says: "'message' is not a step type",
  },
  {
    id: 'I-01',
    why: 'arguments as text',
    body: request([said, thought(), call('c1', { arguments: '{}' }), result()]),
    says: 'input[2].arguments must be an object.',
  },
  {
    id: 'I-01',
    why: 'a field that it has not',
    body: request('x', { tool_choice: 'auto' }),
    says: "Unknown parameter 'tool_choice'.",
  },
  {
    id: 'I-02',
    why: 'a result for no call',
    body: request([said, result('c9')]),
    says: "'c9' is not the id of a function call that waits for a result",
  },
  {
    id: 'I-02',
    why: 'two results for one call',
    body: request([said, thought(), call(), result(), result()]),
    says: 'input[4].call_id',
  },
  {
    id: 'I-02',
    why: 'a call left open',
    body: request([said, thought(), call('a'), call('b'), result('a')]),
    says: 'Function calls without a function_result: b.',
  },
  {
    id: 'I-02',
    why: 'a result that is a number',
    body: request([said, thought(), call(), result('c1', { result: 3 })]),
    says: 'result must be a string, an object or a list of content',
  },
  {
    id: 'I-03',
    why: 'computer use in an environment that there is not',
    body: request([said], { tools: [{ type: 'computer_use', environment: 'ENVIRONMENT_BROWSER' }] }),
    says: 'tools[0].environment must be one of browser, mobile, desktop',
  },
  {
    id: 'I-03',
    why: 'computer use with a field of another API',
    body: request([said], { tools: [{ type: 'computer_use', display_width_px: 1280 }] }),
    says: "tools[0]: unknown parameter 'display_width_px'",
  },
  {
    id: 'I-03',
    why: 'results without the tools',
    body: request([said, thought(), call(), result()], { tools: [] }),
    says: 'tools are sent with every interaction',
  },
  {
    id: 'I-04',
    why: 'background without store',
    body: request('x', { store: false, background: true }),
    says: "'background' needs 'store'.",
  },
  {
    id: 'I-04',
    why: 'an unknown interaction',
    body: request('x', { previous_interaction_id: 'v1_gone' }),
    says: "Interaction 'v1_gone' not found.",
    code: 'not_found',
    status: 404,
  },
  {
    id: 'I-05',
    why: 'a call without its thought',
    body: request([said, call(), result()]),
    says: 'input[1]: a function_call needs the thought that came before it.',
  },
  {
    id: 'I-05',
    why: 'a thought that does not open its turn',
    body: request([said, output, thought(), call(), result()]),
    says: 'a turn with a thought must open with it',
  },
  {
    id: 'I-05',
    why: 'a thought without its signature',
    body: request([said, thought({ signature: '' }), call(), result()]),
    says: 'Missing thought signature.',
  },
  {
    id: 'I-05',
    why: 'a summary changed under its signature',
    body: request([said, thought({ summary: [{ type: 'text', text: 'other' }] }), call(), result()]),
    says: 'Corrupted thought signature.',
  },
  {
    id: 'I-08',
    why: "another vendor's tool choice",
    body: request('x', { generation_config: { tool_choice: 'required' } }),
    says: 'tool_choice must be one of auto, any, none, validated',
  },
]

for (const { id, why, body, says, code = 'invalid_request', status = 400, mode = 'strict' } of REFUSED) {
  test(`${id} refuses ${why}`, () => {
    const all = checkRequestAll('gemini-interactions', body, { mode })
    const match = all.find(rejection => rejection.rule === id && rejection.message.includes(says))
    assert.ok(match, `expected ${id} "${says}", found ${JSON.stringify(all, null, 1)}`)
    assert.deepEqual([match.status, match.code], [status, code])
  })
}

const ACCEPTED: { id: string; why: string; body: Body; mode?: Mode }[] = [
  { id: 'I-01', why: 'a string, content and steps', body: request({ type: 'text', text: 'x' }) },
  {
    id: 'I-02',
    why: 'results in another order, of each form',
    body: request([
      said,
      thought(),
      call('a'),
      call('b'),
      call('c'),
      result('c', { result: { n: 1 } }),
      result('b', { result: [{ type: 'text', text: 'x' }] }),
      result('a'),
    ]),
  },
  {
    id: 'I-05',
    why: 'a signature that fits',
    body: request([said, thought(), call(), result(), thought(), output]),
  },
  {
    id: 'I-05',
    why: 'a dummy signature',
    body: request([said, thought({ signature: DUMMY_SIGNATURES[0] }), call(), result()]),
  },
  {
    id: 'I-05',
    why: 'a changed summary (lenient)',
    body: request([said, thought({ summary: [{ type: 'text', text: 'x' }] }), call(), result()]),
    mode: 'lenient',
  },
  {
    id: 'I-08',
    why: 'allowed tools',
    body: request('x', {
      generation_config: { tool_choice: { allowed_tools: { mode: 'any', tools: ['read'] } } },
    }),
  },
]
for (const { id, why, body, mode = 'strict' } of ACCEPTED) {
  test(`${id} accepts ${why}`, () => {
    assert.deepEqual(checkRequestAll('gemini-interactions', body, { mode }), [])
  })
}

test('every rule of Interactions is broken by some case', () => {
  const cited = new Set(REFUSED.map(row => row.id))
  const rows = Object.keys(reasons).filter(id => /^I-\d\d$/.test(id))
  assert.equal(rows.length, 6)
  assert.deepEqual(
    rows.filter(row => !cited.has(row)),
    [],
  )
})
