// Every refusal of the Interactions double that concerns a single field, part or tool, by rule and message.
// `request.test.ts` has the rules about how things relate. Remove a check from the double, and one of these fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunningDouble } from '../double.ts'
import type { JsonRecord } from '../shape.ts'
import { checkRequestAll, startDouble } from '../vendors.ts'

type Case = [rule: string, message: string, patch: JsonRecord]

const SIGNED = { thoughtSignature: 'skip_thought_signature_validator' }

const interactions = { model: 'gemini-3-pro', input: 'hi' }
const steps = (...input: unknown[]): JsonRecord => ({ input, tools: [{ type: 'function', name: 'f' }] })
const user = { type: 'user_input', content: [{ type: 'text', text: 'a' }] }
const thought = { type: 'thought', signature: SIGNED.thoughtSignature }
const asked = (more: JsonRecord = {}) => ({
  type: 'function_call',
  id: '1',
  name: 'f',
  arguments: {},
  ...more,
})
const result = (more: JsonRecord = {}) => ({
  type: 'function_result',
  call_id: '1',
  name: 'f',
  result: 'x',
  ...more,
})
const offer = (...tools: unknown[]): JsonRecord => ({ tools })
const f = { type: 'function', name: 'f' }

const interactionsCases: Case[] = [
  ['I-01', "'input' must not be empty.", { input: [] }],
  ['I-01', "'input' must be a string, content, or a list", { input: 5 }],
  [
    'I-01',
    'input[2].name: Invalid function name.',
    steps(user, thought, asked({ name: 'wipe disk' }), result({ name: 'wipe disk' })),
  ],
  [
    'I-05',
    'input[1]: a function_call needs the thought that came before it.',
    { ...steps(user, asked(), result()), model: 'gemini-2.5-flash' },
  ],
  ['I-01', 'input[2].id is required.', steps(user, thought, asked({ id: '' }), result())],
  ['I-01', 'input[0].content must not be empty.', steps({ type: 'user_input', content: [] })],
  [
    'I-02',
    'input[3].result: a list must hold content only.',
    steps(user, thought, asked(), result({ result: [{ type: 'file' }] })),
  ],
  ['I-02', "input[4].id: '1' was used before.", steps(user, thought, asked(), result(), asked(), result())],
  [
    'I-02',
    "input[3].name: function call '1' was made to 'f'.",
    steps(user, thought, asked(), result({ name: 'g' })),
  ],
  ['I-02', 'Function calls without a function_result: 1.', steps(user, thought, asked(), user)],
  [
    'I-IMG',
    'Unsupported MIME type: image/gif',
    steps({
      type: 'user_input',
      content: [{ type: 'image', mime_type: 'image/gif', data: 'R0lGODlhAQABAAAAACw=' }],
    }),
  ],
  [
    'I-IMG',
    'Unable to process input image.',
    steps(
      user,
      thought,
      asked(),
      result({ result: [{ type: 'image', mime_type: 'image/png', data: 'aGVsbG8=' }] }),
    ),
  ],
  ['I-03', "tools[0].type: 'bash' is not a tool type.", offer({ type: 'bash' })],
  ['I-03', "tools[0]: unknown parameter 'strict'.", offer({ ...f, strict: true })],
  ['I-03', 'tools[0].name: Invalid function name.', offer({ ...f, name: 'a b' })],
  ['I-03', 'tools[0].parameters must be a JSON schema.', offer({ ...f, parameters: 'none' })],
  ['I-03', 'Duplicate function declaration found: f', offer(f, f)],
  [
    'I-08',
    'generation_config.tool_choice: expected { allowed_tools',
    { generation_config: { tool_choice: { tools: ['f'] } } },
  ],
]

for (const [rule, message, patch] of interactionsCases)
  test(`${rule} ${message}`, () => {
    const found = checkRequestAll('gemini-interactions', { ...interactions, ...patch })
    const own = found.find(each => each.message.startsWith(message))
    assert.ok(own, JSON.stringify(found))
    assert.deepEqual([own.rule, own.status], [rule, 400])
  })

const post = async (
  double: RunningDouble,
  path: string,
  body: string,
  type = 'application/json',
): Promise<[number, JsonRecord]> => {
  const headers = { 'x-goog-api-key': 'k', 'content-type': type }
  const response = await fetch(double.url + path, { method: 'POST', headers, body })
  return [response.status, (await response.json()) as JsonRecord]
}
const shown = ([status, { error }]: [number, JsonRecord]): string =>
  `${status} ${(error as { message: string }).message}`

test('a body that cannot be read is refused before any rule', async t => {
  const double = await startDouble({ vendor: 'gemini-interactions' })
  t.after(() => double.close())
  const path = '/v1beta/interactions'
  assert.match(shown(await post(double, path, '{"input"')), /^400 Invalid JSON payload received\./)
  assert.equal(shown(await post(double, path, '[]')), '400 The body must be a JSON object.')
})

test('an interaction that does not run in the background cannot be cancelled', async t => {
  const double = await startDouble({ vendor: 'gemini-interactions', script: [{ text: 'yes' }] })
  t.after(() => double.close())
  const path = '/v1beta/interactions'
  const [, { id }] = await post(double, path, JSON.stringify({ model: 'gemini-3-pro', input: 'hi' }))
  assert.equal(
    shown(await post(double, `${path}/${String(id)}/cancel`, '{}')),
    '400 Only a background interaction can be cancelled.',
  )
})

test('an unknown path is not found', async t => {
  const double = await startDouble({ vendor: 'gemini-interactions' })
  t.after(() => double.close())
  const [status, { error }] = await post(double, '/v1beta/nothing', '{}')
  assert.deepEqual([status, error], [404, { code: 'not_found', message: 'Requested entity was not found.' }])
})
