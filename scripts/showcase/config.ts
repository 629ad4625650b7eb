// The configuration behind the pictures in docs/screenshots: agents whose scripted models do what a page has to show. Parallel
// calls, a failure and its repair, a diff, a terminal, an image, an agent that works for another, a call that waits.
import { agentTool, defineConfig, rehearsal, scripted, tool } from '../../src/index.ts'
import { chart } from './chart.ts'

const file = (path: string) => ({
  type: 'object' as const,
  properties: { path: { type: 'string' as const, description: path } },
  required: ['path'],
})

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const words = (value: unknown): string => (typeof value === 'string' ? value : '')

const before = `export function total(lines) {
  let sum = 0
  for (const line of lines) {
    sum += line.price
  }
  return sum
}
`
const after = `export function total(lines) {
  let sum = 0
  for (const { price, count = 1 } of lines) {
    sum += price * count
  }
  return Math.round(sum * 100) / 100
}
`

const readFile = tool({
  name: 'read_file',
  title: 'Read a file',
  description: 'Reads a file of the workspace.',
  input: file('The file'),
  kind: 'read',
  readOnly: true,
  trust: 'trusted',
  async run({ path }, context) {
    context.report({ locations: [{ path: words(path), line: 1 }] })
    await pause(words(path).length * 15)
    return words(path).endsWith('.ts') ? before : '{ "name": "shop", "version": "2.4.0" }'
  },
})

const search = tool({
  name: 'search_code',
  title: 'Search the code',
  description: 'Finds a text in the workspace.',
  input: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  kind: 'search',
  readOnly: true,
  trust: 'trusted',
  async run() {
    await pause(620)
    return JSON.stringify({
      matches: [
        { path: 'src/cart.ts', line: 4 },
        { path: 'src/invoice.ts', line: 31 },
      ],
    })
  },
})

const edit = tool({
  name: 'edit_file',
  title: 'Edit a file',
  description: 'Replaces a text in a file.',
  input: {
    type: 'object',
    properties: { path: { type: 'string' }, find: { type: 'string' }, replace: { type: 'string' } },
    required: ['path', 'find', 'replace'],
  },
  kind: 'edit',
  trust: 'trusted',
  async run({ path }, context) {
    context.report({ diffs: [{ path: words(path), oldText: before, newText: after }] })
    await pause(120)
    return 'Replaced 1 occurrence.'
  },
})

let runs = 0
const runTests = tool({
  name: 'run_tests',
  title: 'Run the tests',
  description: 'Runs the tests of the workspace.',
  input: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  kind: 'execute',
  trust: 'trusted',
  async run(_input, context) {
    runs += 1
    const isGreen = runs % 2 === 0
    const green = '\u001b[32m✔\u001b[0m'
    const lines = isGreen
      ? [
          `${green} totals of one line`,
          `${green} totals of many lines`,
          '\u001b[1m12 passed\u001b[0m in 0.8 s',
        ]
      : [
          `${green} totals of one line`,
          '\u001b[31m✘ totals of many lines\u001b[0m',
          '\u001b[2m    expected 59.97, got 19.99\u001b[0m',
          '\u001b[1m\u001b[31m1 failed\u001b[0m, 11 passed in 0.9 s',
        ]
    const command = 'node --test src/cart.test.ts'
    let output = ''
    for (const line of lines) {
      output += `${line}\n`
      context.report({ terminals: [{ id: 't1', command, cwd: '/srv/shop', output }] })
      await pause(180)
    }
    const exit = { code: isGreen ? 0 : 1 }
    context.report({ terminals: [{ id: 't1', command, cwd: '/srv/shop', output, exit }] })
    if (!isGreen) throw new Error('1 of 12 tests failed: totals of many lines')
    return '12 of 12 tests passed.'
  },
})

const plot = tool({
  name: 'plot',
  title: 'Draw a chart',
  description: 'Draws a chart of numbers.',
  input: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
  trust: 'trusted',
  readOnly: true,
  async run() {
    await pause(240)
    return {
      parts: [
        { type: 'text', text: 'Orders per day, last week.' },
        { type: 'image', url: chart() },
      ],
    }
  },
})

const deploy = tool({
  name: 'deploy',
  title: 'Deploy to production',
  description: 'Rolls a version out to the shop.',
  input: {
    type: 'object',
    properties: {
      version: { type: 'string' },
      region: { type: 'string', enum: ['eu', 'us', 'all'] },
      share: { type: 'integer', minimum: 1, maximum: 100, description: 'Per cent of the visitors' },
      notify: { type: 'string' },
    },
    required: ['version', 'region'],
    additionalProperties: false,
  },
  destructive: true,
  async run({ version, region }) {
    await pause(400)
    return `Version ${words(version)} is live in ${words(region)}.`
  },
})

const patch = tool({
  name: 'apply_patch',
  title: 'Change a file.',
  description: 'Writes a file of the shop.',
  input: {
    type: 'object',
    properties: { path: { type: 'string' }, reason: { type: 'string' } },
    required: ['path'],
  },
  kind: 'edit',
  preview: ({ path }) => ({ diffs: [{ path: words(path), oldText: before, newText: after }] }),
  run: () => 'Written.',
})

const refund = tool({
  name: 'refund',
  title: 'Refund an order',
  description: 'Pays an order back. It asks how much.',
  input: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  trust: 'trusted',
  async run({ order }, { ask }) {
    const answer = await ask({
      message: `How much of order ${words(order)} is paid back?`,
      schema: {
        type: 'object',
        properties: { amount: { type: 'number', title: 'Amount in EUR', minimum: 1, maximum: 59.97 } },
        required: ['amount'],
      },
    })
    return answer.action === 'accept' ? 'Paid back.' : 'Nothing was paid back.'
  },
})

const usage = (input: number, output: number, cost: number) => ({
  input,
  output,
  cacheRead: Math.round(input / 2),
  cost,
})

const finding = `The **count of pieces is ignored**: \`sum += line.price\`. It shows in last week's orders:

| Day | Orders | With several pieces | Missing |
|:----|-------:|--------------------:|--------:|
| Monday | 212 | 64 | € 1,284.10 |
| Tuesday | 187 | 58 | € 1,101.75 |

I change that, then run the tests:

\`\`\`ts
for (const { price, count = 1 } of lines) sum += price * count
\`\`\``

const engineer = scripted(
  [
    {
      thinking:
        'The totals are wrong for several pieces. Read the cart and look for other places that add prices.',
      text: 'I will look at the cart and at every place that adds up prices.',
      calls: [
        { name: 'read_file', input: { path: 'src/cart.ts' } },
        { name: 'read_file', input: { path: 'package.json' } },
        { name: 'search_code', input: { query: 'price' } },
        { name: 'ask_analyst', input: { task: 'How many orders have more than one piece of something?' } },
      ],
      stepDelayMs: 420,
      usage: usage(1840, 212, 0.0087),
    },
    {
      text: finding,
      calls: [
        {
          name: 'edit_file',
          input: { path: 'src/cart.ts', find: 'sum += line.price', replace: 'sum += price * count' },
        },
        { name: 'run_tests', input: { command: 'node --test src/cart.test.ts' } },
      ],
      stepDelayMs: 380,
      usage: usage(2630, 164, 0.0103),
    },
    {
      text: 'One test still fails: the edit and the tests ran at the same time. I run them again.',
      calls: [{ name: 'run_tests', input: { command: 'node --test src/cart.test.ts' } }],
      stepDelayMs: 300,
      usage: usage(3110, 88, 0.0107),
    },
    {
      text: 'All tests pass. Shall I roll it out to a part of the visitors?',
      calls: [
        {
          name: 'deploy',
          input: { version: '2.4.1', region: 'eu', share: 5, notify: 'shop-team@example.org' },
        },
      ],
      stepDelayMs: 260,
      usage: usage(3390, 121, 0.012),
    },
    {
      text: 'Version 2.4.1 runs for 5 % of the visitors in Europe. I will raise that to everybody now.',
      calls: [
        {
          name: 'deploy',
          input: { version: '2.4.1', region: 'all', share: 100, notify: 'shop-team@example.org' },
        },
      ],
      stepDelayMs: 240,
      usage: usage(3620, 97, 0.0123),
    },
    { text: 'Done: the totals count every piece, and version 2.4.1 is live.', usage: usage(3800, 60, 0.012) },
  ],
  { whenOver: 'repeat-last', id: 'claude-sonnet-4-6' },
)

const analyst = scripted(
  [
    {
      text: 'I count them.',
      calls: [{ name: 'plot', input: { title: 'Orders' } }],
      usage: usage(640, 40, 0.0025),
    },
    { text: '31 % of last week’s orders.', usage: usage(900, 28, 0.0031) },
  ],
  { whenOver: 'repeat-last', id: 'claude-haiku-4-5' },
)

export default defineConfig({
  agents: [
    {
      name: 'helper',
      title: 'Helper',
      model: rehearsal({ thinking: true }),
      tools: [readFile, search, deploy, plot],
    },
    {
      name: 'engineer',
      title: 'Engineer',
      model: engineer,
      description: 'Mends the shop’s code.',
      tools: [
        readFile,
        search,
        edit,
        runTests,
        plot,
        deploy,
        agentTool('analyst', { description: 'Answers questions about the shop’s numbers.' }),
      ],
    },
    {
      name: 'clerk',
      title: 'Clerk',
      model: scripted(
        [
          {
            text: 'I correct the file and pay the order back.',
            calls: [
              { name: 'refund', input: { order: 'A-1042' } },
              {
                name: 'apply_patch',
                input: { path: 'src/cart.ts', reason: 'Totals ignore the count of pieces' },
              },
            ],
          },
          { text: 'Both are done.' },
        ],
        { whenOver: 'repeat-last', id: 'gpt-5.2' },
      ),
      tools: [patch, refund],
    },
    { name: 'analyst', title: 'Analyst', model: analyst, tools: [plot] },
    {
      name: 'broken',
      model: scripted([{ fail: { code: 'model_failed', message: 'The vendor answered 529: overloaded.' } }], {
        whenOver: 'repeat-last',
        id: 'gpt-5.2',
      }),
      tools: [plot],
    },
  ],
  policy: {
    rules: [
      {
        name: 'everywhere-at-once',
        tool: 'deploy',
        args: { region: 'all' },
        then: 'ask',
        reason: 'Each region has its own hours.',
      },
      { name: 'patches', tool: 'apply_patch', then: 'ask', reason: 'A person reads each patch.' },
    ],
    shadow: [
      { name: 'tests-first', tool: 'deploy', notAfter: { tool: 'run_tests', outcome: 'ok' }, then: 'deny' },
    ],
  },
})
