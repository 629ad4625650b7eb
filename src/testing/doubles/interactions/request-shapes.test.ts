// Every refusal of the Interactions double that concerns a single field, part or tool, by rule and message.
// `request.test.ts` has the rules about how things relate. Remove a check from the double, and one of these fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postGoogle, refusesEach, type ShapeCase, shownError } from '../../../../test/doubles/rig.ts'
import type { JsonRecord } from '../shape.ts'
import { startDouble } from '../vendors.ts'

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

const interactionsCases: ShapeCase[] = [
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

refusesEach('gemini-interactions', interactions, interactionsCases, { status: 400 })

test('a body that cannot be read is refused before any rule', async t => {
  const double = await startDouble({ vendor: 'gemini-interactions' })
  t.after(() => double.close())
  const path = '/v1beta/interactions'
  assert.match(shownError(await postGoogle(double, path, '{"input"')), /^400 Invalid JSON payload received\./)
  assert.equal(shownError(await postGoogle(double, path, '[]')), '400 The body must be a JSON object.')
})

test('an interaction that does not run in the background cannot be cancelled', async t => {
  const double = await startDouble({ vendor: 'gemini-interactions', script: [{ text: 'yes' }] })
  t.after(() => double.close())
  const path = '/v1beta/interactions'
  const [, { id }] = await postGoogle(double, path, JSON.stringify({ model: 'gemini-3-pro', input: 'hi' }))
  assert.equal(
    shownError(await postGoogle(double, `${path}/${String(id)}/cancel`, '{}')),
    '400 Only a background interaction can be cancelled.',
  )
})

test('an unknown path is not found', async t => {
  const double = await startDouble({ vendor: 'gemini-interactions' })
  t.after(() => double.close())
  const [status, { error }] = await postGoogle(double, '/v1beta/nothing', '{}')
  assert.deepEqual([status, error], [404, { code: 'not_found', message: 'Requested entity was not found.' }])
})
