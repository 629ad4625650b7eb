import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import * as mini from 'zod/mini'
import type { JsonObject } from '../json/index.ts'
import { compileSchema, SchemaError } from './index.ts'
import { describeSchema, type InferInput, type InferOutput, type StandardSchema } from './standard.ts'

test('plain JSON Schema is returned as it is, without refine', () => {
  const json: JsonObject = { type: 'object' }
  assert.deepEqual(describeSchema(json), { json })
})

test('a zod schema is described by its input type, and refine applies defaults and transforms', async () => {
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

test('the description is plain data', () => {
  const { json } = describeSchema(z.object({ a: z.string() }))
  assert.deepEqual(new Set(Reflect.ownKeys(json)), new Set(Object.keys(json)))
})

test('asynchronous refinements are awaited', async () => {
  const schema = z.string().refine(text => Promise.resolve(text === 'yes'), 'must be yes')
  const { refine } = describeSchema(schema)
  assert.deepEqual(await refine?.('yes'), { value: 'yes' })
  assert.deepEqual(await refine?.('no'), { issues: [{ path: '', message: 'must be yes' }] })
})

test('a zod mini schema is described too', async () => {
  const { json, refine } = describeSchema(mini.object({ a: mini.optional(mini.number()) }))
  assert.equal(json['type'], 'object')
  assert.deepEqual(await refine?.({}), { value: {} })
})

test('a zod schema without a JSON form is refused with the reason', () => {
  assert.throws(() => describeSchema(z.object({ at: z.date() })), {
    name: 'SchemaError',
    message: /zod schema cannot be written as JSON Schema: Date .*[^.]\. Use what JSON can hold/,
  })
})

test('a pattern with look-ahead that zod writes beside a format is left out; the format and zod are checked', async () => {
  const schema = z.object({ in: z.iso.duration(), at: z.hostname() })
  const { json, refine } = describeSchema(schema)
  assert.deepEqual(json['properties'], {
    in: { type: 'string', format: 'duration' },
    at: { type: 'string', format: 'hostname' },
  })
  assert.equal(compileSchema(json).check({ in: 'P1D', at: 'a.example' }), null)
  assert.ok(compileSchema(json).check({ in: 'a day', at: 'a.example' }))
  assert.ok('issues' in ((await refine?.({ in: 'P', at: 'a.example' })) ?? {}))
})

/** As zod 4.0 to 4.2 writes `z.email()`. */
const olderEmail = '^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9]*)@([A-Za-z0-9]+\\.)+[A-Za-z]{2,}$'

test('the pattern of an older zod for addresses is left out, also beside others; patterns of the program stay', () => {
  const describe = (json: JsonObject): JsonObject =>
    describeSchema({ '~standard': { ...mute['~standard'], jsonSchema: { input: () => json } } }).json
  const email = { type: 'string', format: 'email' }
  const own = { pattern: '^(?!bot)' }
  assert.deepEqual(describe({ properties: { to: { ...email, pattern: olderEmail }, pattern: own } }), {
    properties: { to: email, pattern: own },
  })
  assert.deepEqual(describe({ ...email, allOf: [{ pattern: olderEmail }, own] }), { ...email, allOf: [own] })
  assert.deepEqual(describe({ type: 'string', ...own }), { type: 'string', ...own })
  assert.deepEqual(describe({ format: 'own', ...own }), { format: 'own', ...own })
})

const mute: StandardSchema<string> = {
  '~standard': {
    version: 1,
    vendor: 'mute',
    validate: value =>
      typeof value === 'string' ? { value } : { issues: [{ message: 'no text', path: ['a', { key: 0 }] }] },
  },
}

test('a Standard Schema that cannot describe itself is refused with the reason', () => {
  assert.throws(() => describeSchema(mute), /mute schema .* Write JSON Schema in its place/)
})

test('an object of schemas is refused', () => {
  assert.throws(() => describeSchema({ a: z.string(), b: 1 }), /object of zod schemas.*Wrap it: z\.object/)
  assert.throws(() => describeSchema({ a: mute }), /object of mute schemas.*in a schema of an object/)
})

test('issues of a library have JSON Pointers as paths', () => {
  const { refine } = describeSchema({
    '~standard': { ...mute['~standard'], jsonSchema: { input: () => ({ type: 'string' }) } },
  })
  assert.deepEqual(refine?.(1), { issues: [{ path: '/a/0', message: 'no text' }] })
})

test('a Standard Schema that describes itself is used, also when it is a function', () => {
  const schema = Object.assign(() => 1, {
    '~standard': { ...mute['~standard'], jsonSchema: { input: () => ({ type: 'string' }) } },
  })
  assert.deepEqual(describeSchema(schema).json, { type: 'string' })
})

test('any other value is refused', () => {
  for (const schema of [undefined, null, 'string', [], 3, () => 1]) {
    assert.throws(() => describeSchema(schema), SchemaError)
  }
})

test('types are inferred from the schema', () => {
  const schema = z.object({ n: z.string().transform(Number) })
  const input: InferInput<typeof schema> = { n: '1' }
  const output: InferOutput<typeof schema> = { n: 1 }
  const plain: InferInput<{ type: 'object' }> = { any: ['json'] }
  assert.deepEqual(schema.parse(input), output)
  assert.deepEqual(plain, { any: ['json'] })
})
