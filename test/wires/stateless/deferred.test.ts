// Deferred tools that a client declares on a wire: a model of any vendor is shown them once they were found.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '../../../src/lib/json/index.ts'
import { bodies, nameOf, toolsIn, type Vendor, vendorModel } from '../../tools/search/rig.ts'
import { serve } from './rig.ts'

const schema = { type: 'object', properties: { city: { type: 'string' } } }
const flat = (name: string, more: object = {}) => ({
  type: 'function',
  name,
  description: name,
  parameters: schema,
  ...more,
})

describe('Messages', () => {
  const declared = (name: string, more: object = {}) => ({
    name,
    description: name,
    input_schema: schema,
    ...more,
  })
  const deferred = { defer_loading: true }
  const tools = [declared('look_up'), declared('weather', deferred), declared('mail', deferred)]
  const before = [{ role: 'user', content: 'Weather?' }]
  const after = [
    ...before,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look_up', input: {} }] },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'toolu_1',
          content: [{ type: 'tool_reference', tool_name: 'weather' }],
        },
      ],
    },
  ]
  for (const vendor of ['anthropic', 'openai-chat', 'gemini'] as Vendor[])
    test(`${vendor}: what the client's own search found is declared, and nothing else that is deferred`, async t => {
      const { model, double } = await vendorModel(t, vendor, [{ text: 'One.' }, { text: 'Two.' }])
      const { post } = await serve(t, { helper: model })
      for (const messages of [before, after]) {
        const answer = await post('/v1/messages', { model: 'helper', max_tokens: 100, tools, messages })
        assert.equal(answer.status, 200)
      }
      const [first, second] = bodies(double)
      assert.deepEqual(toolsIn(first!).map(nameOf), ['look_up'])
      assert.deepEqual(toolsIn(second!).map(nameOf), ['look_up', 'weather'])
      if (vendor === 'anthropic')
        assert.deepEqual(
          toolsIn(second!).map(tool => tool['defer_loading'] ?? false),
          [false, true],
        )
    })

  const search = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
  const expected: [vendor: Vendor, names: string[]][] = [
    ['anthropic', ['look_up', 'weather', 'mail', 'tool_search_tool_regex']],
    ['openai-responses', ['look_up', 'weather', 'mail', 'tool_search']],
    ['openai-chat', ['look_up', 'weather', 'mail']],
  ]
  for (const [vendor, names] of expected)
    test(`${vendor}: the vendor's search is asked for where there is one; else all tools are declared`, async t => {
      const { model, double } = await vendorModel(t, vendor, [{ text: 'One.' }])
      const { post } = await serve(t, { helper: model })
      const body = { model: 'helper', max_tokens: 100, tools: [...tools, search], messages: before }
      assert.equal((await post('/v1/messages', body)).status, 200)
      const [sent] = bodies(double)
      assert.deepEqual(toolsIn(sent!).map(nameOf), names)
      const isDeferred = toolsIn(sent!).map(tool => tool['defer_loading'] === true)
      assert.deepEqual(isDeferred.slice(1, 3), vendor === 'openai-chat' ? [false, false] : [true, true])
    })
})

describe('Responses', () => {
  const ask = { type: 'message', role: 'user', content: 'Weather?' }
  const found: JsonObject[] = [
    {
      type: 'tool_search_call',
      call_id: 'c1',
      execution: 'client',
      arguments: { query: 'weather' },
      status: 'completed',
    },
    {
      type: 'tool_search_output',
      call_id: 'c1',
      execution: 'client',
      tools: [flat('weather', { defer_loading: true })],
    },
  ]
  const search = { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: schema }

  for (const vendor of ['openai-responses', 'anthropic', 'gemini'] as Vendor[])
    test(`${vendor}: what the client's own search found can be called`, async t => {
      const { model, double } = await vendorModel(t, vendor, [{ calls: [{ name: 'weather', input: {} }] }])
      const { post } = await serve(t, { helper: model })
      const body = { model: 'helper', store: false, tools: [search, flat('mail', { defer_loading: true })] }
      const answer = await post('/v1/responses', { ...body, input: [ask, ...found] })
      const { output } = (await answer.json()) as { output: JsonObject[] }
      assert.equal(output.find(item => item['type'] === 'function_call')?.['name'], 'weather')
      const [sent] = bodies(double)
      const names = toolsIn(sent!).map(nameOf)
      assert.ok(!names.includes('mail'))
      if (vendor !== 'openai-responses') assert.ok(names.includes('weather'))
      else
        assert.ok(!names.includes('weather') && JSON.stringify(sent!['input']).includes('"name":"weather"'))
    })

  test("the vendor's search is asked for where there is one", async t => {
    for (const vendor of ['openai-responses', 'anthropic'] as Vendor[]) {
      const { model, double } = await vendorModel(t, vendor, [{ text: 'One.' }])
      const { post } = await serve(t, { helper: model })
      const tools = [{ type: 'tool_search' }, flat('weather', { defer_loading: true }), flat('mail')]
      const answer = await post('/v1/responses', { model: 'helper', store: false, tools, input: [ask] })
      assert.equal(answer.status, 200)
      const [sent] = bodies(double)
      const deferred = toolsIn(sent!).filter(tool => tool['defer_loading'] === true)
      assert.deepEqual(deferred.map(nameOf), ['weather'])
      assert.match(JSON.stringify(sent!['tools']), /tool_search/)
    }
  })

  test('additional tools come after those of the request, and deferred ones without a search are declared', async t => {
    const { model, double } = await vendorModel(t, 'openai-chat', [{ text: 'One.' }])
    const { post } = await serve(t, { helper: model })
    const input = [ask, { type: 'additional_tools', role: 'developer', tools: [flat('weather')] }]
    const tools = [flat('mail', { defer_loading: true })]
    assert.equal((await post('/v1/responses', { model: 'helper', store: false, tools, input })).status, 200)
    assert.deepEqual(toolsIn(bodies(double)[0]!).map(nameOf), ['mail', 'weather'])
  })
})
