// What judging costs in a long session: the log is read once, and each call adds only what is new.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlowLog } from '../../engine/ports/flow.ts'
import type { FlowLabels } from '../../language/flow.ts'
import type { Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { Json } from '../../lib/json/index.ts'
import { createFlow } from './index.ts'

const declare = (name: string, readOnly: boolean, flow: FlowLabels): ToolDeclaration => ({
  name,
  description: name,
  input: { form: 'json', schema: { type: 'object' } },
  kind: 'other',
  readOnly,
  idempotent: readOnly,
  destructive: !readOnly,
  side: 'server',
  flow,
})
const read = declare('read_mail', true, { record: 'mail', outsiders: ['subject', 'body'] })
const find = declare('find_person', true, { output: 'trusted' })
const send = declare('send_mail', false, {
  output: 'trusted',
  args: { to: 'recipient', body: 'text', when: 'when', id: 'id' },
  ids: { id: 'mail' },
  words: ['write', 'pass', 'forward'],
})
const tools = new Map([read, find, send].map(tool => [tool.name, tool]))
const judge = createFlow(
  {},
  { isInsider: () => false, isUnguarded: () => false, findEarlier: () => undefined, hide: text => text },
)!

function addCall(entries: Entry[], name: string, number: number, words: string): void {
  const id = `call_${number}`
  const data: Json = [
    { id: number, subject: `Thing ${number}`, body: `${words} See https://x.test/${number}` },
  ]
  const parts = [{ type: 'text' as const, text: JSON.stringify(data) }]
  const outcome = {
    kind: 'ok' as const,
    parts,
    structured: data,
    from: { source: 'tool' as const, tool: name },
  }
  entries.push(
    { role: 'assistant', parts: [{ type: 'call', id, name, form: 'json', text: `{"q":"person${number}"}` }] },
    { role: 'tool', results: [{ callId: id, name, outcome }] },
  )
}

function longSession(calls: number, words: string): Entry[] {
  const entries: Entry[] = []
  for (let number = 0; number < calls; number += 1) {
    const text = `Write to person${number}@example.org on 2024-05-${10 + (number % 20)} at 10:00`
    if (number % 3 === 0) entries.push({ role: 'user', parts: [{ type: 'text', text }] })
    addCall(entries, number % 5 === 0 ? 'find_person' : 'read_mail', number, words)
  }
  return entries
}

const logOf = (entries: readonly Entry[], memory: FlowLog['memory']): FlowLog => ({
  entries,
  view: entries,
  nested: [],
  find: name => tools.get(name),
  isHidden: false,
  memory,
})

test('each call reads only the entries that are new', () => {
  const entries = longSession(3000, 'Some words.')
  let reads = 0
  const watched = new Proxy(entries, {
    get(target, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1
      return Reflect.get(target, key)
    },
  })
  const memory = {}
  judge(send, { to: 'mark@evil.test' }, logOf(watched, memory))
  assert.ok(reads >= entries.length)
  reads = 0
  judge(send, { to: 'mark@evil.test' }, logOf(watched, memory))
  assert.equal(reads, 0)
  addCall(entries, 'read_mail', 9999, 'More.')
  judge(send, { to: 'mark@evil.test' }, logOf(watched, memory))
  assert.ok(reads <= 12, `${reads} reads for two new entries`)
})

test('nothing is indexed before a call acts after untrusted text', () => {
  const entries: Entry[] = []
  for (let number = 0; number < 50; number += 1) addCall(entries, 'find_person', number, 'Known.')
  const memory: FlowLog['memory'] = {}
  judge(read, {}, logOf(entries, memory))
  assert.equal(memory.kept, undefined, 'a tool that reads is not looked at')
  assert.equal(judge(send, { to: 'x@y.test' }, logOf(entries, memory))?.tainted, false)
})

test('judging one call among 3,000 takes less than parsing 200 KB of JSON', () => {
  const entries = longSession(3000, 'Hello there, some words that go on. '.repeat(25))
  const memory = {}
  const inputs: Json[] = [
    { to: 'person2997@example.org', body: 'Hello', when: '2024-05-19 10:00' },
    { to: 'mark@evil.test', body: 'See https://x.test/2999', id: 2999 },
    { to: 'nobody of that name', body: 'x' },
  ]
  const reference = JSON.stringify(
    Array.from({ length: 4000 }, (_, at) => ({ name: `a name ${at}`, value: at, list: [at] })),
  )
  assert.ok(reference.length > 190_000)
  const spent = (run: () => void, rounds: number): number => {
    const start = process.cpuUsage()
    for (let round = 0; round < rounds; round += 1) run()
    const { user, system } = process.cpuUsage(start)
    return (user + system) / rounds
  }
  for (const input of inputs) judge(send, input, logOf(entries, memory))
  let number = 10_000
  const judging = spent(() => {
    addCall(entries, 'read_mail', number, 'More words.')
    number += 1
    judge(send, inputs[number % inputs.length]!, logOf(entries, memory))
  }, 300)
  const parsing = spent(() => JSON.parse(reference), 100)
  assert.ok(
    judging <= parsing,
    `${judging.toFixed(0)} µs for a call, ${parsing.toFixed(0)} µs for the reference`,
  )
})

test('a session of 10,000 results and 40 MB is read in bounded memory, and its bounds give no warrant', () => {
  const entries = longSession(10_000, 'x'.repeat(4000))
  const memory = {}
  const first = judge(send, { to: 'person9999@example.org' }, logOf(entries, memory))
  assert.equal(first?.warranted, true)
  const many: Entry[] = [
    { role: 'user', parts: [{ type: 'text', text: 'Pass on what is called "Thing 1"' }] },
  ]
  for (let number = 0; number < 21_000; number += 1) addCall(many, 'read_mail', number, '')
  assert.equal(judge(send, { id: 1 }, logOf(many.slice(0, 101), {}))?.warranted, true)
  const full = judge(send, { id: 1 }, logOf(many, {}))
  assert.equal(full?.warranted, false, 'a name could stand for two things')
})
