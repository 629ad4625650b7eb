import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import * as mini from 'zod/mini'
import type { JsonObject } from './json.ts'
import { compileSchema, SchemaError } from './schema.ts'
import { describeSchema, type InferInput, type InferOutput, type StandardSchema } from './standard-schema.ts'

test('plain JSON Schema passes through, with nothing to refine', () => {
  const json: JsonObject = { type: 'object' }
  assert.deepEqual(describeSchema(json), { json })
})

test('zod describes its input, and refines with its own defaults and transforms', async () => {
  const schema = z.object({
    city: z.string().transform(text => text.toUpperCase()),
    days: z.number().int().default(3),
  })
  const { json, refine } = describeSchema(schema)
  assert.deepEqual(json['required'], ['city'])
  assert.equal(compileSchema(json).check({ city: 'x' }), null)
  assert.ok(compileSchema(json).check({ days: 'x' }))
  assert.deepEqual(await refine?.({ city: 'paris' }), { value: { city: 'PARIS', days: 3 } })
  assert.deepEqual(await refine?.({ city: 1 }), {
    issues: [{ path: '/city', message: 'Invalid input: expected string, received number' }],
  })
})

test('what is described is plain data', () => {
  const { json } = describeSchema(z.object({ a: z.string() }))
  assert.deepEqual(new Set(Reflect.ownKeys(json)), new Set(Object.keys(json)))
})

test('asynchronous refinements are awaited', async () => {
  const schema = z.string().refine(text => Promise.resolve(text === 'yes'), 'must be yes')
  const { refine } = describeSchema(schema)
  assert.deepEqual(await refine?.('yes'), { value: 'yes' })
  assert.deepEqual(await refine?.('no'), { issues: [{ path: '', message: 'must be yes' }] })
})

test('zod mini is described too', async () => {
  const { json, refine } = describeSchema(mini.object({ a: mini.optional(mini.number()) }))
  assert.equal(json['type'], 'object')
  assert.deepEqual(await refine?.({}), { value: {} })
})

test('a zod schema with no JSON form says so', () => {
  assert.throws(() => describeSchema(z.object({ at: z.date() })), {
    name: 'SchemaError',
    message: /zod schema cannot be written as JSON Schema: Date .*[^.]\. Use what JSON can hold/,
  })
})

const mute: StandardSchema<string> = {
  '~standard': {
    version: 1,
    vendor: 'mute',
    validate: value =>
      typeof value === 'string' ? { value } : { issues: [{ message: 'no text', path: ['a', { key: 0 }] }] },
  },
}

test('a Standard Schema that cannot describe itself is refused in words', () => {
  assert.throws(() => describeSchema(mute), /mute schema .* Write JSON Schema in its place/)
})

test('an object of schemas is no schema', () => {
  assert.throws(() => describeSchema({ a: z.string(), b: 1 }), /object of zod schemas.*Wrap it: z\.object/)
  assert.throws(() => describeSchema({ a: mute }), /object of mute schemas.*in a schema of an object/)
})

test('issues of a library are placed by pointers', () => {
  const { refine } = describeSchema({
    '~standard': { ...mute['~standard'], jsonSchema: { input: () => ({ type: 'string' }) } },
  })
  assert.deepEqual(refine?.(1), { issues: [{ path: '/a/0', message: 'no text' }] })
})

test('a Standard Schema that describes itself is asked, also when it is a function', () => {
  const schema = Object.assign(() => 1, {
    '~standard': { ...mute['~standard'], jsonSchema: { input: () => ({ type: 'string' }) } },
  })
  assert.deepEqual(describeSchema(schema).json, { type: 'string' })
})

test('anything else is refused', () => {
  for (const schema of [undefined, null, 'string', [], 3, () => 1]) {
    assert.throws(() => describeSchema(schema), SchemaError)
  }
})

test('types follow the schema', () => {
  const schema = z.object({ n: z.string().transform(Number) })
  const input: InferInput<typeof schema> = { n: '1' }
  const output: InferOutput<typeof schema> = { n: 1 }
  const plain: InferInput<{ type: 'object' }> = { any: ['json'] }
  assert.deepEqual(schema.parse(input), output)
  assert.deepEqual(plain, { any: ['json'] })
})
