import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Admission } from '../engine/ports/index.ts'
import type { ToolDeclaration, ToolInput } from '../language/tools.ts'
import { hashJson, sha256 } from '../lib/json/hash.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { admitCall, CompiledSchemas } from './arguments.ts'

const settings = { maxBytes: 4_096, maxDepth: 16, compiled: new CompiledSchemas() }

function declared(input: ToolInput): ToolDeclaration {
  return {
    name: 'do-it',
    description: 'Does it.',
    input,
    kind: 'other',
    readOnly: false,
    idempotent: false,
    destructive: true,
    side: 'server',
  }
}

const anything = declared({ form: 'json', schema: { type: 'object' } })
const strict = declared({
  form: 'json',
  schema: {
    type: 'object',
    properties: {
      path: { type: 'string' },
      mode: { enum: ['append', 'replace'] },
      list: { items: { type: 'number' } },
    },
    required: ['path'],
    additionalProperties: false,
  },
})
const freeText = declared({ form: 'text' })

// The loop gives checks new time when it turns.
beforeEach(() => new Promise(resolve => setImmediate(resolve)))

/** These checks are small, so their verdict is there at once. */
function atOnce<T>(verdict: T | Promise<T>): T {
  assert.ok(!(verdict instanceof Promise), 'the check went to a thread')
  return verdict
}

function take(text: string, tool = anything): Admission {
  return atOnce(admitCall({ name: tool.name, form: tool.input.form, text }, tool, settings, 'owner'))
}

function refusal(text: string, tool = anything): string {
  const admission = take(text, tool)
  assert.ok(!admission.ok, `${text.slice(0, 80)} was admitted`)
  return admission.reason
}

describe('JSON arguments', () => {
  for (const text of ['', '  ', '\n'])
    test(`an empty text (${JSON.stringify(text)}) counts as an empty object`, () => {
      const admitted = take(text)
      assert.ok(admitted.ok)
      assert.deepEqual(admitted.input, {})
      const spelt = take('{}')
      assert.ok(spelt.ok && spelt.argsHash === admitted.argsHash)
    })

  test('an empty text is still checked against the schema', () => {
    assert.match(refusal('', strict), /\(top level\) is missing the required property "path"/)
  })

  test('an empty text is not an empty object for a schema of another type', () => {
    assert.match(refusal('', declared({ form: 'json', schema: { type: 'array' } })), /cannot be read/)
  })

  test('each schema issue names its path, what was expected and what is allowed', () => {
    const reason = refusal('{"path":7,"mode":"overwrite","list":[1,"2"],"extra":true}', strict)
    assert.match(reason, /^The arguments of "do-it" do not fit its schema, so it was not run/)
    assert.match(reason, /- \/path must be string, but is number/)
    assert.match(reason, /- \/mode must be one of: "append", "replace"/)
    assert.match(reason, /- \/list\/1 must be number, but is string/)
    assert.match(reason, /unknown property "extra"; known are: "path", "mode", "list"/)
  })

  test('many schema issues give a short answer', () => {
    const keys = Array.from({ length: 300 }, (_, n) => `"${'k'.repeat(5)}${n}":1`)
    const reason = refusal(`{"path":"a",${keys.join()}}`, strict)
    assert.ok(reason.split('\n').length <= 21)
    assert.ok(Buffer.byteLength(reason) < 10_000)
  })

  for (const [what, text, message] of [
    ['broken syntax', '{"a":1,}', /offset 7: expected a key.*one valid JSON object/],
    ['two objects', '{"a":1}{"b":2}', /expected the end of the text/],
    ['a repeated key', '{"a":1,"a":2}', /"a" stands twice/],
    ['a repeated key, once escaped', '{"a":1,"\\u0061":2}', /"a" stands twice/],
    ['a repeated key in a nested object', '{"x":[{"a":1,"b":{},"a":2}]}', /"a" stands twice/],
    ['__proto__ twice', '{"__proto__":1,"__proto__":2}', /stands twice/],
    ['a number that overflows', '{"a":1e400}', /too large for a double/],
    ['deep nesting', `{"a":${'['.repeat(17)}${']'.repeat(17)}}`, /deeper than 16/],
    ['a long text', `{"a":"${'x'.repeat(5_000)}"}`, /larger than 4096 bytes/],
    ['a text with few characters but many bytes', `{"a":"${'语'.repeat(1_500)}"}`, /larger than 4096 bytes/],
    ['a list', '[]', /must be one JSON object.*an array/],
    ['null', 'null', /but are null/],
    ['an object in quotes', '"{\\"a\\":1}"', /a string\. Do not put the object in quotes/],
  ] as const)
    test(`${what} is refused with the reason`, () => assert.match(refusal(text), message))

  test('a schema that cannot be used refuses the call, not the process', () => {
    for (const schema of [{ type: 'objekt' }, { $ref: 'http://127.0.0.1:9/x' }] satisfies JsonObject[])
      assert.match(refusal('{}', declared({ form: 'json', schema })), /cannot be called, because the schema/)
  })
})

test('the hash is taken from the text, also when the input was changed since', () => {
  const admitted = take('{"b":[1],"a":2}', declared({ form: 'json', schema: { type: 'object' } }))
  assert.ok(admitted.ok)
  Object.assign(admitted.input as object, { a: 3 })
  assert.equal(admitted.argsHash, hashJson({ a: 2, b: [1] }))
})

describe('text input', () => {
  test('is neither parsed nor trimmed, and its hash is that of the text', () => {
    const admitted = take(' {"not":"parsed"}\n', freeText)
    assert.ok(admitted.ok)
    assert.equal(admitted.input, ' {"not":"parsed"}\n')
    assert.equal(admitted.argsHash, sha256(' {"not":"parsed"}\n'))
  })

  test('may be empty', () => assert.ok(take('', freeText).ok))

  test('is limited in bytes', () => {
    assert.ok(take('x'.repeat(4_096), freeText).ok)
    assert.match(refusal('x'.repeat(4_097), freeText), /larger than 4096 bytes/)
    assert.match(refusal('é'.repeat(2_049), freeText), /larger than 4096 bytes/)
  })

  test('with a lone surrogate is refused, because another text would have the same hash', () => {
    assert.match(refusal('a\ud800', freeText), /broken character/)
  })

  const lark = declared({
    form: 'text',
    grammar: { syntax: 'lark', definition: 'start: "add " WORD\nWORD: /[a-z]+/' },
  })

  test('is checked against a grammar, and a refusal says where it fails', () => {
    assert.ok(take('add milk', lark).ok)
    assert.match(refusal('add 5', lark), /line 1, column 5.*call it again/)
  })

  test('with a grammar that cannot be used is refused', () => {
    const broken = declared({ form: 'text', grammar: { syntax: 'lark', definition: 'start: (' } })
    assert.match(refusal('x', broken), /cannot be called, because the grammar/)
  })
})

describe('for any text', () => {
  const spelling = fc.oneof(
    fc.json({ maxDepth: 6 }),
    fc.string(),
    fc.string({
      unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'a', '1', 'e', '-', ' ', 'u'),
    }),
    fc.json().map(text => text.slice(0, -1)),
  )

  test('admission never throws, and the admitted input equals that of JSON.parse', () => {
    fc.assert(
      fc.property(spelling, fc.constantFrom(anything, strict, freeText), (text, tool) => {
        const admission = take(text, tool)
        if (!admission.ok) return admission.reason.length > 20
        if (tool === freeText) return admission.input === text
        assert.deepEqual(admission.input, text.trim() === '' ? {} : JSON.parse(text))
        return true
      }),
      { numRuns: 500 },
    )
  })

  test('a repeated key in one object never passes', () => {
    const spelt = (key: string, escaped: boolean) =>
      escaped
        ? `"${Array.from(key, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`
        : JSON.stringify(key)
    const key = fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 6 }),
      fc.constantFrom('__proto__', 'toString', ''),
    )
    fc.assert(
      fc.property(
        key,
        fc.boolean(),
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 20 }),
        fc.array(fc.constantFrom('[', '{"in":'), { maxLength: 5 }),
        (twice, escaped, others, around) => {
          const between = Object.entries(others)
            .filter(([name]) => name !== twice)
            .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`)
            .join('')
          const object = `{${spelt(twice, false)}:1,${between}${spelt(twice, escaped)}:2}`
          const text = around.reduceRight((inner, open) => open + inner + (open === '[' ? ']' : '}'), object)
          assert.match(refusal(`{"top":${text}}`), /stands twice|larger than/)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('equal values have the same hash in any order of keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 8 }), object => {
        const reversed = Object.fromEntries(Object.entries(object).reverse())
        const [one, other] = [take(JSON.stringify(object)), take(JSON.stringify(reversed, null, 2))]
        assert.equal(one.ok && one.argsHash, other.ok && other.argsHash)
      }),
    )
  })
})
