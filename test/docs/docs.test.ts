// The docs say what is true: every error code and every setting is documented, code that is marked runnable runs and prints
// what stands beside it, links lead somewhere, the tree of ARCHITECTURE.md is the tree, and nothing speaks of the machines it was
// written on.
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { defaultOwnerLimits } from '../../src/callers/owner-limits.ts'
import { AapClient } from '../../src/client/index.ts'
import { serverDefaults, wireNames } from '../../src/config/config.ts'
import { scripted, Turnwire, tool } from '../../src/index.ts'
import { errorCodes } from '../../src/language/errors.ts'
import { limitNames } from '../../src/language/events.ts'
import { poolLimits } from '../../src/lib/async/work-pool.ts'
import { CHECK_MICROS } from '../../src/lib/checks/budget.ts'
import { SessionHandle } from '../../src/library/session-handle.ts'
import { runLimits } from '../../src/models/run.ts'
import { defaultLimits } from '../../src/policy/limits.ts'
import { connectionTimes } from '../../src/server/listen.ts'
import { wires } from '../../src/server/wires.ts'
import { folder, serve } from '../cli/rig.ts'
import { pages, pagesWithCurl, programs } from './blocks.ts'
import { undocumented } from './wire-pages.ts'

test('every error code is documented with its status, and no other', () => {
  const text = readFileSync('docs/operations/errors.md', 'utf8')
  const rows = new Map(
    [...text.matchAll(/^\| `(\w+)` \| (\d+) \| (yes|no) \|/gm)].map(row => [row[1], `${row[2]} ${row[3]}`]),
  )
  const wanted = new Map(
    Object.entries(errorCodes).map(([code, { status, retry }]) => [
      code,
      `${status} ${retry ? 'yes' : 'no'}`,
    ]),
  )
  assert.deepEqual(Object.fromEntries(rows), Object.fromEntries(wanted))
})

test('every wire has a page that names its paths', () => {
  assert.deepEqual(undocumented(wires), [])
})

test('every relative link leads to a file', () => {
  const dead: string[] = []
  for (const page of pages) {
    for (const [, target] of readFileSync(page, 'utf8').matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)) {
      // The site's own first page names the pages of docs/ by their addresses.
      const path = target?.startsWith('/') ? join('docs', `${target}.md`) : join(dirname(page), target ?? '')
      if (!existsSync(path)) dead.push(`${page} -> ${target}`)
    }
  }
  assert.deepEqual(dead, [])
})

test('the tree that ARCHITECTURE.md shows is there', () => {
  const shown = [...readFileSync('ARCHITECTURE.md', 'utf8').matchAll(/^((?:src\/)?\w+) {2,}\S/gm)].map(
    row => row[1] ?? '',
  )
  assert.ok(shown.length >= 15)
  assert.deepEqual(
    shown.filter(folder => !existsSync(folder)),
    [],
  )
})

test('no file names a path outside the repository', () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
    .trim()
    .split('\n')
  // This test has to name them, and the lock file is not ours to word.
  const skipped = ['test/docs/docs.test.ts', 'package-lock.json']
  const isNamedIn = (file: string): boolean => {
    const text = readFileSync(file, 'utf8')
    if (/(?<![\w.])\/(work|farm)\//.test(text)) return true
    // A folder of the repository may have this name.
    return text.includes('../shared/') && !existsSync(join(dirname(file), '../shared/'))
  }
  const found = files.filter(file => existsSync(file) && !skipped.includes(file) && isNamedIn(file))
  assert.deepEqual(found, [])
})

// ---- code -------------------------------------------------------------------------------------------------------

const demonstration = 'http://127.0.0.1:4117'

type Done = { status: number | null; stdout: string; stderr: string }

/** As a file of this package would be run, so that `turnwire` is the checkout. */
function run(code: string): Promise<Done> {
  return ran(process.execPath, ['--input-type=module-typescript', '--eval', code])
}

function ran(program: string, args: readonly string[], input = ''): Promise<Done> {
  const env = { ...process.env, NO_COLOR: '1' }
  const child = spawn(program, args, { env })
  child.stdin.end(input)
  const done = { status: null, stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (done.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (done.stderr += text))
  return new Promise(resolve => child.once('close', status => resolve({ ...done, status })))
}

describe('runnable code of the docs', { concurrency: 2 }, () => {
  const all = programs()

  test('every page of the guide has some', () => {
    const shown = new Set(all.map(({ page }) => basename(page)))
    const wanted = ['client', 'getting-started', 'library', 'policy', 'sessions', 'testing', 'tools']
    assert.deepEqual(
      wanted.filter(name => !shown.has(`${name}.md`)),
      [],
    )
  })

  /** Pages about a place where calls run: each has code here, or names an example, which test/examples.test.ts runs. */
  for (const name of ['search', 'code', 'shell', 'browser', 'files', 'agents', 'http', 'mcp', 'tools'])
    test(`${name}.md has an example that is run`, () => {
      const page = `docs/guide/${name}.md`
      const named = [...readFileSync(page, 'utf8').matchAll(/examples\/([\w-]+\.ts)/g)].map(
        ([, file]) => file,
      )
      for (const file of named) assert.ok(existsSync(join('examples', file ?? '')), `${page} names ${file}`)
      const isRun = all.some(program => basename(program.page) === `${name}.md`)
      assert.ok(named.length > 0 || isRun, `${page} has no example that is run`)
    })

  test('what code.md says that its example runs is what it runs', () => {
    const shown = /^```js\n([\s\S]*?)^```$/m.exec(readFileSync('docs/guide/code.md', 'utf8'))?.[1] ?? ''
    const example = readFileSync('examples/code.ts', 'utf8')
    const lines = shown.trim().split('\n')
    assert.ok(lines.length >= 4)
    for (const line of lines) assert.ok(example.includes(line.trim()), line)
  })

  test('the catalogue that code.md shows is what a program has', async () => {
    const [, shown] = readFileSync('docs/guide/code.md', 'utf8').matchAll(/^```js\n([\s\S]*?)^```$/gm)
    const asked = (shown?.[1] ?? '')
      .trim()
      .split('\n')
      .map(line => line.replace(/ *\/\/.*/, ''))
    assert.equal(asked.length, 4)
    const names = ['stop', ...Array.from({ length: 40 }, (_, index) => `order_${index}`)]
    const tools = names.map(name =>
      tool({
        name: `shop__${name}`,
        description: `To cancel: ${name}.`,
        input: { type: 'object' },
        run: () => '',
      }),
    )
    const program = { name: 'run_code', input: { code: `return [${asked.join(', ')}]` } }
    const model = scripted([{ calls: [program] }, { text: 'Done.' }])
    const turnwire = await Turnwire.open({
      agents: [{ name: 'shop', model, tools, code: true }],
      data: 'memory',
    })
    try {
      const session = await turnwire.session('shop')
      for await (const item of session.send('Look.'))
        if (item.type === 'result') {
          const { kind, parts } = item.outcome
          assert.equal(kind, 'ok', JSON.stringify(parts))
          for (const word of ['41', 'order_39', 'shop__stop', 'cancel'])
            assert.ok(JSON.stringify(parts).includes(word), word)
        }
    } finally {
      await turnwire.close()
    }
  })

  for (const { page, line, code } of all)
    test(`${page}:${line}`, { timeout: 600_000 }, async t => {
      const expected = [...code.matchAll(/^ *\/\/ → (.*)$/gm)].map(found => found[1])
      assert.ok(expected.length > 0, 'it says nothing of what it prints')
      // A program that speaks to a server speaks to the demonstration.
      const url = code.includes(demonstration) ? (await serve(t, { cwd: folder(t) })).url : demonstration
      const { status, stdout, stderr } = await run(code.replaceAll(demonstration, url))
      assert.deepEqual([status, stderr], [0, ''], stdout)
      assert.deepEqual(stdout.trimEnd().split('\n'), expected)
    })
})

describe('lines for the shell', () => {
  for (const page of pagesWithCurl) {
    const blocks = [...readFileSync(page, 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(
      ([, lines = '']) => lines,
    )
    const script = blocks.filter(lines => lines.includes('curl ')).join('')
    if (script === '') continue
    test(`${page}: what it does with curl works on the demonstration`, async t => {
      if (spawnSync('curl', ['--version']).status !== 0) return t.skip('there is no curl here')
      const { url } = await serve(t, { cwd: folder(t) })
      const lines = script.replaceAll(/(?:http:\/\/)?(?:localhost|127\.0\.0\.1):4117/g, url)
      const { stdout, stderr } = await ran('sh', ['-eu'], `${lines}\necho; echo the end`)
      assert.match(stdout, /(?:"end_turn"|"status":"completed"|\[DONE\])[\s\S]*the end\n$/, stderr)
      assert.doesNotMatch(stdout, /"error":[^n]|"code":"/)
    })
  }
})

// ---- settings ---------------------------------------------------------------------------------------------------

/** The members of an exported object type, as they are written at its first level. */
function membersOf(source: string, type: string): string[] {
  const body = new RegExp(`^export type ${type}(?:<[^{}]*>)? = \\{\\n([\\s\\S]*?)^\\}`, 'm').exec(source)?.[1]
  assert.ok(body !== undefined, `there is no type ${type}`)
  return [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(found => found[1] ?? '')
}

test('running.md lists every setting of a configuration, and no other', () => {
  const page = readFileSync('docs/operations/running.md', 'utf8')
  const tables = /^## Configuration$[\s\S]*?(?=^## )/m.exec(page)?.[0] ?? ''
  const rows = [...tables.matchAll(/^\| `([\w.[\]]+)` \|/gm)].map(found => found[1] ?? '')
  const config = readFileSync('src/config/config.ts', 'utf8')
  const policy = readFileSync('src/policy/index.ts', 'utf8')
  const ownPolicy = membersOf(
    config.replace('PolicyConfig = GateOptions & {', 'PolicyConfig = {'),
    'PolicyConfig',
  )
  const wanted = [
    ...membersOf(config, 'TurnwireConfig'),
    ...membersOf(config, 'AgentConfig').map(name => `agents[].${name}`),
    ...membersOf(config, 'ServerConfig').map(name => `server.${name}`),
    ...Object.keys(defaultOwnerLimits).map(name => `server.perOwner.${name}`),
    ...[...membersOf(policy, 'GateOptions'), ...ownPolicy].map(name => `policy.${name}`),
    ...limitNames.map(name => `limits.${name}`),
  ]
  assert.ok(wanted.length > 40)
  assert.deepEqual(rows.sort(), wanted.sort())
})

test('mount.md names every wire that can be chosen, and all that a caller has', () => {
  const page = readFileSync('docs/guide/mount.md', 'utf8')
  const row = (name: string): string => new RegExp(`^\\| \`${name}\` \\|.*$`, 'm').exec(page)?.[0] ?? ''
  const named = [
    ...row('wires')
      .replaceAll(/\(.*?\)\)|\(.*?\)/g, '')
      .matchAll(/`(\w+)`/g),
  ].map(([, name]) => name)
  assert.deepEqual(new Set(named.slice(1)), new Set<string | undefined>(wireNames))
  const [, members = ''] =
    /^export type OwnCaller = \{ (.*) \}$/m.exec(readFileSync('src/config/config.ts', 'utf8')) ?? []
  const [, shown = ''] = /=> \(\{ (.*?) \}\)/.exec(row('authenticate')) ?? []
  assert.deepEqual(
    shown.split(', '),
    [...members.matchAll(/(\w+\??): /g)].map(([, name]) => name),
  )
})

/** The names in the first column of the tables of a section. */
function namesIn(page: string, section: string): string[] {
  const text = readFileSync(page, 'utf8')
  const part = new RegExp(`^## ${section}$[\\s\\S]*?(?=^## |(?![\\s\\S]))`, 'm').exec(text)?.[0] ?? ''
  return [...part.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([\w.]*\w)(?![\w.])[^`]*`/g)].map(([, name = '']) => name),
  )
}

test('tools.md lists every setting of a tool, and all that its function is given', () => {
  const source = readFileSync('src/tools/functions/tool.ts', 'utf8')
  const settings = membersOf(source.replace(/<\n(?: {2}.*\n)+> = \{/, ' = {'), 'ToolDefinition')
  const afterwards = membersOf(readFileSync('src/tools/functions/afterwards.ts', 'utf8'), 'Afterwards')
  assert.deepEqual(
    namesIn('docs/guide/tools.md', 'Every setting').sort(),
    [...settings, ...afterwards].sort(),
  )
  const port = readFileSync('src/engine/ports/tool.ts', 'utf8').replaceAll('  readonly ', '  ')
  // For tools of our own: programs, agents, searches and the browser.
  const inner = ['connect', 'tools', 'nested']
  const given = [...membersOf(port, 'ToolContext'), 'progress', 'fetch', 'sample']
  assert.deepEqual(
    namesIn('docs/guide/tools.md', 'What `run` is given').sort(),
    given.filter(name => !inner.includes(name)).sort(),
  )
})

test('library.md and client.md name every method', () => {
  const unnamed = (type: { prototype: object }, page: string): string[] => {
    const text = readFileSync(`docs/guide/${page}`, 'utf8')
    return Object.getOwnPropertyNames(type.prototype).filter(name => !new RegExp(`\\b${name}\\(`).test(text))
  }
  assert.deepEqual(unnamed(Turnwire, 'library.md'), ['constructor'])
  assert.deepEqual(unnamed(SessionHandle, 'library.md'), ['constructor'])
  // It waits between requests of a session that the client drives.
  assert.deepEqual(unnamed(AapClient, 'client.md'), ['constructor', 'pause'])
})

test('sessions.md lists every event of a log', () => {
  const [events = ''] = ['approval-events', 'call-events', 'log-signed', 'events']
    .map(file => readFileSync(`src/language/${file}.ts`, 'utf8'))
    .join('')
    .split('export type EventType')
  const types = new Set([...events.matchAll(/\btype: '(\w+\.\w+)'/g)].map(([, type]) => type))
  assert.ok(types.size > 30)
  assert.deepEqual(new Set(namesIn('docs/guide/sessions.md', 'The log')), types)
})

test('running.md names every variable of the environment that is ours', () => {
  const page = readFileSync('docs/operations/running.md', 'utf8')
  const read = globSync('src/**/*.ts', { exclude: ['src/**/*.test.ts'] }).flatMap(file =>
    [...readFileSync(file, 'utf8').matchAll(/env\['((?:TURNWIRE_|PORT|DATABASE_URL)\w*)'\]/g)].map(
      ([, name = '']) => name,
    ),
  )
  assert.ok(read.length > 5)
  // For tests alone.
  const missing = read.filter(name => name !== 'TURNWIRE_CRASH_AT' && !page.includes(`\`${name}\``))
  assert.deepEqual(missing, [])
})

const units: Record<string, number> = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** "4 MiB" and "30,000" as numbers. */
function numberIn(cell: string): number {
  const [, digits = '', unit = ''] = /^([\d,]+)(?: (KiB|MiB|GiB))?$/.exec(cell) ?? []
  return Number(digits.replaceAll(',', '')) * (units[unit] ?? Number.NaN)
}

test('running.md gives the default sizes, times and limits that the program has', () => {
  const page = readFileSync('docs/operations/running.md', 'utf8')
  const rows = [...page.matchAll(/^\| `([\w.]+)` \|.*\| ([^|]*) \|$/gm)]
  const documented = new Map(rows.map(([, name = '', value = '']) => [name, value]))
  const real = Object.entries({
    server: serverDefaults,
    limits: defaultLimits,
    'server.perOwner': defaultOwnerLimits,
  })
  for (const [group, values] of real)
    for (const [name, value] of Object.entries(values))
      assert.equal(numberIn(documented.get(`${group}.${name}`) ?? ''), value, `${group}.${name}`)
})

test('security.md and running.md give the times after which the program gives up', () => {
  const minutes = (ms: number): number => ms / 60_000
  const { firstByteMs, idleMs } = runLimits
  const { jobMs: checkMs, heapMiB } = poolLimits
  const security = readFileSync('docs/operations/security.md', 'utf8')
  for (const words of [
    `after ${minutes(firstByteMs)} minutes without a first byte or ${minutes(idleMs)} without a further one`,
    `what costs more than ${CHECK_MICROS / 1000} ms is checked in a worker thread`,
    `ended after ${checkMs / 1000} seconds of CPU time or at ${heapMiB} MiB`,
  ])
    assert.ok(security.includes(words), words)
  const running = readFileSync('docs/operations/running.md', 'utf8').replaceAll(/\s+/g, ' ')
  const words = `for more than about ${CHECK_MICROS / 1000} ms is done in a worker thread (two at most, started when needed, gone after ${poolLimits.idleMs / 1000} idle seconds) with ${checkMs / 1000} seconds of CPU time and ${heapMiB} MiB of heap`
  assert.ok(running.includes(words), words)
  assert.ok(
    running.includes(`A connection that nobody uses is kept for ${connectionTimes.idleMs / 1000} seconds`),
  )
  assert.ok(running.includes('(its headers: after a minute at most)'))
  assert.equal(connectionTimes.headersMs, 60_000)
  assert.equal(poolLimits.threads, 2)
})
