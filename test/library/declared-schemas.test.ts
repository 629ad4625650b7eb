// Schemas that are not understood are refused wherever a program or a client declares one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { http, scripted, Turnwire, tool } from '../../src/index.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'

/** As zod 3 makes them. It is no JSON, and TypeScript would refuse it. */
class ZodObject {
  readonly _def = { typeName: 'ZodObject' }
  safeParse(): void {}
}
const zod3 = new ZodObject() as unknown as JsonObject
const misspelled = { type: 'object', propertes: { a: {} } }
const ahead = { type: 'object', properties: { a: { type: 'string', pattern: '^(?=a)' } } }

const bad = [
  [zod3, /zod 3.* Use zod 4/],
  [misspelled, /"properties" is/],
  [ahead, /looks ahead/],
] as const

test('a tool of the calling program, a tool over HTTP and the form of an answer are refused with what to use', async t => {
  const model = scripted([])
  const turnwire = await Turnwire.open({ agents: [{ name: 'a', model }], data: 'memory' })
  t.after(() => turnwire.close())
  for (const [input, message] of bad) {
    const own = { name: 'look', description: 'Looks.', input }
    await assert.rejects(turnwire.session('a', { ownTools: [own] }), { code: 'invalid_tool', message })
    assert.throws(() => http({ ...own, url: 'https://a.test/' }), { code: 'invalid_tool', message })
    await assert.rejects(Turnwire.open({ agents: [{ name: 'a', model, answer: input }], data: 'memory' }), {
      message,
    })
  }
})

test('unknown keywords of a tool are said when a process starts', async t => {
  const lines: string[] = []
  const log = (level: string, message: string, fields?: object) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
  const input = { type: 'object', properties: { a: { type: 'string', optional: true } } }
  const look = tool({ name: 'look', description: 'Looks.', input, output: { widget: 1 }, run: () => ({}) })
  const turnwire = await Turnwire.open(
    { agents: [{ name: 'a', model: scripted([]), tools: [look] }], data: 'memory' },
    { log },
  )
  t.after(() => turnwire.close())
  assert.deepEqual(
    lines.map(line => line.replace(/.*"warning":"/, '')),
    [
      'The input schema: \\"optional\\" is not a keyword of JSON Schema and is not checked."}',
      'The output schema: \\"widget\\" is not a keyword of JSON Schema and is not checked."}',
    ],
  )
})
