// A text tool whose grammar is none costs itself, never the request: no vendor is told of it, and all the others are there.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolDeclaration, ToolInput } from '../../language/tools.ts'
import { anthropic, gemini, geminiInteractions, openai, openaiChat, preparedFor } from '../index.ts'

const tool = (name: string, input: ToolInput): ToolDeclaration => ({
  name,
  description: name,
  input,
  kind: 'other',
  readOnly: false,
  idempotent: false,
  destructive: false,
  side: 'client',
})
const lark = (definition: string): ToolInput => ({ form: 'text', grammar: { syntax: 'lark', definition } })

const tools = [
  tool('sound_one', lark('start: "a"+')),
  tool('no_start', lark('begin: "a"')),
  tool('look_behind', { form: 'text', grammar: { syntax: 'regex', definition: '(?<=a)b' } }),
  tool('free_text', { form: 'text' }),
]

for (const make of [anthropic, openai, openaiChat, gemini, geminiInteractions])
  test(`${make.name}: text tools with grammars that cannot be used are left out, with a warning each`, () => {
    const model = make({ model: 'm', apiKey: 'k' })
    const prepared = preparedFor(model, {
      session: 's',
      history: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
      tools,
      choice: 'auto',
      parallel: true,
      options: {},
    })
    assert.ok(prepared)
    for (const name of ['sound_one', 'free_text']) assert.ok(prepared.body.includes(name), name)
    for (const name of ['no_start', 'look_behind']) {
      assert.ok(!prepared.body.includes(name), name)
      assert.match(prepared.warnings.join('\n'), new RegExp(`"${name}".*because of its grammar: grammar`))
    }
  })
