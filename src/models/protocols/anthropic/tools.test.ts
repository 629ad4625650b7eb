// Tool declarations and choices, checked by the strict double.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ToolChoice } from '../../../language/tools.ts'
import type { Json, JsonObject } from '../../../lib/json/index.ts'
import { textToolSchema } from '../../common/text-tools.ts'
import { assistant, bodyOf, call, own, type Prepared, prepare, results, tool, user } from './harness.test.ts'

const toolsOf = (prepared: Prepared): JsonObject[] => (bodyOf(prepared)['tools'] ?? []) as JsonObject[] // our own list
const namesOf = (prepared: Prepared): (Json | undefined)[] => toolsOf(prepared).map(each => each['name'])
const choiceOf = (prepared: Prepared): Json | undefined => bodyOf(prepared)['tool_choice']
const thinkingOn: JsonObject = { thinking: { type: 'adaptive' } }

describe('tools', () => {
  test('names that the API refuses or that clash get another spelling, and are read back', () => {
    const tools = [tool('fs.read'), tool('fs_read'), tool('web_search'), tool('x'.repeat(200)), tool('имя')]
    const prepared = prepare({ tools }, { hosted: [{ type: 'web_search_20260318', name: 'web_search' }] })
    assert.equal(new Set(namesOf(prepared)).size, 6)
    assert.deepEqual([...prepared.reading.names.values()].sort(), tools.map(each => each.name).sort())
    assert.equal(prepared.reading.names.get('fs_read'), 'fs_read')
    assert.equal(prepared.reading.names.has('web_search'), false)
  })

  test('a schema is adapted or its tool is left out; the other tools are sent', () => {
    const prepared = prepare({
      tools: [
        tool('any', {
          input: { form: 'json', schema: { anyOf: [{ type: 'object', properties: { a: {} } }] } },
        }),
        tool('never', { input: { form: 'json', schema: { type: 'string' } } }),
        tool('read'),
      ],
    })
    assert.deepEqual(namesOf(prepared), ['any', 'read'])
    assert.match(prepared.warnings.join(), /"never" is not offered/)
  })

  test('tools are strict if declared so and possible, within the limits of all tools together', () => {
    const closed = (properties: JsonObject): JsonObject => ({
      type: 'object',
      properties,
      additionalProperties: false,
    })
    const strict = (name: string, schema: JsonObject) =>
      tool(name, { input: { form: 'json', schema, strict: true } })
    const one = prepare({
      tools: [
        strict('ok', closed({ a: { type: 'string' } })),
        strict('bounded', closed({ a: { type: 'number', minimum: 1 } })),
        strict('map', { type: 'object', additionalProperties: { type: 'string' } }),
        tool('loose', { input: { form: 'json', schema: closed({}) } }),
      ],
    })
    assert.deepEqual(
      toolsOf(one).map(each => each['strict']),
      [true, true, undefined, undefined],
    )
    assert.deepEqual(
      toolsOf(one)[1]?.['input_schema'],
      closed({ a: { type: 'number', description: '(minimum: 1)' } }),
    )
    assert.equal(one.warnings.length, 1)
    const many = Array.from({ length: 30 }, (_, at) => strict(`t${at}`, closed({})))
    assert.equal(toolsOf(prepare({ tools: many })).filter(each => each['strict'] === true).length, 20)
    const optional = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`p${at}`, { type: 'string' }]))
    const wide = Array.from({ length: 5 }, (_, at) => strict(`w${at}`, closed(optional)))
    assert.equal(toolsOf(prepare({ tools: wide })).filter(each => each['strict'] === true).length, 2)
  })

  test('a text tool is a function of one string', () => {
    const input = { form: 'text', grammar: { syntax: 'regex', definition: 'a+' } } as const
    const [declared] = toolsOf(prepare({ tools: [tool('patch', { input })] }))
    assert.match(JSON.stringify(declared?.['description']), /a\+/)
    assert.deepEqual(declared?.['input_schema'], textToolSchema)
  })

  test('a history with calls but no tools declares placeholders that may not be called', () => {
    const asked = assistant(call('c1', 'fs.read'))
    const prepared = prepare({ history: [user('a'), asked, results(asked)], tools: [], choice: 'required' })
    assert.equal(toolsOf(prepared).length, 1)
    assert.deepEqual(choiceOf(prepared), { type: 'none' })
    assert.equal(prepared.warnings.length, 1)
    assert.equal('tools' in bodyOf(prepare({ tools: [] })), false)
  })

  test('every form of choice', () => {
    const tools = [tool('a'), tool('b.c'), tool('d')]
    const forms: [ToolChoice, boolean, Json | undefined, number][] = [
      ['auto', true, undefined, 3],
      ['auto', false, { type: 'auto', disable_parallel_tool_use: true }, 3],
      ['none', false, { type: 'none' }, 3],
      ['required', true, { type: 'any' }, 3],
      ['required', false, { type: 'any', disable_parallel_tool_use: true }, 3],
      [{ tool: 'a' }, false, { type: 'tool', name: 'a', disable_parallel_tool_use: true }, 3],
      [{ allowed: ['a', 'd'], mode: 'auto' }, true, undefined, 2],
      [{ allowed: ['a'], mode: 'required' }, true, { type: 'any' }, 1],
      [{ allowed: ['ghost'], mode: 'required' }, true, { type: 'none' }, 3],
      [{ tool: 'ghost' }, true, undefined, 3],
    ]
    for (const [choice, parallel, field, count] of forms) {
      const prepared = prepare({ tools, choice, parallel })
      assert.deepEqual(choiceOf(prepared), field, JSON.stringify(choice))
      assert.equal(toolsOf(prepared).length, count)
    }
    assert.equal(forced(prepare({ tools, choice: { tool: 'b.c' } })), 'b.c')
  })

  const forced = (made: Prepared): string | undefined => {
    const field = choiceOf(made) as { name: string } // a forced choice names its tool
    return made.reading.names.get(field.name)
  }

  test('a demanded call leaves thinking off, with a warning', () => {
    const tools = [tool('a'), tool('b')]
    for (const choice of [
      'required',
      { tool: 'a' },
      { allowed: ['a'], mode: 'required' },
    ] satisfies ToolChoice[]) {
      const made = prepare({ tools, choice }, { body: thinkingOn })
      assert.match(JSON.stringify(choiceOf(made)), /any|tool/)
      assert.equal(JSON.parse(made.body)['thinking'], undefined)
      assert.equal(made.warnings.length, 1)
    }
    assert.deepEqual(
      choiceOf(prepare({ choice: 'required' }, { body: { thinking: { type: 'disabled' } } })),
      { type: 'any' },
    )
  })

  test('deferred tools, tools for code, and the options that they rule out', () => {
    const search = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
    const code = { type: 'code_execution_20260120', name: 'code_execution' }
    const tools = [tool('a.b'), tool('c')]
    const deferred = prepare(
      { tools },
      { hosted: [search, { name: '*', defer_loading: true }, { name: 'c', defer_loading: false }] },
    )
    assert.deepEqual(
      toolsOf(deferred).map(each => each['defer_loading']),
      [true, false, undefined],
    )
    const alone = prepare({ tools }, { hosted: [{ name: '*', defer_loading: true }] })
    assert.equal(alone.warnings.length, 1)
    const hosted = [code, { name: 'a.b', allowed_callers: ['code_execution_20260120'] }]
    const fromCode = prepare({ tools, choice: { tool: 'a.b' }, parallel: false }, { hosted })
    assert.equal(choiceOf(fromCode), undefined)
    assert.equal(fromCode.warnings.length, 2)
  })

  test('tools that a tool search found stay declared', () => {
    const data = {
      type: 'tool_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: {
        type: 'tool_search_tool_search_result',
        tool_references: [
          { type: 'tool_reference', tool_name: 'a' },
          { type: 'tool_reference', tool_name: 'gone' },
        ],
      },
    }
    const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'tool_search_tool_regex', input: {} }
    const hosted = (native: JsonObject) =>
      ({ type: 'hosted', tool: 's', summary: '', native: { origin: own, data: native } }) as const
    const history = [user('x'), assistant(hosted(use), hosted(data)), user('y')]
    const made = prepare({ history, tools: [tool('a'), tool('b')], choice: { allowed: ['b'], mode: 'auto' } })
    assert.deepEqual(namesOf(made), ['a', 'b', 'gone'])
  })
})
