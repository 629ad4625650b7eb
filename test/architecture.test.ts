// The import table of ARCHITECTURE.md, enforced. A newcomer should know from a path alone what a file may touch.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

type Rule = { in: string; may: string[]; types?: string[] }

const rules: Rule[] = [
  { in: 'src/lib/', may: ['src/lib/'] },
  { in: 'src/language/', may: ['src/language/', 'src/lib/'] },
  { in: 'src/engine/', may: ['src/engine/', 'src/language/', 'src/lib/'] },
  { in: 'src/policy/', may: ['src/policy/', 'src/language/', 'src/lib/', 'src/engine/ports.ts'] },
  { in: 'src/models/', may: ['src/models/', 'src/language/', 'src/lib/', 'src/engine/ports.ts'] },
  { in: 'src/tools/', may: ['src/tools/', 'src/language/', 'src/lib/', 'src/engine/ports.ts'] },
  { in: 'src/stores/', may: ['src/stores/', 'src/language/', 'src/lib/', 'src/engine/ports.ts'] },
  {
    in: 'src/wires/',
    may: ['src/wires/', 'src/language/', 'src/lib/', 'src/engine/index.ts'],
    types: ['src/models/'],
  },
  { in: 'src/client/', may: ['src/client/', 'src/language/', 'src/lib/'] },
  {
    in: 'src/testing/',
    may: ['src/testing/', 'src/language/', 'src/lib/', 'src/engine/ports.ts', 'src/models/'],
  },
  {
    in: 'src/runtime/',
    may: [
      'src/runtime/',
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
    may: ['src/cli/', 'src/runtime/', 'src/client/', 'src/testing/', 'src/language/', 'src/lib/'],
  },
]

/** Adapters of one port: none may import its neighbour. */
const neighbours = [
  'src/stores/',
  'src/wires/',
  'src/models/protocols/',
  'src/models/providers/',
  'src/tools/',
]

/** Nodes that neighbours share, by design. */
const shared = ['src/wires/host.ts', 'src/wires/http/', 'src/wires/stateless/']

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

const files = globSync('src/**/*.ts').filter(file => !file.endsWith('.test.ts'))
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

test('every file under src is in the table, the package\u2019s own doors aside', () => {
  const strays = files.filter(
    file => file !== 'src/index.ts' && !rules.some(rule => file.startsWith(rule.in)),
  )
  assert.deepEqual(strays, [])
})

test('adapters of one port never import one another', () => {
  const adapterOf = (path: string): string | undefined => {
    const folder = neighbours.filter(each => path.startsWith(each)).sort((a, b) => b.length - a.length)[0]
    if (folder === undefined || shared.some(each => path.startsWith(each))) return undefined
    const rest = path.slice(folder.length)
    return rest.includes('/') ? folder + rest.split('/')[0] : undefined
  }
  const broken = imports.filter(({ from, to }) => {
    const [mine, theirs] = [adapterOf(from), adapterOf(to)]
    const sameFolder = neighbours.some(folder => from.startsWith(folder) && to.startsWith(folder))
    return mine !== undefined && theirs !== undefined && sameFolder && mine !== theirs
  })
  assert.deepEqual(
    broken.map(({ from, to }) => `${from} -> ${to}`),
    [],
  )
})

test('the engine is entered by its door alone', () => {
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

test('the client knows nothing of Node', () => {
  const reached = new Set<string>()
  const visit = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    for (const { from, to, typeOnly } of imports) if (from === file && !typeOnly) visit(to)
  }
  for (const file of files) if (file.startsWith('src/client/')) visit(file)
  const bound = [...reached].filter(file => /from 'node:|import\('node:/.test(readFileSync(file, 'utf8')))
  assert.deepEqual(bound, [])
})

test('files can be read in one sitting', () => {
  const limit = (file: string): number => (file.includes('/protocols/') ? 700 : 400)
  const long = files.filter(file => readFileSync(file, 'utf8').split('\n').length > limit(file))
  assert.deepEqual(long, [])
})

test('no vendor SDK is loaded at run time, and nothing is taken on trust', () => {
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

test('the library is imported without its large packages: what needs one loads it', () => {
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
