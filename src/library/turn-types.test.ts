// What the compiler knows of a turn. `tsc` is the judge: each `@ts-expect-error` fails the type check if the line below it is
// allowed. The programs run too, so that the types agree with the values.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod'
import { sameType } from '../../test/same-type.ts'
import { type AgentConfig, defineConfig } from '../config/config.ts'
import type { Tool } from '../engine/index.ts'
import { rehearsal } from '../models/rehearsal/index.ts'
import { scripted } from '../models/scripted/index.ts'
import { shell, tool, workspace } from '../tools/index.ts'
import type { Reply, TurnItem } from './reply.ts'
import { Turnwire } from './turnwire.ts'

const look = tool({
  name: 'look',
  description: 'Looks at the sky.',
  input: z.object({}),
  output: z.object({ sky: z.enum(['blue', 'grey']), degrees: z.number().optional() }),
  trust: 'trusted',
  run: () => ({ sky: 'blue' }),
})
const count = tool({
  name: 'count',
  description: 'Counts.',
  input: z.object({}),
  output: z.object({ birds: z.number() }),
  trust: 'trusted',
  run: () => ({ birds: 3 }),
})
const note = tool({ name: 'note', description: 'Notes.', input: z.object({}), run: () => 'noted' })

test('item.tool narrows what the result has as data', async t => {
  const model = scripted([{ calls: [{ name: 'look' }, { name: 'count' }] }, { text: 'done' }])
  const turnwire = await Turnwire.open({
    agents: [
      { name: 'a', model, tools: [look, note, ...workspace({ root: '.' }), shell({ root: '.' })] },
      { name: 'b', model: rehearsal() },
      { name: 'c', model: rehearsal(), tools: [count] },
    ],
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const session = await turnwire.session('a', {
    ownTools: [{ name: 'ring', description: 'Rings.', input: { type: 'object' } }],
  })
  const seen: string[] = []
  for await (const item of session.send('Look.')) {
    if (item.type !== 'result') continue
    if (item.tool === 'look' && item.outcome.structured) {
      const { sky, degrees } = item.outcome.structured
      sameType<typeof sky, 'blue' | 'grey'>()
      sameType<typeof degrees, number | undefined>()
      // @ts-expect-error the schema has no such member
      assert.equal(item.outcome.structured.birds, undefined)
      seen.push(`${sky} ${degrees}`)
    }
    // Another agent's tool: it may run after a hand-over.
    if (item.tool === 'count') sameType<typeof item.outcome.structured, { birds: number } | undefined>()
    // Tools without an output schema, tools of ours, and the application's own.
    if (item.tool === 'note') sameType<typeof item.outcome.structured, unknown>()
    if (item.tool === 'read_file' || item.tool === 'shell' || item.tool === 'read_output')
      sameType<typeof item.outcome.structured, unknown>()
    if (item.tool === 'ring') sameType<typeof item.outcome.structured, unknown>()
    // @ts-expect-error a misspelt name
    if (item.tool === 'lok') seen.push('never')
    const name: string = item.tool
    seen.push(name)
  }
  // The agent does not have "count": that call is settled before any tool runs.
  assert.deepEqual(seen, ['count', 'blue undefined', 'look'])
})

test('tools of an MCP server are known by the name of their server', () => {
  const config = defineConfig({
    agents: [{ name: 'a', model: rehearsal(), tools: [look] }],
    mcp: { github: { command: 'github' } },
  })
  const read = async (turnwire: Awaited<ReturnType<typeof open>>) => {
    for await (const item of (await turnwire.session('a')).send('Look.')) {
      if (item.type !== 'result') continue
      if (item.tool === 'github__search') sameType<typeof item.outcome.structured, unknown>()
      if (item.tool === 'look')
        sameType<NonNullable<typeof item.outcome.structured>['sky'], 'blue' | 'grey'>()
      // @ts-expect-error there is no such server
      if (item.tool === 'gitlab__search') return
    }
  }
  const open = () => Turnwire.open(config)
  assert.equal(typeof read, 'function')
})

test('with a tool whose name is not known, every comparison is allowed', async t => {
  const some: Tool = look
  const turnwire = await Turnwire.open({
    agents: [
      { name: 'a', model: scripted([{ calls: [{ name: 'look' }] }, { text: 'done' }]), tools: [some] },
    ],
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const names: string[] = []
  for await (const item of (await turnwire.session('a')).send('Look.'))
    if (item.type === 'result' && item.tool === 'look') {
      sameType<typeof item.outcome.structured, unknown>()
      names.push(item.tool)
    }
  assert.deepEqual(names, ['look'])
})

test('an answer with a schema is typed, and is what the schema makes of it', async t => {
  const sky = z.object({ sky: z.string().transform(each => each.length), seen: z.number().default(1) })
  const turnwire = await Turnwire.open({
    agents: [
      { name: 'typed', model: scripted([{ text: '{"sky":"blue"}' }]), answer: sky },
      { name: 'plain', model: scripted([{ text: '{"sky":"blue"}' }]), answer: { type: 'object' } },
      { name: 'text', model: scripted([{ text: '{"sky":"blue"}' }]) },
    ],
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const typed = await turnwire.run('typed', 'Look.')
  assert.ok(typed.status === 'done' && typed.object)
  sameType<typeof typed.object, { sky: number; seen: number }>()
  assert.deepEqual(typed.object, { sky: 4, seen: 1 })
  const plain = await turnwire.run('plain', 'Look.')
  assert.deepEqual(plain.status === 'done' && plain.object?.['sky'], 'blue')
  const text = await turnwire.run('text', 'Look.')
  assert.ok(text.status === 'done')
  sameType<typeof text.object, undefined>()
  assert.equal(text.object, undefined)
})

test('data that the schema’s own check refuses is not given as an answer', async t => {
  const even = z.object({ count: z.number().refine(each => each % 2 === 0) })
  const turnwire = await Turnwire.open({
    agents: [{ name: 'a', model: scripted([{ text: '{"count":3}' }]), answer: even }],
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const reply = await turnwire.run('a', 'Count.')
  assert.ok(reply.status === 'done')
  assert.deepEqual([reply.object, reply.text], [undefined, '{"count":3}'])
})

test('typed items, replies and instances fit where the plain types are asked for', async t => {
  const config = defineConfig({
    agents: [{ name: 'a', model: scripted([{ text: 'x' }]), tools: [look] }],
    data: 'memory',
  })
  const turnwire: Turnwire = await Turnwire.open(config)
  t.after(() => turnwire.close())
  const typed = await Turnwire.open({
    ...config,
    agents: [{ name: 'a', model: scripted([{ text: 'x' }]), tools: [look] }],
  })
  t.after(() => typed.close())
  const take = (item: TurnItem): string => item.type
  const types: string[] = []
  for await (const item of (await typed.session('a')).send('Hello.')) types.push(take(item))
  const reply: Reply = await turnwire.run('a', 'Hello.')
  assert.deepEqual([types, reply.text], [['text', 'end'], 'x'])
})

test('agents that a program made are taken, with the names that are known', async t => {
  const made: AgentConfig[] = ['x', 'y'].map(name => ({ name, model: scripted([{ text: name }]) }))
  const turnwire = await Turnwire.open({
    agents: [...made, { name: 'z', model: rehearsal() }],
    data: 'memory',
  })
  t.after(() => turnwire.close())
  assert.equal((await turnwire.run('x', 'Hello.')).text, 'x')
})

test('an unknown setting of an agent stays an error', () => {
  defineConfig({
    agents: [
      // @ts-expect-error a misspelt setting
      { name: 'a', model: rehearsal(), toolz: [look] },
    ],
  })
  defineConfig({
    agents: [
      // @ts-expect-error a misspelt setting inside of one
      { name: 'a', model: rehearsal(), tools: [look], limits: { steps: 3, stepz: 3 } },
    ],
  })
  // @ts-expect-error no tool
  defineConfig({ agents: [{ name: 'a', model: rehearsal(), tools: [3] }] })
})
