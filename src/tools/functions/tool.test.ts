import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { InvalidInput, type ToolOutput } from '../../engine/ports/index.ts'
import { toolHash } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { contextFor, toolContract } from '../../testing/contracts/tool.ts'
import { later } from './later.ts'
import { type ToolDefinition, tool } from './tool.ts'

const base = { description: 'Does it.', input: z.object({ city: z.string() }) }
const context = contextFor()

/** As zod 3 makes them. */
class ZodObject {
  readonly _def = { typeName: 'ZodObject' }
  safeParse(): void {}
}

toolContract('a function with a zod schema', scenario => {
  const input = { city: 'Rome' }
  switch (scenario) {
    case 'answers':
      return {
        tool: tool({
          ...base,
          name: 'weather',
          output: z.object({ sky: z.string() }),
          run: () => ({ sky: 'blue' }),
        }),
        input,
        says: 'blue',
      }
    case 'fails':
      return {
        tool: tool({ ...base, name: 'weather', run: () => Promise.reject(new Error('no such city')) }),
        input,
        says: 'no such city',
      }
    case 'slow':
      return {
        tool: tool({
          ...base,
          name: 'weather',
          run: (_, { signal }) =>
            new Promise((_resolve, reject) => {
              if (signal.aborted) reject(new Error('stopped'))
              signal.addEventListener('abort', () => reject(new Error('stopped')))
            }),
        }),
        input,
      }
    case 'refuses':
      return {
        tool: tool({
          ...base,
          name: 'weather',
          input: z.object({ city: z.string().refine(city => city !== 'Rome', 'Rome is closed') }),
          run: () => 'never',
        }),
        input,
        says: 'Rome is closed',
      }
    case 'reports':
      return {
        tool: tool({
          ...base,
          name: 'weather',
          run: async (_, given) => {
            given.progress({ message: 'looking', done: 1, total: 2 })
            given.progress({ output: 'sky\n' })
          },
        }),
        input,
      }
    case 'huge':
      return {
        tool: tool({ ...base, name: 'weather', outputLimit: 1_000, run: () => 'cloud '.repeat(100_000) }),
        input,
      }
    case 'wrong': {
      const output = { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'] }
      return { tool: tool({ ...base, name: 'weather', output, run: () => ({ sky: 3 }) }), input }
    }
    case 'later':
      return { tool: tool({ ...base, name: 'weather', run: () => later({ expires: 60_000 }) }), input }
  }
})

toolContract('a function with a grammar', scenario => {
  const runs: Record<typeof scenario, ToolDefinition<'text'>['run']> = {
    answers: line => line.toUpperCase(),
    fails: () => ({ parts: [{ type: 'text', text: 'MILK is out' }], failed: true }),
    slow: (_, { signal }) =>
      new Promise(resolve => {
        if (signal.aborted) resolve('stopped')
        signal.addEventListener('abort', () => resolve('stopped'))
      }),
    refuses: () => {
      throw new InvalidInput('no MILK today')
    },
    reports: (_, given) => given.progress({ done: 1 }),
    huge: () => 'x'.repeat(100_000),
    wrong: () => '',
    later: () => later({ expires: new Date(Date.now() + 60_000) }),
  }
  if (scenario === 'wrong') return { skip: 'It declares no output schema.' }
  const input = { syntax: 'regex', definition: 'add [a-z]+' } as const
  const made = tool({ name: 'list', description: 'Edits the list.', input, run: runs[scenario] })
  return { tool: made, input: 'add milk', says: 'MILK' }
})

test('a schema may be a literal as const', async () => {
  const input = { type: 'object', properties: { unit: { enum: ['C', 'F'] } }, required: ['unit'] } as const
  const made = tool({ name: 't', description: 'd', input, run: ({ unit }) => JSON.stringify(unit) })
  assert.ok(made.input.form === 'json')
  assert.deepEqual(made.input.schema, input)
})

describe('a definition', () => {
  test('has safe defaults', () => {
    const made = tool({ ...base, name: 'weather', run: () => 'x' })
    const { kind, readOnly, idempotent, destructive, timeoutMs, retries, outputLimit, trust, exposed, side } =
      made
    assert.deepEqual(
      { kind, readOnly, idempotent, destructive, timeoutMs, retries, outputLimit, trust, exposed, side },
      {
        kind: 'other',
        readOnly: false,
        idempotent: false,
        destructive: true,
        timeoutMs: 60_000,
        retries: 0,
        outputLimit: 65_536,
        trust: 'ask',
        exposed: true,
        side: 'server',
      },
    )
  })

  test('that is read-only is idempotent, not destructive, and still asks', () => {
    const made = tool({ ...base, name: 'weather', readOnly: true, retries: 2, run: () => 'x' })
    assert.deepEqual([made.idempotent, made.destructive, made.retries, made.trust], [true, false, 2, 'ask'])
  })

  test('cannot be changed later, neither directly nor through its original schema', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } }
    const made = tool({ name: 'x', description: 'X.', input: schema, run: () => '' })
    const before = toolHash({ ...made })
    schema.properties.a.type = 'number'
    assert.equal(toolHash({ ...made }), before)
    assert.throws(() => Object.assign(made, { description: 'Y.' }), TypeError)
    assert.ok(made.input.form === 'json' && Object.isFrozen(made.input.schema['properties']))
  })

  test('has the same declaration in every way of reading it', () => {
    const shape = { type: 'object', properties: { a: { type: 'string', enum: ['x', 'y'] } } }
    const made = tool({ name: 'x', description: 'X.', input: shape, output: shape, run: () => ({ a: 'x' }) })
    assert.ok(made.input.form === 'json')
    assert.deepEqual({ ...made.input }, { form: 'json', schema: shape })
    assert.deepEqual(JSON.parse(JSON.stringify(made)).input, { form: 'json', schema: shape })
    assert.deepEqual(structuredClone(made.input), { form: 'json', schema: shape })
    assert.deepEqual({ ...made }.output, shape)
    assert.equal(made.input.schema, made.input.schema)
    assert.equal(made.output, made.output)
    assert.ok(Object.isFrozen(made.output?.['properties']))
    assert.throws(() => Object.assign(made.input, { schema: {} }), TypeError)
  })

  test('keeps the schema as it was when the tool was defined, even if first read later', () => {
    const properties: JsonObject = { a: { type: 'string' } }
    const made = tool({ name: 'x', description: 'X.', input: { type: 'object', properties }, run: () => '' })
    properties['b'] = { $ref: 'http://127.0.0.1:9/x' }
    assert.ok(made.input.form === 'json')
    assert.deepEqual(made.input.schema, { type: 'object', properties: { a: { type: 'string' } } })
  })

  for (const name of ['toString', '__proto__', 'constructor', 'fs/read', 'a.b:c-d_e', 'x'.repeat(128)])
    test(`may be named ${name.slice(0, 20)}`, async () => {
      const made = tool({ ...base, name, run: () => 'ran' })
      assert.equal(made.name, name)
      assert.deepEqual(await made.run({ city: 'Rome' }, context), { parts: [{ type: 'text', text: 'ran' }] })
    })

  // JavaScript can pass any value.
  const loose = (changes: Record<string, unknown>) =>
    tool({ ...base, name: 'x', run: () => '', ...changes } as ToolDefinition)

  for (const [what, changes, message] of [
    ['no name', { name: '' }, /name must be 1 to 128/],
    ['a name with a space', { name: 'a b' }, /letters, digits/],
    ['a name with a line break', { name: 'x\r\nSet-Cookie: a' }, /letters, digits/],
    ['a name of 129 characters', { name: 'x'.repeat(129) }, /1 to 128/],
    ['a name that looks like another', { name: 'fѕ_write' }, /letters, digits/],
    ['no description', { description: ' ' }, /needs a description/],
    ['no function', { run: undefined }, /needs "run"/],
    ['an unknown kind', { kind: 'write' }, /unknown kind "write".*edit/],
    ['an unknown trust', { trust: true }, /"trusted", "ask" or "deny"/],
    ['retries of a tool that must not be repeated', { retries: 1 }, /twice.*idempotencyKey/],
    ['a contradiction', { readOnly: true, destructive: true }, /both readOnly and destructive/],
    ['a timeout of 0', { timeoutMs: 0 }, /"timeoutMs" as 0/],
    ['an infinite timeout', { timeoutMs: Number.POSITIVE_INFINITY }, /"timeoutMs"/],
    ['a tiny output limit', { outputLimit: 10 }, /"outputLimit".*from 256/],
    ['a flag that is not a boolean', { readOnly: 'yes' }, /"readOnly" as "yes"/],
    ['no schema', { input: undefined }, /input schema that cannot be used/],
    ['a misspelt member', { readonly: true }, /has no member "readonly"\. Did you mean "readOnly"\?$/],
    ['what others call run', { run: undefined, execute: () => '' }, /"execute"\. Did you mean "run"\?$/],
    ['what others call input', { input: undefined, inputSchema: {} }, /"inputSchema".*"input"\?$/],
    ['any other member', { colour: 'red' }, /has no member "colour"\. Known are: name, .*undo\.$/],
    ['an object of zod schemas', { input: { city: z.string() } }, /Wrap it: z\.object\(\{ … \}\)\.$/],
    [
      'properties alone',
      { input: { city: 'string' } },
      /no keyword of JSON Schema, only city\. Write \{ type: 'object', properties/,
    ],
    [
      'a schema of a date',
      { input: z.object({ at: z.date() }) },
      /Use what JSON can hold, such as text or numbers\.$/,
    ],
    ['a schema of an array', { input: { type: 'array' } }, /describe an object/],
    [
      'a misspelt type',
      { input: { type: 'object', properties: { a: { type: 'strin' } } } },
      /"strin" is not a type/,
    ],
    [
      'required inside a property',
      { input: { properties: { a: { required: true } } } },
      /list of property names/,
    ],
    ['properties as a list', { input: { type: 'object', properties: ['a'] } }, /object of schemas/],
    ['a remote reference', { input: { $ref: 'http://127.0.0.1:9/x' } }, /input schema that cannot be used/],
    [
      'a schema that is not JSON',
      { input: { type: 'object', default: 1n } },
      /input schema that cannot be used: .*BigInt/,
    ],
    [
      'a schema whose toJSON gives a text',
      { input: { type: 'object', toJSON: () => 'x' } },
      /a schema must be an object/,
    ],
    ['an unknown syntax', { input: { syntax: 'bnf', definition: 'a' } }, /syntax is "bnf"; it is "lark" or/],
    [
      'a broken grammar',
      { input: { syntax: 'lark', definition: 'start: (' } },
      /grammar that cannot be used/,
    ],
    [
      'an empty grammar',
      { input: { syntax: 'regex', definition: '' } },
      /definition is not a text, or is empty/,
    ],
    ['a bad output schema', { output: { type: 'objekt' } }, /output schema that cannot be used/],
    ['a schema of zod 3', { input: new ZodObject() }, /input schema .* zod 3.* Use zod 4/],
    ['an output schema of zod 3', { output: new ZodObject() }, /output schema .* zod 3.* Use zod 4/],
    [
      'a misspelled keyword',
      { input: { type: 'object', propertes: {} } },
      /"properties" is\. \(at \/propertes\)/,
    ],
    [
      'a pattern that looks ahead',
      { input: z.object({ word: z.string().regex(/^(?=.*\d)/) }) },
      /looks ahead or behind.*\.refine.*\(at \/properties\/word\/pattern\)/,
    ],
  ] as const)
    test(`with ${what} is refused with the reason`, () => {
      assert.throws(() => loose(changes), { code: 'invalid_tool', message })
    })
})

describe('input', () => {
  test('reaches run with defaults and transforms applied, typed by the schema', async () => {
    const made = tool({
      name: 'count',
      description: 'Counts.',
      input: z.object({ from: z.number().default(3), label: z.string().transform(label => label.length) }),
      run: ({ from, label }) => {
        const sum: number = from + label
        return sum
      },
    })
    assert.deepEqual(await made.run({ label: 'four' }, context), { parts: [{ type: 'text', text: '7' }] })
  })

  test('is checked asynchronously if the schema does so', async () => {
    const made = tool({
      ...base,
      name: 'x',
      input: z.object({ city: z.string().refine(async city => city === 'Rome', 'unknown city') }),
      run: ({ city }) => city,
    })
    assert.deepEqual(await made.run({ city: 'Rome' }, context), { parts: [{ type: 'text', text: 'Rome' }] })
    await assert.rejects(
      async () => made.run({ city: 'Oslo' }, context),
      (error: unknown) => {
        assert.ok(error instanceof InvalidInput)
        assert.match(error.message, /\/city: unknown city/)
        return true
      },
    )
  })

  test('that the schema’s own check refuses never reaches run', () => {
    let runs = 0
    const made = tool({
      ...base,
      name: 'x',
      input: z.object({ n: z.number().refine(n => n > 1) }),
      run: () => runs++,
    })
    assert.throws(() => made.run({ n: 1 }, context), InvalidInput)
    assert.equal(runs, 0)
  })

  test('of a plain JSON Schema is a JSON object', async () => {
    const made = tool({
      name: 'x',
      description: 'X.',
      input: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      run: given => {
        const value: JsonObject = given
        return value['a']
      },
    })
    assert.deepEqual(await made.run({ a: 'hi' }, context), { parts: [{ type: 'text', text: 'hi' }] })
  })

  test('of kind "text" is a string', async () => {
    const made = tool({ ...base, name: 'x', input: 'text', run: given => given.length })
    assert.deepEqual(made.input, { form: 'text' })
    assert.deepEqual(await made.run('abc', context), { parts: [{ type: 'text', text: '3' }] })
  })
})

describe('the returned value', () => {
  const give = (value: unknown, output?: ToolDefinition['output']) =>
    tool({ ...base, name: 'x', ...(output && { output }), run: () => value }).run({ city: 'Rome' }, context)
  const part = { type: 'text', text: 'hi' } as const
  const image = { type: 'image', url: 'https://a.test/b.png' } as const

  for (const [what, value, expected] of [
    ['text', 'hi', { parts: [part] }],
    ['nothing', undefined, { parts: [] }],
    ['null', null, { parts: [{ type: 'text', text: 'null' }] }],
    ['a number', 4, { parts: [{ type: 'text', text: '4' }] }],
    ['false', false, { parts: [{ type: 'text', text: 'false' }] }],
    ['an object', { a: 1 }, { parts: [{ type: 'text', text: '{"a":1}' }], structured: { a: 1 } }],
    ['a list', [1, 2], { parts: [{ type: 'text', text: '[1,2]' }], structured: [1, 2] }],
    ['an empty list', [], { parts: [{ type: 'text', text: '[]' }], structured: [] }],
    [
      'a date',
      new Date(0),
      {
        parts: [{ type: 'text', text: '"1970-01-01T00:00:00.000Z"' }],
        structured: '1970-01-01T00:00:00.000Z',
      },
    ],
    ['one part', image, { parts: [image] }],
    ['parts', [part, image], { parts: [part, image] }],
    [
      'an output',
      { parts: [part], structured: { a: 1 }, failed: true },
      { parts: [part], structured: { a: 1 }, failed: true },
    ],
    [
      'data that has parts among others',
      { parts: [], id: 1 },
      { parts: [{ type: 'text', text: '{"parts":[],"id":1}' }], structured: { parts: [], id: 1 } },
    ],
    ['a bigint', 1n, { parts: [{ type: 'text', text: '1' }] }],
    ['a promise of text', Promise.resolve('hi'), { parts: [part] }],
  ] as [string, unknown, ToolOutput][])
    test(`${what} becomes the expected output`, async () => assert.deepEqual(await give(value), expected))

  test('with an output schema every value is data', async () => {
    assert.deepEqual(await give('hi', { type: 'string' }), { parts: [part], structured: 'hi' })
    assert.deepEqual(await give([part], { type: 'array' }), {
      parts: [{ type: 'text', text: JSON.stringify([part]) }],
      structured: [part],
    })
  })

  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  for (const [what, value, message] of [
    ['a cycle', cycle, /refers to itself/],
    ['a buffer', Buffer.from('a'), /bytes\. Return text/],
    ['a function', () => 1, /returned a function/],
    ['an unknown part', { parts: [{ type: 'video' }] }, /parts\[0\], which is not a part/],
    ['an error', new Error('broke'), /broke/],
  ] as const)
    test(`${what} is refused with the reason`, async () => {
      await assert.rejects(async () => give(value), { message })
    })
})
