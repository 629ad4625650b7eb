// What the compiler knows of a tool. `tsc` is the judge: each `@ts-expect-error` fails the type check if the line below
// it compiles. The functions are also run, so that the types and the behaviour agree.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { sameType } from '../../../test/same-type.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { contextFor } from '../../testing/contracts/tool.ts'
import { type ToolOutputOf, tool } from './tool.ts'

const base = { name: 'weather', description: 'The weather.', input: z.object({ city: z.string() }) }
const output = z.object({ sky: z.enum(['blue', 'grey']), degrees: z.number().optional() })
const context = contextFor()

test('run is checked against the output schema, synchronous or not', async () => {
  const sync = tool({ ...base, output, run: () => ({ sky: 'blue' }) })
  const later = tool({ ...base, output, run: async ({ city }) => ({ sky: 'grey', degrees: city.length }) })
  assert.deepEqual((await sync.run({ city: 'Rome' }, context)).structured, { sky: 'blue' })
  assert.deepEqual((await later.run({ city: 'Rome' }, context)).structured, { sky: 'grey', degrees: 4 })

  // @ts-expect-error a member is missing
  tool({ ...base, output, run: () => ({ degrees: 3 }) })
  // @ts-expect-error a member has the wrong type
  tool({ ...base, output, run: () => ({ sky: 'blue', degrees: '3' }) })
  // @ts-expect-error not one of the values
  tool({ ...base, output, run: () => ({ sky: 'green' }) })
  // @ts-expect-error a promise of the wrong type
  tool({ ...base, output, run: async () => ({ sky: 1 }) })
  // @ts-expect-error text in place of an object
  tool({ ...base, output, run: () => 'blue' })
  // @ts-expect-error nothing is returned
  tool({ ...base, output, run: () => {} })
})

test('a run with an output schema may return parts, with data of the schema or as a failure', async () => {
  const parts = [{ type: 'text' as const, text: 'Blue.' }]
  const said = tool({ ...base, output, run: () => ({ parts, structured: { sky: 'blue' } }) })
  const failed = tool({ ...base, output, run: () => ({ parts, failed: true }) })
  assert.deepEqual(await said.run({ city: 'Rome' }, context), { parts, structured: { sky: 'blue' } })
  assert.deepEqual(await failed.run({ city: 'Rome' }, context), { parts, failed: true })

  // @ts-expect-error the data is not of the schema
  tool({ ...base, output, run: () => ({ parts, structured: { sky: 1 } }) })
  // @ts-expect-error neither data nor a failure
  tool({ ...base, output, run: () => ({ parts }) })
})

test('lists, unions and values from elsewhere are checked too', () => {
  const list = z.object({ days: z.array(output), next: z.union([z.string(), z.null()]) })
  type List = z.infer<typeof list>
  const fetched = { days: [{ sky: 'blue' }], next: null } as List
  tool({ ...base, output: list, run: () => ({ days: [{ sky: 'blue' }, { sky: 'grey' }], next: 'x' }) })
  tool({ ...base, output: list, run: async () => fetched })
  tool({ ...base, output: z.array(z.number()), run: () => [1, 2].map(day => day * 2) })
  tool({ ...base, output: z.record(z.string(), z.number()), run: () => ({ monday: 3 }) })
  tool({ ...base, output: z.unknown(), run: () => ({ any: ['thing'] }) })
  // @ts-expect-error a list with a wrong element
  tool({ ...base, output: list, run: () => ({ days: [{ sky: 'blue' }, { sky: 'green' }], next: null }) })
  // @ts-expect-error a value from elsewhere that lacks a member
  tool({ ...base, output: list, run: () => ({ days: fetched.days }) })
})

test('run returns the value before the output schema transforms it', () => {
  const lengths = z.object({ name: z.string().transform(name => name.length), times: z.number().default(1) })
  tool({ ...base, output: lengths, run: () => ({ name: 'Rome' }) })
  // @ts-expect-error the type after the transform
  tool({ ...base, output: lengths, run: () => ({ name: 4 }) })
})

test('the output type of a tool can be inferred', () => {
  const typed = tool({ ...base, output, run: () => ({ sky: 'blue' }) })
  const plain = tool({ ...base, output: { type: 'string' }, run: () => 'blue' })
  const none = tool({ ...base, run: () => 'blue' })
  sameType<ToolOutputOf<typeof typed>, { sky: 'blue' | 'grey'; degrees?: number | undefined }>()
  sameType<ToolOutputOf<typeof plain>, unknown>()
  sameType<ToolOutputOf<typeof none>, unknown>()
  // @ts-expect-error the helper itself finds a difference
  sameType<ToolOutputOf<typeof typed>, { sky: string }>()
})

test('without an output schema, or with a JSON Schema, run may return anything', () => {
  tool({ ...base, run: () => 'blue' })
  tool({ ...base, run: () => {} })
  tool({
    ...base,
    output: { type: 'object', properties: { sky: { type: 'string' } } },
    run: () => ({ sky: 1 }),
  })
})

test('the input of run is typed by its schema', () => {
  tool({
    ...base,
    run: input => {
      sameType<typeof input, { city: string }>()
    },
  })
  tool({
    ...base,
    input: { type: 'object', properties: {} },
    run: input => {
      sameType<typeof input, JsonObject>()
    },
  })
  tool({
    ...base,
    input: 'text',
    run: input => {
      sameType<typeof input, string>()
    },
  })
  tool({
    ...base,
    input: { syntax: 'regex', definition: 'a+' },
    run: input => {
      sameType<typeof input, string>()
    },
  })
  // @ts-expect-error the schema has no such member
  tool({ ...base, run: ({ town }) => town })
  // @ts-expect-error an unknown kind of input
  assert.throws(() => tool({ ...base, input: 'json', run: () => '' }), { code: 'invalid_tool' })
})
