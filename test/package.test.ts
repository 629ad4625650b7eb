// The package as it is published: it builds, the command runs without TypeScript, the library holds a session, and every
// door of package.json leads to a built file with types.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'

describe('the published package', () => {
  before(() => void execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'pipe' }))

  test('has only what it needs to run, and every export is there', () => {
    const made = JSON.parse(readFileSync('dist/package.json', 'utf8'))
    for (const door of Object.values<string | { types: string; default: string }>(made.exports)) {
      for (const file of typeof door === 'string' ? [door] : Object.values(door))
        assert.ok(existsSync(`dist/${file}`), `${file} is missing`)
    }
    assert.deepEqual(
      [made.private, made.devDependencies, made.optionalDependencies, made.scripts],
      [undefined, undefined, undefined, undefined],
    )
    assert.ok(!existsSync('dist/engine/engine.test.js'))
  })

  test('the pages that it names are there', () => {
    for (const page of globSync(['*.md', 'docs/**/*.md'], { cwd: 'dist' })) {
      const text = readFileSync(`dist/${page}`, 'utf8')
      for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g))
        assert.ok(existsSync(join('dist', dirname(page), target)), `${page} leads to ${target}`)
    }
  })

  test('commands that say their version run where it is installed, far from any checkout', t => {
    const folder = mkdtempSync(join(tmpdir(), 'turnwire-package-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const installed = join(folder, 'node_modules/turnwire')
    cpSync('dist', installed, { recursive: true })
    for (const name of readdirSync('node_modules').filter(
      each => each !== 'turnwire' && !each.startsWith('.'),
    ))
      symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name))
    const run = (args: string[], input = ''): string =>
      execFileSync(process.execPath, [join(installed, 'bin/turnwire.mjs'), ...args], {
        cwd: folder,
        encoding: 'utf8',
        input,
      })
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    assert.equal(run(['--version']), `${version}\n`)
    const hello = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: 1, clientCapabilities: {} },
    }
    const { result } = JSON.parse(run(['acp'], `${JSON.stringify(hello)}\n`))
    assert.equal(result.agentInfo.version, version)
  })

  test('its types need no types of others', () => {
    const reached = new Set<string>()
    const follow = (file: string): void => {
      if (reached.has(file)) return
      reached.add(file)
      for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)'/g))
        follow(join(dirname(file), target.replace(/\.[jt]s$/, '.d.ts')))
    }
    for (const door of ['index', 'client/index', 'testing/index']) follow(`dist/${door}.d.ts`)
    assert.ok(reached.size > 30)
    const untyped = [...reached].filter(file => /from 'ws'/.test(readFileSync(file, 'utf8')))
    assert.deepEqual(untyped, [], 'the package ws has no types of its own')
  })

  test('its contract suites run under node --test', () => {
    const program = `
      import { memoryStore } from ${JSON.stringify(pathToFileURL('dist/index.js').href)}
      import { storeContract } from ${JSON.stringify(pathToFileURL('dist/testing/index.js').href)}
      storeContract('memory', async () => ({ store: memoryStore(), cleanup: async () => {} }))`
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const args = ['--test-reporter=tap', '--input-type=module', '--eval', program]
    const report = execFileSync(process.execPath, args, { encoding: 'utf8', env })
    assert.match(report, /^# pass \d\d\n# fail 0$/m)
  })

  test('the library holds a session', async () => {
    const library: typeof import('../src/index.ts') = await import(pathToFileURL('dist/index.js').href)
    const turnwire = await library.Turnwire.open({
      agents: [{ name: 'a', model: library.rehearsal() }],
      data: 'memory',
    })
    const reply = await (await turnwire.session('a')).send('Hello')
    assert.equal(reply.status, 'done')
    assert.notEqual(reply.text, '')
    await turnwire.close()
  })
})
