import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../engine/ports/index.ts'
import type { ToolDeclaration, ToolInput } from '../../language/tools.ts'
import { anthropic, gemini, geminiInteractions, openai, openaiChat, preparedFor } from '../index.ts'
import { bodyWith } from './prepare.ts'

const tool = (name: string, input: ToolInput): ToolDeclaration => ({
  name,
  description: name,
  input,
  kind: 'other',
  readOnly: false,
  idempotent: false,
  destructive: false,
  side: 'server',
})
const object = (required: string): ToolInput => ({
  form: 'json',
  schema: { type: 'object', properties: { [required]: { type: 'string' } }, required: [required] },
})
/** No vendor takes it, so each request says so. */
const unusable: ToolInput = { form: 'json', schema: { type: 'object', $ref: '#/$defs/none' } }

const first = tool('first', object('a'))
const second = tool('second', object('b'))
const broken = tool('broken', unusable)

const request = (asked: Partial<ModelRequest>): ModelRequest => ({
  session: 's',
  history: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
  tools: [first, second, broken],
  choice: 'auto',
  parallel: true,
  options: {},
  ...asked,
})

const makers = [anthropic, openai, openaiChat, gemini, geminiInteractions]

for (const make of makers)
  test(`${make.name}: a request is the same whether the offer of its tools is known already or not`, () => {
    const model = make({ model: 'm', apiKey: 'k' })
    const requests = [
      request({}),
      request({ tools: [first, second, broken] }),
      request({ tools: [first, broken] }),
      request({ tools: [tool('first', object('other')), second] }),
      request({ choice: 'none' }),
      request({ choice: { tool: 'second' } }),
      request({ parallel: false }),
      request({ tools: [] }),
      request({ body: { [model.origin!.protocol]: { metadata: { by: 'caller' } } } }),
    ]
    for (const each of [...requests, ...requests.toReversed()]) {
      const known = preparedFor(model, each)
      const fresh = preparedFor(make({ model: 'm', apiKey: 'k' }), each)
      assert.equal(known?.body, fresh?.body)
      assert.deepEqual(known?.warnings, fresh?.warnings)
      const names = new Set(each.tools.map(({ name }) => name))
      for (const name of ['first', 'second'])
        assert.equal(known?.body.includes(`"${name}"`), names.has(name), name)
    }
  })

test('members that are text already stand in the body once, in place of fields of the same name', () => {
  assert.equal(bodyWith({}, {}, { list: '[1]' }), '{"list":[1]}')
  assert.equal(
    bodyWith({ b: '2' }, { a: 1, b: 0, list: [0] }, { list: '[1]', other: undefined }),
    '{"b":2,"a":1,"list":[1]}',
  )
  assert.equal(bodyWith({ b: undefined }, { a: 1 }, {}), '{"a":1}')
  assert.equal(bodyWith({}, {}, {}), '{}')
})
