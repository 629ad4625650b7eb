// Enforces the import table of ARCHITECTURE.md and the limits on files and functions. A newcomer should know from a
// path what a file may touch.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import {
  type AdapterRule,
  functionLengths,
  type ImportMap,
  importsBetweenAdapters,
} from './architecture-rules.ts'

type Rule = { in: string; may: string[]; types?: string[] }

const rules: Rule[] = [
  { in: 'src/lib/', may: ['src/lib/'] },
  { in: 'src/language/', may: ['src/language/', 'src/lib/'] },
  { in: 'src/engine/', may: ['src/engine/', 'src/language/', 'src/lib/'] },
  { in: 'src/policy/', may: ['src/policy/', 'src/language/', 'src/lib/', 'src/engine/ports.ts'] },
  { in: 'src/models/', may: ['src/models/', 'src/language/', 'src/lib/', 'src/engine/ports.ts'] },
  { in: 'src/tools/', may: ['src/tools/', 'src/language/', 'src/lib/', 'src/engine/ports.ts'] },
  { in: 'src/stores/', may: ['src/stores/', 'src/language/', 'src/lib/', 'src/engine/ports.ts'] },
  { in: 'src/payments/', may: ['src/payments/', 'src/language/', 'src/lib/', 'src/engine/index.ts'] },
  {
    in: 'src/wires/',
    may: ['src/wires/', 'src/language/', 'src/lib/', 'src/engine/index.ts'],
    types: ['src/models/'],
  },
  {
    in: 'src/relay/',
    may: [
      'src/relay/',
      'src/payments/price.ts',
      'src/wires/',
      'src/models/',
      'src/language/',
      'src/lib/',
      'src/engine/index.ts',
      'src/engine/ports.ts',
    ],
  },
  { in: 'src/client/', may: ['src/client/', 'src/language/', 'src/lib/'] },
  { in: 'src/react/', may: ['src/react/', 'src/client/', 'src/language/', 'src/lib/'] },
  { in: 'console/', may: ['console/', 'src/react/', 'src/client/', 'src/language/', 'src/lib/'] },
  {
    in: 'src/testing/',
    may: [
      'src/testing/',
      'src/language/',
      'src/lib/',
      'src/engine/ports.ts',
      'src/models/',
      'src/runtime/turnwire.ts',
      'src/stores/memory.ts',
    ],
  },
  {
    in: 'src/runtime/',
    may: [
      // The checks of the vendors' rules, for the operator API. Loaded when asked for.
      'src/testing/doctor.ts',
      'src/runtime/',
      'src/relay/',
      'src/payments/',
      'src/wires/',
      'src/stores/',
      'src/tools/',
      'src/models/',
      'src/policy/',
      'src/engine/',
      'src/language/',
      'src/lib/',
    ],
  },
  {
    in: 'src/cli/',
    may: [
      'src/cli/',
      'src/runtime/',
      'src/relay/owner/',
      'src/client/',
      'src/testing/',
      'src/language/',
      'src/lib/',
    ],
  },
]

const adapters: AdapterRule = {
  ports: ['src/stores/', 'src/wires/', 'src/models/protocols/', 'src/models/providers/', 'src/tools/'],
  shared: [
    'src/stores/cursor.ts',
    'src/stores/encoded-log.ts',
    'src/stores/failures.ts',
    'src/tools/functions/tool.ts',
    'src/wires/client-threads.ts',
    'src/wires/fields.ts',
    'src/wires/host.ts',
    'src/wires/http/',
    'src/wires/left-open.ts',
    'src/wires/openai-refusal.ts',
    'src/wires/own-tools.ts',
    'src/wires/read-log.ts',
    'src/wires/stateless/',
    'src/wires/stop-by-leaving.ts',
    'src/models/providers/deployment.ts',
    // Presets of other addresses are made of these three.
    'src/models/providers/compatible.ts',
    'src/models/providers/gemini.ts',
    'src/models/providers/openai.ts',
    'src/models/protocols/google/',
  ],
}

const longestFunction = 60
/** Functions that may be longer, because they are tables, as `path: name`, each with the reason. */
const tables: Readonly<Record<string, string>> = {
  'src/engine/evolve.ts: evolve': 'one entry for each type of event',
  'src/models/scripted/script-shape.ts: makeShape': 'the schema of a script',
  'src/stores/sqlite/statements.ts: prepareStatements': 'all SQL of the store, one entry for each statement',
  'src/testing/contracts/store-keeping.ts: exactnessTests': 'a list of tests',
  'src/testing/contracts/store-keeping.ts: listingTests': 'a list of tests',
  'src/testing/contracts/store-reading.ts: pagingTests': 'a list of tests',
  'src/testing/contracts/store.ts: creationTests': 'a list of tests',
  'src/wires/fields.ts: fieldReader': 'one entry for each kind of field',
}

type Import = { from: string; to: string; typeOnly: boolean }

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

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

const files = globSync(['src/**/*.{ts,tsx}', 'console/**/*.{ts,tsx}']).filter(
  file => !file.endsWith('.test.ts'),
)
const imports = files.flatMap(importsOf)

test('there is something to look at', () => {
  assert.ok(files.length > 50)
  assert.ok(imports.length > 100)
})

test('every folder imports only what the table allows', () => {
  const broken = imports.filter(({ from, to, typeOnly }) => {
    const rule = rules.find(each => from.startsWith(each.in))
    if (!rule) return false
    return ![...rule.may, ...(typeOnly ? (rule.types ?? []) : [])].some(allowed => to.startsWith(allowed))
  })
  assert.deepEqual(
    broken.map(({ from, to }) => `${from} -> ${to}`),
    [],
  )
})

test('every file under src is in the table, except the package’s own entry', () => {
  const strays = files.filter(
    file => file !== 'src/index.ts' && !rules.some(rule => file.startsWith(rule.in)),
  )
  assert.deepEqual(strays, [])
})

test('adapters of one port never import one another', () => {
  const map: ImportMap = new Map(
    files.map(file => [file, imports.filter(({ from }) => from === file).map(({ to }) => to)]),
  )
  assert.deepEqual(importsBetweenAdapters(map, adapters), [])
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

test('other folders import only index.ts and ports.ts of the engine', () => {
  const outside = imports.filter(
    ({ from, to }) =>
      to.startsWith('src/engine/') &&
      !from.startsWith('src/engine/') &&
      to !== 'src/engine/index.ts' &&
      to !== 'src/engine/ports.ts',
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
  for (const file of files) if (/^(?:src\/client|src\/react|console\/src)\//.test(file)) visit(file)
  const bound = [...reached].filter(file => /from 'node:|import\('node:/.test(readFileSync(file, 'utf8')))
  assert.deepEqual(bound, [])
})

test('files are short enough to read in one sitting', () => {
  const limit = (file: string): number => (file.includes('/protocols/') ? 700 : 400)
  const long = files.filter(file => readFileSync(file, 'utf8').split('\n').length > limit(file))
  assert.deepEqual(long, [])
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
