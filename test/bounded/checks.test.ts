// Schemas and grammars of a client that take long to compile or to check against, with arguments to match: the event loop
// stays free, other clients are served, and the call ends with a reason. What is large and honest passes (T-18, T-19).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json, JsonObject } from '../../src/lib/json/index.ts'
import { type Attacked, assertFree, attacked, script, stallOf } from './attack-rig.ts'

/** The CPU time that a check may add to a turn of the loop. */
const CHECK_MS = 50

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n))
const object = <T>(count: number, entry: (n: number) => [string, T]): Record<string, T> =>
  Object.fromEntries(times(count, entry))
const list = (items: JsonObject): JsonObject => ({ type: 'object', properties: { list: { items } } })
const keys = (count: number): JsonObject => object(count, n => [`k${n}`, 1])

/** `ends`: how the call ends; `handed`: the client gets it. */
type Attack = { schema: JsonObject; value: Json; ends: RegExp | 'handed' }

const nested = (levels: number): Json => {
  let value: Json = {}
  for (let level = 0; level < levels; level++) value = { x: value }
  return value
}

const slow = /took longer than 5 seconds|needed too much memory/
const attacks: Record<string, Attack> = {
  '1,900 patterns of names for 45,000 names': {
    schema: { type: 'object', patternProperties: object(1_900, n => [`^a${n}$`, {}]) },
    value: keys(45_000),
    ends: slow,
  },
  'forty patterns of names for 10,000 names': {
    schema: { type: 'object', patternProperties: object(40, n => [`^a${n}$`, {}]) },
    value: keys(10_000),
    ends: 'handed',
  },
  'a few patterns of names, quick to compile, for 15,000 names': {
    schema: { type: 'object', patternProperties: object(12, n => [`[a-z][0-9]+x${n}`, {}]) },
    value: keys(15_000),
    ends: 'handed',
  },
  // One short pattern and few values: only the matching itself costs anything, and that takes a second.
  'one pattern that is hard to match, for 1,000 long names': {
    schema: { type: 'object', patternProperties: { '^.*a.{40}$': {} } },
    value: object(1_000, n => [`${scattered(300, n)}${n}`, 1]),
    ends: 'handed',
  },
  'names that must match a long pattern': {
    schema: { type: 'object', propertyNames: { pattern: '^[a-z0-9]{1,200}$' } },
    value: keys(5_000),
    ends: 'handed',
  },
  'a check that doubles with each level of the value': {
    schema: { type: 'object', properties: { x: { oneOf: [{ $ref: '#' }, { $ref: '#' }] } } },
    value: nested(60),
    ends: slow,
  },
  'forty alternatives for each of 20,000 items': {
    schema: list({ anyOf: times(40, n => ({ const: `x${n}` })) }),
    value: { list: times(20_000, n => n) },
    ends: /do not fit its schema/,
  },
  '20,000 allowed values for each of 2,000 items': {
    schema: list({ enum: times(20_000, n => `x${n}`) }),
    value: { list: times(2_000, n => `y${n}`) },
    ends: /do not fit its schema/,
  },
  'a long list of different items': {
    schema: { type: 'object', properties: { list: { uniqueItems: true } } },
    value: { list: times(60_000, n => n) },
    ends: 'handed',
  },
  'an item that is nowhere in a long list': {
    schema: { type: 'object', properties: { list: { contains: { const: -1 } } } },
    value: { list: times(60_000, n => n) },
    ends: /do not fit its schema/,
  },
  'schemas that depend on forty names': {
    schema: {
      type: 'object',
      dependentSchemas: object(40, n => [`k${n}`, { additionalProperties: { type: 'number' } }]),
    },
    value: keys(10_000),
    ends: 'handed',
  },
  'a pattern for a text of a megabyte': {
    schema: { type: 'object', properties: { text: { pattern: '^([a-z]{1,50} ?)+$' } } },
    value: { text: 'a'.repeat(1_000_000) },
    ends: 'handed',
  },
  'a format for a text of a megabyte': {
    schema: { type: 'object', properties: { text: { format: 'uri' } } },
    value: { text: `http://${'a.'.repeat(500_000)}` },
    ends: 'handed',
  },
  'a schema that takes long to compile': {
    schema: { type: 'object', properties: object(1_500, n => [`p${n}`, { type: 'string', minLength: 1 }]) },
    value: { p1: 'x' },
    ends: 'handed',
  },
}

const honest: Record<string, Attack> = {
  'a text of a megabyte': {
    schema: {
      type: 'object',
      properties: { path: { type: 'string', pattern: '^[\\w./-]+$' }, text: { type: 'string' } },
      required: ['path', 'text'],
      additionalProperties: false,
    },
    value: { path: 'a/b.txt', text: 'words and more words, '.repeat(48_000) },
    ends: 'handed',
  },
  'a megabyte of rows': {
    schema: list({
      type: 'object',
      properties: { id: { type: 'integer' }, name: { type: 'string', maxLength: 80 } },
      required: ['id', 'name'],
      additionalProperties: false,
    }),
    value: { list: times(20_000, n => ({ id: n, name: `row ${n}, ${'and more '.repeat(4)}` })) },
    ends: 'handed',
  },
}

async function declare(server: Attacked, schema: JsonObject, as: string): Promise<string> {
  const tools = [{ name: 'own', description: 'Is run by the client.', parameters: schema }]
  const answer = await server.send({ path: '/sessions', body: { agent: { name: 'helper' }, tools }, as })
  assert.equal(answer.status, 201, answer.text.slice(0, 300))
  return (JSON.parse(answer.text) as { sessionId: string }).sessionId
}

/** Makes a session whose client has a tool, and gives the turn in which the model calls it with this value. */
async function ownCall(server: Attacked, schema: JsonObject, value: Json): Promise<() => Promise<string>> {
  const session = await declare(server, schema, 'eve')
  const words = script({ calls: [{ name: 'own', text: JSON.stringify(value) }] })
  return async () => {
    const { status, text } = await server.turn(session, words, { as: 'eve' })
    assert.equal(status, 200, text.slice(0, 300))
    return text
  }
}

/** Asserts that a check adds little to what the turn takes without one. */
async function assertAddsLittle(
  server: Attacked,
  schema: JsonObject,
  turn: (schema: JsonObject) => Promise<() => Promise<unknown>>,
): Promise<void> {
  const plain = (await stallOf(server, await turn({ type: 'object' }))).stallMs
  // A schema is compiled once, so each try has another.
  const turns = await Promise.all(times(3, n => turn({ ...schema, $comment: `${n}` })))
  await assertFree(server, `without a check ${plain} ms`, attempt => turns[attempt]!(), plain + CHECK_MS)
}

async function attack(server: Attacked, { schema, value, ends }: Attack): Promise<void> {
  await assertAddsLittle(server, schema, async given => {
    const turn = await ownCall(server, given, value)
    return async () => {
      const text = await turn()
      const expected = ends === 'handed' || !('$comment' in given) ? /^\{"stopReason":"tool_use"/ : ends
      assert.ok(expected.test(text), `${text.slice(0, 100)}…${text.slice(-1_000)}`)
    }
  })
}

/** Loads what every first check loads. */
async function warmUp(server: Attacked): Promise<void> {
  await (await ownCall(server, { type: 'object' }, {}))()
}

test('the loop stays free while the checks of a client take long', async t => {
  const server = await attacked(t, { owners: ['eve', 'ann'] })
  await warmUp(server)
  for (const [what, given] of Object.entries({ ...attacks, ...honest }))
    await t.test(what, () => attack(server, given))
})

test('other clients are served while the checks of one take long, theirs among them', async t => {
  const server = await attacked(t, { owners: ['eve', 'ann'] })
  await warmUp(server)
  const { schema, value } = attacks['a check that doubles with each level of the value']!
  const words = script({ calls: [{ name: 'own', text: JSON.stringify(value) }] })
  let eveIsDone = false
  // One after the other they would take a minute.
  const sessions = await Promise.all(times(12, () => declare(server, schema, 'eve')))
  void Promise.all(sessions.map(session => server.turn(session, words, { as: 'eve' }))).then(
    () => (eveIsDone = true),
    () => {}, // The server ends with the test.
  )
  const rows = honest['a megabyte of rows']!
  const calls = [{ name: 'own', text: JSON.stringify(rows.value) }]
  for (let round = 0; round < 3; round++) {
    const session = await declare(server, rows.schema, 'ann')
    const { text } = await server.turn(session, script({ calls }), { as: 'ann' })
    assert.match(text.slice(0, 100), /^\{"stopReason":"tool_use"/)
  }
  assert.equal(eveIsDone, false)
  assert.equal((await server.send({ path: '/health' })).status, 200)
})

test('many costly checks in one answer share the time of one turn of the loop', async t => {
  const server = await attacked(t, { owners: ['eve'] })
  await warmUp(server)
  const schema = list({ anyOf: times(12, n => ({ const: `x${n}` })) })
  const text = JSON.stringify({ list: times(400, n => n) })
  const many = script({ calls: times(60, () => ({ name: 'own', text })) })
  await assertAddsLittle(server, schema, async given => {
    const session = await declare(server, given, 'eve')
    return async () => assert.equal((await server.turn(session, many, { as: 'eve' })).status, 200)
  })
})

test('what a client declares is bounded, one schema and all of them together', async t => {
  const server = await attacked(t, { owners: ['eve'] })
  const wide = { type: 'object', properties: object(1_500, n => [`p${n}`, {}]) }
  const tool = (n: number, parameters: JsonObject): JsonObject => ({
    name: `t${n}`,
    description: 'x',
    parameters,
  })
  const cases: [JsonObject[], RegExp][] = [
    [
      [
        tool(0, {
          $id: `http://a/${'b/'.repeat(90_000)}`,
          $defs: object(2_000, n => [`d${n}`, { $id: `x${n}` }]),
        }),
      ],
      /longer than 2048/,
    ],
    [
      [tool(0, { $defs: object(1_200, n => [`d${n}`, { $ref: '#/$defs/d0' }]) })],
      /more than 1000 references/,
    ],
    [times(15, n => tool(n, wide)), /together have more than 20000 subschemas/],
    [times(2_000, n => tool(n, {})), /at most 1024 tools/],
  ]
  for (const [tools, says] of cases)
    await assertFree(server, String(says), async () => {
      const body = { agent: { name: 'helper' }, tools }
      const { status, text } = await server.send({ path: '/sessions', body, as: 'eve' })
      assert.equal(status, 400)
      assert.match(text, says)
    })
})

/** A text of a and b without a pattern. */
function scattered(length: number, seed = 1): string {
  let text = ''
  for (let n = 0, next = seed; n < length; n++) {
    next = (next * 1_103_515_245 + 12_345) & 0x7fffffff
    text += next & 0x10000 ? 'a' : 'b'
  }
  return text
}

const rules = (count: number): string =>
  [
    `start: ${times(count, n => `r${n}`).join(' | ')}`,
    ...times(count, n => `r${n}: "k${n}" /[a-z]+/ r${(n + 1) % count}?`),
  ].join('\n')

const grammars: Record<string, { syntax: 'lark' | 'regex'; definition: string; text: string }> = {
  'an ambiguous grammar': {
    syntax: 'lark',
    definition: 'start: s\ns: s s | "a" | s s s',
    text: 'a'.repeat(20_000),
  },
  'an expression with a large automaton': {
    syntax: 'regex',
    definition: '.*a.{18}',
    text: scattered(20_000),
  },
  'an expression that is large once it is written out': {
    syntax: 'regex',
    definition: '(a{30}){30}',
    text: 'a',
  },
  'a grammar of 1,500 rules': { syntax: 'lark', definition: rules(1_500), text: 'k1abc' },
}

test('the loop stays free while a client has texts checked against its grammars', async t => {
  const server = await attacked(t, { owners: ['eve', 'ann'] })
  const call = async (text: string, format: JsonObject, as: string): Promise<string> => {
    const tools = [{ type: 'custom', name: 'own', description: 'Is run by the client.', format }]
    const input = script({ calls: [{ name: 'own', text }] })
    const answer = await server.send({ path: '/v1/responses', body: { model: 'helper', input, tools }, as })
    assert.equal(answer.status, 200, answer.text.slice(0, 500))
    return answer.text
  }
  const patch = { type: 'grammar', syntax: 'lark', definition: 'start: LINE+\nLINE: /[^\\n]*\\n/' }
  assert.match(await call('one\ntwo\n', patch, 'ann'), /"custom_tool_call"/)
  assert.doesNotMatch(await call('one\ntwo', patch, 'ann'), /"custom_tool_call"/)
  for (const [what, { syntax, definition, text }] of Object.entries(grammars))
    await t.test(what, async () => {
      const { stallMs: plain } = await stallOf(server, () => call(text, { type: 'text' }, 'eve'))
      // A grammar is compiled once, so each try has another.
      const own = (attempt: number): string =>
        syntax === 'lark' ? `${definition}\nUNUSED: "${attempt}"` : `${definition}|${attempt}`
      await assertFree(
        server,
        `without a check ${plain} ms`,
        async attempt => {
          const hostile = call(text, { type: 'grammar', syntax, definition: own(attempt) }, 'eve')
          assert.match(await call('one\ntwo\n', patch, 'ann'), /"custom_tool_call"/, 'another is served')
          assert.match(await hostile, /Done\.|"custom_tool_call"/)
        },
        plain + CHECK_MS,
      )
    })
})

test('the schema of an answer is bounded as those of tools are, on every wire that has one', async t => {
  const server = await attacked(t, { owners: ['eve'] })
  const schemas: [JsonObject, RegExp][] = [
    [{ $defs: object(1_200, n => [`d${n}`, { $ref: '#/$defs/d0' }]) }, /more than 1000 references/],
    [{ $id: `http://a/${'b/'.repeat(90_000)}`, type: 'object' }, /longer than 2048/],
  ]
  const wires: [path: string, body: (schema: JsonObject) => JsonObject][] = [
    [
      '/v1/responses',
      schema => ({
        model: 'helper',
        input: 'hello',
        text: { format: { type: 'json_schema', name: 'a', schema, strict: true } },
      }),
    ],
    [
      '/v1/responses',
      schema => ({
        model: 'helper',
        input: 'hello',
        store: false,
        text: { format: { type: 'json_schema', name: 'a', schema, strict: true } },
      }),
    ],
    [
      '/v1/chat/completions',
      schema => ({
        model: 'helper',
        messages: [{ role: 'user', content: 'hello' }],
        response_format: { type: 'json_schema', json_schema: { name: 'a', schema, strict: true } },
      }),
    ],
    [
      '/v1beta/models/helper:generateContent',
      schema => ({
        contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
        generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema },
      }),
    ],
  ]
  for (const [path, body] of wires)
    for (const [schema, says] of schemas)
      await assertFree(server, `${path} ${says}`, async () => {
        const { status, text } = await server.send({ path, body: body(schema), as: 'eve' })
        assert.equal(status, 400, `${path}: ${text.slice(0, 300)}`)
        assert.match(text, says, path)
      })
})
