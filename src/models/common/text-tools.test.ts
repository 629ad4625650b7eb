import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { ToolDeclaration, ToolInput } from '../../language/tools.ts'
import { anthropic, gemini, geminiInteractions, openai, openaiChat, preparedFor } from '../index.ts'
import { judgeGrammars, textToolDescription, textUnwrapper } from './text-tools.ts'

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
  test(`${make.name}: text tools with grammars that cannot be used are left out, with a warning each`, async () => {
    await judgeGrammars(tools, 's')
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

describe('text tools as functions', () => {
  const unwrap = (pieces: string[]) => {
    const unwrapper = textUnwrapper()
    let text = ''
    for (const piece of pieces) text += unwrapper.push(piece)
    const { rest, closed } = unwrapper.end()
    return { text: text + rest, closed, streamed: text }
  }

  test('the text is the same however its arguments are split', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.integer({ min: 1, max: 7 }),
        fc.boolean(),
        (text, size, spaced) => {
          const well = text.toWellFormed()
          let source = spaced ? `{ "input" : ${JSON.stringify(well)} }` : JSON.stringify({ input: well })
          if (spaced)
            source = source.replace(
              /[\u0080-\uffff]/g,
              char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
            )
          const pieces = source.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
          const { text: out, closed, streamed } = unwrap(pieces)
          assert.equal(out, well)
          assert.equal(streamed, well)
          assert.equal(closed, true)
        },
      ),
    )
  })

  test('arguments that end in the middle are not closed', () => {
    assert.deepEqual(unwrap(['{"input":"abc\\']), { text: 'abc', closed: false, streamed: 'abc' })
    assert.equal(unwrap(['{"inp']).closed, false)
  })

  test('arguments in another form give their string, or themselves', () => {
    assert.equal(unwrap(['"just text"']).text, 'just text')
    assert.equal(unwrap(['{"why":"', 'because","input":"x"}']).text, 'x')
    assert.equal(unwrap(['{"text":"x"}']).text, '{"text":"x"}')
    assert.equal(unwrap(['*** Begin Patch']).text, '*** Begin Patch')
  })

  test('the description has the grammar', () => {
    const tool: ToolDeclaration = {
      name: 'patch',
      description: 'Applies a patch.',
      input: { form: 'text', grammar: { syntax: 'lark', definition: 'start: "x"' } },
      kind: 'edit',
      readOnly: false,
      idempotent: false,
      destructive: false,
      side: 'server',
    }
    assert.match(textToolDescription(tool), /^Applies a patch\.\n\n.*Lark grammar:\nstart: "x"$/s)
    assert.equal(textToolDescription({ ...tool, input: { form: 'text' } }), 'Applies a patch.')
  })
})
