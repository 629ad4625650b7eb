// Enforces the import table of ARCHITECTURE.md and the limits on files and functions. A newcomer should know from a
// path what a file may touch.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import {
  type AdapterRule,
  eventTypesIn,
  forbiddenImports,
  functionLengths,
  type Import,
  type ImportMap,
  type ImportRule,
  importsBetweenAdapters,
  largestKnot,
  reachedFrom,
  ruleFor,
  unusedPlaces,
  withoutComments,
} from './architecture-rules.ts'

const common = ['src/language/', 'src/lib/']
const ports = ['src/engine/ports/', ...common]
/** Each layer of the engine imports itself, what stands before it, and the ports; also for types. */
const layers = ['rules', 'log', 'calls', 'turn', 'sessions'].map(layer => `src/engine/${layer}/`)

/** The wires' types, without their code. */
const schemas = 'src/wires/*/schema.ts'

/** Where payments are kept: stores implement it, and a folder has them. */
const paymentsPort = 'src/payments/port.ts'

const rules: ImportRule[] = [
  { in: 'src/lib/', may: ['src/lib/'] },
  { in: 'src/language/', may: common },
  { in: 'src/apis/', may: ['src/apis/', ...common] },
  { in: 'src/engine/ports/', may: ports },
  ...layers.map((layer, index) => ({ in: layer, may: [...layers.slice(0, index + 1), ...ports] })),
  { in: 'src/engine/index.ts', may: ['src/engine/'] },
  { in: 'src/engines/', may: ['src/engines/', ...ports], types: [paymentsPort] },
  { in: 'src/callers/', may: ['src/callers/', ...ports] },
  { in: 'src/policy/', may: ['src/policy/', ...ports] },
  { in: 'src/models/', may: ['src/models/', ...ports] },
  { in: 'src/tools/', may: ['src/tools/', ...ports] },
  { in: 'src/stores/', may: ['src/stores/', paymentsPort, ...ports] },
  {
    in: 'src/wires/',
    may: ['src/wires/', 'src/apis/', 'src/callers/caller.ts', 'src/engine/index.ts', ...common],
  },
  { in: 'src/webhooks/', may: ['src/webhooks/', ...ports] },
  {
    in: 'src/payments/',
    may: ['src/payments/', 'src/callers/', 'src/engine/index.ts', ...common],
  },
  {
    in: 'src/relay/',
    // Relayed requests have the form of OpenAI's API, and are refused in its words.
    may: ['src/relay/', 'src/apis/openai/', 'src/callers/', 'src/models/', 'src/engine/index.ts', ...common],
    types: ['src/payments/', 'src/engines/'],
  },
  { in: 'src/client/', may: ['src/client/', ...common], types: [schemas] },
  { in: 'src/react/', may: ['src/react/', 'src/client/', ...common], types: [schemas] },
  {
    in: 'src/vue/',
    // What React's hook uses too, and no part of React.
    may: ['src/vue/', 'src/react/session-page.ts', 'src/react/view.ts', 'src/react/view-fold.ts'],
  },
  { in: 'console/', may: ['console/', 'src/react/', 'src/client/', ...common] },
  {
    in: 'src/config/',
    may: [
      'src/config/',
      'src/callers/keys.ts',
      'src/callers/owner-limits.ts',
      'src/callers/oidc/settings.ts',
      'src/callers/tokens/settings.ts',
      'src/data/data-place.ts',
      'src/data/retention.ts',
      'src/engines/cluster/settings.ts',
      'src/models/index.ts',
      'src/payments/config.ts',
      'src/policy/index.ts',
      'src/relay/config.ts',
      'src/webhooks/index.ts',
      'src/tools/index.ts',
      'src/tools/*/index.ts',
      'src/log.ts',
      ...ports,
    ],
    types: ['src/engine/index.ts', 'src/telemetry/index.ts', 'src/wires/mcp/index.ts'],
  },
  {
    in: 'src/data/',
    may: [
      'src/data/',
      'src/engine/index.ts',
      'src/engines/folder/folder-lock.ts',
      'src/stores/memory.ts',
      'src/stores/*/index.ts',
      'src/tools/mcp/index.ts',
      paymentsPort,
      ...ports,
    ],
    types: ['src/config/config.ts', 'src/log.ts'],
  },
  {
    in: 'src/demo/',
    may: [
      'src/demo/',
      'src/data/data-place.ts',
      'src/models/rehearsal/index.ts',
      'src/tools/index.ts',
      ...ports,
    ],
    types: ['src/config/config.ts'],
  },
  {
    in: 'src/proof/',
    may: ['src/proof/', 'src/data/copies/check.ts', ...common],
  },
  {
    in: 'src/telemetry/',
    may: ['src/telemetry/', 'src/data/version.ts', 'src/wires/operator/index.ts', ...ports],
    types: ['src/config/config.ts', 'src/engine/index.ts', 'src/wires/host.ts'],
  },
  {
    in: 'src/library/',
    may: [
      'src/library/',
      'src/callers/keys.ts',
      'src/config/build-agent.ts',
      'src/data/data-place.ts',
      'src/data/version.ts',
      'src/engine/index.ts',
      'src/engines/folder/find-engine.ts',
      'src/runtime.ts',
      // Loaded with the first request.
      'src/server/mount.ts',
      'src/world.ts',
      ...common,
    ],
    types: ['src/config/config.ts', 'src/log.ts'],
  },
  {
    in: 'src/server/',
    may: [
      'src/server/',
      'src/callers/',
      'src/config/build-agent.ts',
      'src/config/config.ts',
      'src/config/flow-report.ts',
      'src/data/retention.ts',
      'src/data/version.ts',
      'src/library/turnwire.ts',
      'src/models/index.ts',
      'src/models/common/text-tools.ts',
      // The glue of payments and the relay is here, so that neither knows the server.
      'src/payments/',
      'src/relay/',
      'src/telemetry/index.ts',
      'src/tools/mcp/index.ts',
      'src/webhooks/index.ts',
      'src/wires/',
      // For the operator API. Loaded when asked for.
      'src/doctor/index.ts',
      'src/evals/from-session.ts',
      'src/world.ts',
      ...common,
    ],
    types: ['src/data/vault.ts', 'src/engine/index.ts', 'src/log.ts', 'src/runtime.ts'],
  },
  { in: 'src/doctor/', may: ['src/doctor/', 'src/models/', 'src/testing/doubles/', ...ports] },
  {
    in: 'src/conform/',
    may: ['src/conform/', 'src/models/scripted/index.ts', 'src/tools/index.ts', ...ports],
    types: ['src/config/config.ts'],
  },
  {
    in: 'src/evals/',
    may: [
      'src/evals/',
      'src/config/named-models.ts',
      'src/library/turnwire.ts',
      'src/tools/functions/return-value.ts',
      ...ports,
    ],
    types: ['src/config/config.ts', 'src/library/reply.ts', 'src/policy/index.ts'],
  },
  {
    in: 'src/replay/',
    may: [
      'src/replay/',
      'src/config/build-agent.ts',
      'src/config/draft-policy.ts',
      'src/config/load-config.ts',
      'src/config/named-models.ts',
      'src/config/rules-file.ts',
      'src/engine/index.ts',
      'src/models/index.ts',
      'src/stores/memory.ts',
      'src/tools/functions/return-value.ts',
      ...common,
    ],
    types: ['src/config/config.ts'],
  },
  {
    in: 'src/verdicts/',
    may: [
      'src/verdicts/',
      'src/config/build-agent.ts',
      'src/config/data-file.ts',
      'src/config/mcp-servers.ts',
      'src/engine/index.ts',
      ...common,
    ],
    types: ['src/config/config.ts', 'src/tools/mcp/index.ts'],
  },
  {
    in: 'src/testing/',
    may: [
      'src/testing/',
      'src/apis/',
      'src/conform/index.ts',
      'src/doctor/',
      'src/evals/index.ts',
      'src/replay/index.ts',
      'src/models/',
      'src/library/turnwire.ts',
      'src/stores/memory.ts',
      ...ports,
    ],
  },
  { in: 'src/cli/', may: ['src/'] },
]

const adapters: AdapterRule = {
  ports: ['src/stores/', 'src/wires/', 'src/models/protocols/', 'src/models/providers/', 'src/tools/'],
  shared: [
    'src/stores/cursor.ts',
    'src/stores/encoded-log.ts',
    'src/stores/failures.ts',
    'src/stores/log-index/',
    'src/stores/memory-finder.ts',
    'src/stores/memory-records.ts',
    'src/stores/payment-rows.ts',
    'src/stores/record-rows.ts',
    'src/stores/session-rows.ts',
    'src/stores/spending-rows.ts',
    'src/tools/functions/tool.ts',
    'src/wires/approval-link.ts',
    'src/wires/client-threads.ts',
    'src/wires/host.ts',
    'src/wires/http/',
    'src/wires/left-open.ts',
    'src/wires/not-found.ts',
    'src/wires/own-tools.ts',
    'src/wires/public-event.ts',
    'src/wires/read-log.ts',
    'src/wires/stateless/',
    'src/wires/stop-by-leaving.ts',
    'src/wires/waiting-calls.ts',
    'src/wires/wire.ts',
    'src/models/providers/deployment.ts',
    'src/models/protocols/google/',
  ],
}

const longestFunction = 60
/** Functions that may be longer, because they are tables, as `path: name`, each with the reason. */
const tables: Readonly<Record<string, string>> = {
  'src/engine/rules/evolve.ts: evolve': 'one entry for each type of event',
  'src/models/scripted/script-shape.ts: makeShape': 'the schema of a script',
  'src/stores/sqlite/statements.ts: prepareStatements': 'all SQL of the store, one entry for each statement',
  'src/testing/contracts/store-keeping.ts: exactnessTests': 'a list of tests',
  'src/testing/contracts/store-keeping.ts: listingTests': 'a list of tests',
  'src/testing/contracts/store-reading.ts: pagingTests': 'a list of tests',
  'src/testing/contracts/store.ts: creationTests': 'a list of tests',
  'src/lib/json/fields.ts: fieldReader': 'one entry for each kind of field',
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8')
  const found: Import[] = []
  for (const match of text.matchAll(
    /^(import|export)(\s+type)?\s[^'"]*?from\s+'(\.[^']+)'|import\('(\.[^']+)'\)/gms,
  )) {
    const path = match[3] ?? match[4]
    if (path)
      found.push({ from: file, to: normalize(join(dirname(file), path)), typeOnly: match[2] !== undefined })
  }
  return found
}

const files = globSync(['src/**/*.{ts,tsx}', 'console/**/*.{ts,tsx}']).filter(
  file => !file.endsWith('.test.ts'),
)
const imports = files.flatMap(importsOf)

function importMap(inside = ''): ImportMap {
  const map = new Map<string, string[]>(files.flatMap(file => (file.startsWith(inside) ? [[file, []]] : [])))
  for (const { from, to } of imports) map.get(from)?.push(to)
  return map
}

test('there is something to look at', () => {
  assert.ok(files.length > 50)
  assert.ok(imports.length > 100)
})

test('every folder imports only what the table allows', () => {
  assert.deepEqual(forbiddenImports(imports, rules), [])
})

test('the table allows no more than each folder needs', () => {
  const isGeneral = (line: string): boolean => [...ports, schemas].some(place => line.endsWith(`-> ${place}`))
  assert.deepEqual(
    unusedPlaces(imports, rules).filter(line => !isGeneral(line)),
    [],
  )
})

test('a place that is allowed and not used is found', () => {
  const table = [{ in: 'src/a/', may: ['src/a/', 'src/b/x.ts', 'src/c/'], types: ['src/d/*/index.ts'] }]
  const from = 'src/a/own.ts'
  const used = [
    { from, to: 'src/b/x.ts', typeOnly: false },
    { from, to: 'src/d/e/index.ts', typeOnly: true },
  ]
  assert.deepEqual(unusedPlaces(used, table), ['src/a/ -> src/c/'])
  const all = [...used, { from, to: 'src/c/y/z.ts', typeOnly: false }]
  assert.deepEqual(unusedPlaces(all, table), [])
})

test('the client may import the types of a wire’s schema, and nothing else of it', () => {
  const isAllowed = (to: string, typeOnly: boolean): boolean =>
    ['src/client/a.ts', 'src/react/a.ts'].every(
      from => forbiddenImports([{ from, to, typeOnly }], rules).length === 0,
    )
  assert.ok(isAllowed('src/wires/aap/schema.ts', true))
  assert.ok(!isAllowed('src/wires/aap/schema.ts', false))
  assert.ok(!isAllowed('src/wires/aap/encode.ts', true))
  assert.ok(!isAllowed('src/wires/schema.ts', true))
  assert.ok(!isAllowed('src/wires/aap/schema.ts/more.ts', true))
})

test('the types of the client reach no further than the schemas, the language and the leaves', () => {
  const reached = reachedFrom('src/client/index.ts', importMap())
  const allowed = { in: '', may: ['src/client/', schemas, ...common] }
  const far = [...reached].map(to => ({ from: 'src/client/index.ts', to, typeOnly: true }))
  assert.deepEqual(forbiddenImports(far, [allowed]), [])
  assert.ok(reached.has('src/wires/operator/schema.ts'))
})

test('every file under src is in the table, except the root that joins them', () => {
  const roots = ['src/extend.ts', 'src/index.ts', 'src/log.ts', 'src/runtime.ts', 'src/world.ts']
  const strays = files.filter(file => !roots.includes(file) && !ruleFor(file, rules))
  assert.deepEqual(strays, [])
})

test('adapters of one port never import one another', () => {
  assert.deepEqual(importsBetweenAdapters(importMap(), adapters), [])
})

/** Files that import one another, types included, can only be read together. */
const mostTangled = 4

test('few files of the engine import one another in a circle', () => {
  const knot = largestKnot(importMap('src/engine/'))
  assert.ok(knot.length <= mostTangled, `${knot.length} files import one another: ${knot.join(', ')}`)
})

test('the session and its loop know no feature by name', () => {
  const knowing = ['src/engine/sessions/session.ts', 'src/engine/turn/driver.ts']
  const features = ['ask-person', 'delegate', 'fit-images', 'hidden-arguments', 'hooks', 'kept-output']
    .concat(['nested-calls', 'postpone', 'read-output', 'sample'])
    .map(name => `src/engine/calls/${name}.ts`)
    .concat(['compact', 'messages', 'cancel-call'].map(name => `src/engine/turn/${name}.ts`))
  assert.deepEqual(
    features.filter(feature => !files.includes(feature)),
    [],
  )
  const known = imports.filter(({ from, to }) => knowing.includes(from) && features.includes(to))
  assert.deepEqual(
    known.map(({ from, to }) => `${from} -> ${to}`),
    [],
  )
})

/** Files and folders that read the types of events themselves, and why. */
const readsEvents: Record<string, string> = {
  'src/engine/': 'makes them, and folds them into its state',
  'src/engines/moving/resumed-deltas.ts': 'keeps that promise when a reader moves',
  'src/evals/': 'judges what a play did by its log',
  'src/language/approval-events.ts': 'declares them',
  'src/language/call-events.ts': 'declares them',
  'src/language/events.ts': 'declares them',
  'src/language/notices.ts': 'has types of messages, some of which are called like events',
  'src/language/show.ts': 'says what they mean to a client',
  'src/webhooks/courier.ts': 'reads the type of a message',
  'src/wires/operator/serve-notify.ts': 'makes the message that a link is made of',
  'src/language/search-text.ts': 'says which text of each a search looks in',
  'src/stores/log-index/digest.ts': 'counts what was done by the hour',
  'src/language/seals.ts': 'takes sealed texts out of them',
  'src/language/receipts.ts': 'says which hashes in them are hashes of contents',
  'src/language/receipt-calls.ts': 'says what a receipt has of a call',
  'src/language/make-receipt.ts': 'finds the events that a signature covers',
  'src/proof/redaction.ts': 'says which events are left out of a sealed file',
  'src/proof/sealed-script.ts': 'shows the log in a file that shares no code with the program',
  'src/language/step-deltas.ts': 'keeps the promise of a delta mode, for the engine and its homes',
  'src/verdicts/backtest.ts': 'reads what people decided about calls',
  'src/replay/': 'plays them again, and compares logs',
  'src/telemetry/': 'measures the engine itself',
  'src/testing/': 'makes them for suites',
  'src/wires/read-log.ts': 'a history as a model reads it, with the engine’s own fold',
  'src/cli/transcript.ts': 'shows the log event by event',
  'console/src/pages/session/log.tsx': 'shows the log event by event',
  'src/client/session-fold.ts':
    'the fold of what is shown does not fit into the size that the SDK may have in a page',
}

test('only language/show.ts says what an event means to a client', () => {
  const types = new Set(
    [...readFileSync('src/language/show.ts', 'utf8').matchAll(/case '([a-z]+\.[a-z]+)'/g)].map(
      ([, type = '']) => type,
    ),
  )
  assert.ok(types.size >= 15)
  const reading = files.filter(file => eventTypesIn(readFileSync(file, 'utf8'), types).length > 0)
  const listed = Object.keys(readsEvents)
  assert.deepEqual(
    reading.filter(file => !listed.some(each => file.startsWith(each))),
    [],
    'map what ShownFold gives, or say in the list why the file reads events itself',
  )
  assert.deepEqual(
    listed.filter(each => !reading.some(file => file.startsWith(each))),
    [],
    'these read no events any more: take them from the list',
  )
})

test('a type of event is seen in a comparison, a case, a table and a type, and not in a comment', () => {
  const types = new Set(['call.settled', 'turn.ended'])
  for (const code of [
    "if (event.type === 'call.settled') return",
    "      case 'call.settled':",
    "const stages = { 'call.settled': 1 }",
    "type Settled = Extract<Event, { type: 'call.settled' }>",
  ])
    assert.deepEqual(eventTypesIn(code, types), ['call.settled'], code)
  assert.deepEqual(
    eventTypesIn("// As 'turn.ended'.\n/** 'turn.ended' */\nconst other = 'step.started'", types),
    [],
  )
})

test('the largest circle of imports is found', () => {
  const map: ImportMap = new Map([
    ['a', ['b', 'x']],
    ['b', ['c']],
    ['c', ['a', 'd']],
    ['d', ['e']],
    ['e', ['d']],
    ['f', ['a', 'f']],
  ])
  assert.deepEqual(largestKnot(map), ['a', 'b', 'c'])
  assert.deepEqual(largestKnot(new Map([['a', ['b']]])), ['a'])
})

test('the rule on adapters sees folders, flat files and both together', () => {
  const rule: AdapterRule = {
    ports: ['src/tools/', 'src/models/', 'src/models/providers/'],
    shared: ['src/tools/shared.ts', 'src/tools/common/'],
  }
  const broken = (from: string, to: string): boolean =>
    importsBetweenAdapters(new Map([[from, [to]]]), rule).length > 0

  assert.ok(broken('src/tools/mcp/server.ts', 'src/tools/browser/page.ts'))
  assert.ok(broken('src/tools/search.ts', 'src/tools/browser.ts'))
  assert.ok(broken('src/tools/search.ts', 'src/tools/mcp/server.ts'))
  assert.ok(broken('src/tools/mcp/server.ts', 'src/tools/search.ts'))
  assert.ok(broken('src/tools/mcp/server.ts', 'src/tools/index.ts'))
  assert.ok(broken('src/models/providers/a/x.ts', 'src/models/providers/b/x.ts'))

  assert.ok(!broken('src/tools/index.ts', 'src/tools/search.ts'))
  assert.ok(!broken('src/tools/mcp/server.ts', 'src/tools/mcp/spec.ts'))
  assert.ok(!broken('src/tools/mcp.ts', 'src/tools/mcp/server.ts'))
  assert.ok(!broken('src/tools/search.ts', 'src/tools/shared.ts'))
  assert.ok(!broken('src/tools/search.ts', 'src/tools/common/text.ts'))
  assert.ok(!broken('src/tools/search.ts', 'src/models/chat.ts'))
  assert.ok(broken('src/models/providers/a.ts', 'src/models/providers/b.ts'))
  assert.deepEqual(
    importsBetweenAdapters(
      new Map([
        ['src/tools/a.ts', ['src/tools/b.ts', 'src/lib/x.ts', 'src/tools/c/d.ts']],
        ['src/tools/b.ts', ['src/lib/x.ts']],
      ]),
      rule,
    ),
    ['src/tools/a.ts -> src/tools/b.ts', 'src/tools/a.ts -> src/tools/c/d.ts'],
  )
})

test('every model protocol has the same files', () => {
  const folders = globSync('src/models/protocols/*').filter(folder => !adapters.shared.includes(`${folder}/`))
  assert.ok(folders.length >= 5)
  const wanted = ['index.ts', 'encode.ts', 'decode.ts', 'tools.ts', 'failure.ts']
  const missing = folders.flatMap(folder =>
    wanted.map(file => `${folder}/${file}`).filter(file => !files.includes(file)),
  )
  assert.deepEqual(missing, [])
})

test('other folders import only index.ts and the ports of the engine', () => {
  const outside = imports.filter(
    ({ from, to }) =>
      to.startsWith('src/engine/') &&
      !from.startsWith('src/engine/') &&
      to !== 'src/engine/index.ts' &&
      !to.startsWith('src/engine/ports/'),
  )
  assert.deepEqual(
    outside.map(({ from, to }) => `${from} -> ${to}`),
    [],
  )
})

test('what runs in a browser imports nothing of Node', () => {
  const reached = new Set<string>()
  const visit = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    for (const { from, to, typeOnly } of imports) if (from === file && !typeOnly) visit(to)
  }
  for (const file of files) if (/^(?:src\/client|src\/react|src\/vue|console\/src)\//.test(file)) visit(file)
  const bound = [...reached].filter(file => /from 'node:|import\('node:/.test(readFileSync(file, 'utf8')))
  assert.deepEqual(bound, [])
})

test('files are short enough to read in one sitting', () => {
  const limit = (file: string): number => (file.includes('/protocols/') ? 700 : 500)
  const long = files.filter(file => readFileSync(file, 'utf8').split('\n').length > limit(file))
  assert.deepEqual(long, [])
})

/** `keyOf(row)` says less than `rowKey(row)`. Words of JSON Schema may end so. */
const vaguelyNamed = (source: string): string[] =>
  [...withoutComments(source).matchAll(/\bfunction\*? (\w+Of)\b/g)]
    .map(([, name = '']) => name)
    .filter(name => !/(any|one|all)Of$/i.test(name))

test('no function is named after its argument alone', () => {
  assert.deepEqual(vaguelyNamed('function keyOf() {}\nfunction withAnyOf() {}\n// function b_Of'), ['keyOf'])
  const found = [...globSync('src/**/*.{ts,tsx}'), ...globSync('console/src/**/*.{ts,tsx}')]
    // The text of an application that is written for users.
    .filter(file => !file.endsWith('init-app-template.ts') && !file.endsWith('.test.ts'))
    .flatMap(file => vaguelyNamed(readFileSync(file, 'utf8')).map(name => `${file}: ${name}`))
  assert.deepEqual(found, [])
})

test('functions fit a screen', () => {
  const long = files.flatMap(file =>
    functionLengths(readFileSync(file, 'utf8'))
      .filter(({ name, lines }) => lines > longestFunction && !(`${file}: ${name}` in tables))
      .map(({ name, lines }) => `${file}: ${name} has ${lines} lines`),
  )
  assert.deepEqual(long, [])
})

test('the lengths of functions and methods are measured', () => {
  const body = (lines: number, indent = '  '): string => `${indent}work()\n`.repeat(lines)
  const source = [
    `export async function plain(a: number): Promise<void> {\n${body(3)}}`,
    `function wide(\n  a: number,\n  b: number,\n): void {\n${body(3)}  if (a) {\n  }\n}`,
    `const arrow = (a: number) => {\n${body(1)}}`,
    `const table = {\n${body(90)}}`,
    `export class Thing {\n  readonly #x = 1\n\n  async *run(): void {\n${body(4, '    ')}  }\n\n  get size() {\n${body(1, '    ')}  }\n}`,
  ].join('\n\n')
  assert.deepEqual(functionLengths(source), [
    { name: 'plain', lines: 5 },
    { name: 'wide', lines: 10 },
    { name: 'arrow', lines: 3 },
    { name: 'Thing.run', lines: 6 },
    { name: 'Thing.size', lines: 3 },
  ])
})

test('no vendor SDK is loaded at run time, and the types have no holes', () => {
  const text = new Map(files.map(file => [file, withoutComments(readFileSync(file, 'utf8'))]))
  const sdk = [...text].filter(([, body]) =>
    /^import (?!type)[^;]*from '(openai|@anthropic-ai\/sdk|@google\/genai)/m.test(body),
  )
  assert.deepEqual(
    sdk.map(([file]) => file),
    [],
  )
  const loose = [...text].filter(([, body]) => /@ts-ignore|@ts-expect-error|\bas any\b|: any\b/.test(body))
  assert.deepEqual(
    loose.map(([file]) => file),
    [],
  )
})

test('importing the library does not load its large packages', () => {
  const program = `
    import { registerHooks } from 'node:module'
    const packages = new Set()
    registerHooks({
      load(url, context, next) {
        const [, name] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? []
        if (name) packages.add(name)
        return next(url, context)
      },
    })
    await import('./src/index.ts')
    console.log(JSON.stringify([...packages].sort()))`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  assert.equal(stderr, '')
  assert.deepEqual(JSON.parse(stdout), ['@hono/node-server', 'eventsource-parser', 'hono'])
})
