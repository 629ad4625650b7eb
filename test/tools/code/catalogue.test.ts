// What a model reads of the tools that its programs can call: their signatures, or, if there are many, how to find them.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Session } from '../../../src/engine/index.ts'
import { joinText } from '../../../src/language/content.ts'
import type { JsonObject } from '../../../src/lib/json/index.ts'
import { Turnwire } from '../../../src/library/turnwire.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { writeType } from '../../../src/tools/code/signatures.ts'
import { codeTool, tool } from '../../../src/tools/index.ts'
import { begin, clientTool, makeRig, say, stopAll } from '../../engine/rig.ts'

after(stopAll)

const types: [JsonObject, string][] = [
  [{ type: 'string' }, 'string'],
  [{ type: 'integer' }, 'number'],
  [{ enum: ['a', 1, null] }, '"a" | 1 | null'],
  [{ const: true }, 'true'],
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } }, '(string | number)[]'],
  [
    {
      type: 'object',
      properties: { a: { type: 'string', description: 'A */ b' }, 'b-c': { type: 'boolean' } },
      required: ['a'],
    },
    '{ /** A * / b */ a: string; "b-c"?: boolean }',
  ],
  [{ type: 'object', additionalProperties: { type: 'number' } }, '{ [key: string]: number }'],
  [{ $ref: '#/$defs/x', $defs: { x: { type: 'boolean' } } }, 'boolean'],
  [{ $ref: 'https://example.org/schema' }, 'any'],
  [{ type: 'object' }, 'Record<string, any>'],
]

for (const [schema, type] of types)
  test(`the type of ${JSON.stringify(schema)}`, () => assert.equal(writeType(schema), type))

test('a schema that refers to itself, or is huge, gives a short type', () => {
  const loop: JsonObject = { type: 'object', properties: { next: { $ref: '#' } } }
  assert.match(writeType(loop), /^\{ next\?: .*any.* \}$/)
  const properties = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, at) => [`member${at}`, { type: 'string' }]),
  )
  assert.equal(writeType({ type: 'object', properties }), 'any')
})

function descriptionOf(session: Session): string {
  return session.request().tools.find(({ name }) => name === 'run_code')?.description ?? ''
}

test('the description has the signature of every tool, those of the client too', async () => {
  const look = tool({
    name: 'look',
    description: 'Looks. */ ignore',
    input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    output: { type: 'object', properties: { found: { type: 'string' } }, required: ['found'] },
    run: () => ({ found: '' }),
  })
  const rig = makeRig({ tools: [codeTool(), look] })
  const plain = descriptionOf(await begin(rig))
  assert.match(
    plain,
    /\/\*\* Looks\. \* \/ ignore \*\/\nlook\(input: \{ n: number \}\): Promise<\{ found: string \}>/,
  )
  assert.ok(!plain.includes('run_code('))
  const withOwn = descriptionOf(await begin(rig, { clientTools: [clientTool('mine')] }))
  assert.match(withOwn, /^mine\(input/m)
})

const many = Array.from({ length: 3_000 }, (_, at) =>
  tool({
    name: `shop${at % 3}__order_${at}`,
    description: at === 1234 ? 'Cancels a subscription of a customer.' : `Does thing number ${at}.`,
    input: { type: 'object', properties: { id: { type: 'string' } } },
    trust: 'trusted',
    run: input => ({ done: at, input }),
  }),
)

test('three thousand tools cost no context: a program lists, searches, reads one signature, and calls', async () => {
  const code = `
    const modules = catalogue.list()
    const [first] = catalogue.search('cancel subscription')
    const signature = catalogue.read(first.name)
    const result = await tools[first.name]({ id: 'x' })
    return { modules, first: first.name, signature, done: result.done, listed: catalogue.list('shop1').length }`
  const turnwire = await Turnwire.open({
    data: 'memory',
    agents: [
      {
        name: 'helper',
        code: { only: true },
        tools: many,
        model: scripted((request, at) => {
          if (at === 0) {
            assert.deepEqual(
              request.tools.map(({ name }) => name),
              ['run_code'],
            )
            assert.ok((request.tools[0]?.description.length ?? 0) < 2_500)
          }
          return at === 0
            ? { calls: [{ name: 'run_code', input: { code } }] }
            : {
                text: joinText(
                  request.history.flatMap(entry =>
                    entry.role === 'tool' ? entry.results[0]!.outcome.parts : [],
                  ),
                ),
              }
        }),
      },
    ],
  })
  const session = await turnwire.session('helper')
  const { text } = await session.send('Cancel it.')
  await turnwire.close()
  const found = JSON.parse(text) as Record<string, unknown>
  assert.deepEqual(found, {
    modules: ['shop0', 'shop1', 'shop2'].map(module => ({ module, tools: 1_000 })),
    first: 'shop1__order_1234',
    signature:
      '/** Cancels a subscription of a customer. */\nshop1__order_1234(input?: { id?: string }): Promise<any>',
    done: 1234,
    listed: 200,
  })
})

test('a model that calls a tool of programs directly is refused', async () => {
  const turnwire = await Turnwire.open({
    data: 'memory',
    agents: [
      {
        name: 'helper',
        code: { only: ['shop0__order_0'] },
        tools: many.slice(0, 2),
        model: scripted([{ calls: [{ name: 'shop0__order_0', input: {} }] }, { text: 'Done.' }]),
      },
    ],
  })
  const session = await turnwire.session('helper')
  await session.send('Go.')
  const history = await session.history()
  await turnwire.close()
  const result = history.find(entry => entry.role === 'tool')?.results[0]?.outcome
  assert.equal(result?.kind, 'invalid')
  assert.match(joinText(result?.parts ?? []), /is called by programs only/)
})

test('a configuration with wrong settings of programs says what to do', async () => {
  const agent = { name: 'helper', model: scripted([]), tools: [] }
  const wrong: [unknown, RegExp][] = [
    ['yes', /agents\[0\]\.code: must be true, or an object/],
    [{ limits: { memoryMiB: 1 } }, /"memoryMiB" of programs must be from 24 to 2048/],
    [{ limits: { speed: 1 } }, /no limit named "speed"/],
    [{ only: 'all' }, /agents\[0\]\.code\.only: must be true, or a list/],
    [{ nam: 'x' }, /code\.nam/],
  ]
  // A JavaScript program can write anything.
  for (const [code, words] of wrong)
    await assert.rejects(Turnwire.open({ data: 'memory', agents: [{ ...agent, code: code as true }] }), words)
})

test('a program runs while others do, and many take turns', async () => {
  const script = [{ calls: [{ name: 'run_code', input: { code: 'return 1' } }] }, { text: 'Done.' }]
  const sessions = await Promise.all(
    Array.from({ length: 20 }, () => begin(makeRig({ tools: [codeTool()], script }))),
  )
  await Promise.all(sessions.map(session => say(session, 'go')))
  assert.ok(sessions.every(({ status }) => status === 'idle'))
})
