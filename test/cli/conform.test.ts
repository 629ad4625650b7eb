// turnwire conform: the printed configuration, a server over HTTP, an agent on pipes, reports and exit codes.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { ConformReport } from '../../src/conform/index.ts'
import { command, folder, serve, start, turnwire } from './rig.ts'

const place = (file: string): string => pathToFileURL(join(import.meta.dirname, '../../src', file)).href

/** As it is printed, with the checkout in place of the package. */
function putConfig(cwd: string): void {
  const { stdout } = turnwire(['conform', '--print-config'], { cwd })
  const config = stdout
    .replace("'turnwire'", `'${place('index.ts')}'`)
    .replace("'turnwire/testing'", `'${place('testing/index.ts')}'`)
  writeFileSync(join(cwd, 'turnwire.config.ts'), config)
}

test('the printed configuration is served, tried over HTTP, and holds what is asked for', async t => {
  const cwd = folder(t)
  putConfig(cwd)
  const { url } = await serve(t, { cwd })
  const run = start(t, ['conform', url, '--only', 'AAP-META,CHAT-RES'], { cwd })
  assert.equal(await run.exit, 0, run.stderr())
  assert.match(run.stdout(), /^Agent Application Protocol 3 at http/)
  assert.match(run.stdout(), /^ {2}held {7}AAP-META-01 {2}GET \/meta answers 200/m)
  assert.match(run.stdout(), /^In all: 8 held, 0 broken, 0 not tried$/m)
  const json = start(t, ['conform', url, '--wire', 'ui', '--json', '--only', 'UI-CALL'], { cwd })
  assert.equal(await json.exit, 0, json.stderr())
  const report = JSON.parse(json.stdout()) as ConformReport // Our own report.
  assert.deepEqual([report.ok, report.held, report.wires[0]?.wire], [true, 2, 'ui'])
})

test('an agent on pipes is started for each check', async t => {
  const cwd = folder(t)
  putConfig(cwd)
  const agent = [process.execPath, command, 'acp', '--config', join(cwd, 'turnwire.config.ts')]
  const asked = ['--wire', 'acp', '--only', 'ACP-INIT-01,ACP-PERM-01', '--timeout', '600']
  const run = start(t, ['conform', ...asked, '--', ...agent], { cwd })
  assert.equal(await run.exit, 0, `${run.stdout()}${run.stderr()}`)
  assert.match(run.stdout(), /2 held, 0 broken, 0 not tried/)
})

test('a server that is not there gives a table of what is broken, and the exit code 1', t => {
  const cwd = folder(t)
  const args = [
    'conform',
    'http://127.0.0.1:9',
    '--wire',
    'aap',
    '--only',
    'AAP-META-01',
    '--key',
    'k-secret',
  ]
  const { code, stdout, stderr } = turnwire(args, { cwd })
  assert.equal(code, 1, stderr)
  assert.match(stdout, /broken {5}AAP-META-01.*\n.*sent +GET \/meta\n.*expected +an answer\n.*got +/)
  assert.ok(!stdout.includes('k-secret'))
})

test('wrong words are refused with what to do', t => {
  const cwd = folder(t)
  const refusal = (...args: string[]): string => {
    const { code, stderr } = turnwire(['conform', ...args], { cwd })
    assert.equal(code, 2, stderr)
    return stderr
  }
  assert.match(refusal(), /Say which server: .*turnwire conform http/)
  assert.match(refusal('http://127.0.0.1:9', '--wire', 'chatt'), /Did you mean "chat"\?/)
  assert.match(refusal('--wire', 'chat', '--', 'node', 'x'), /chat is spoken over HTTP/)
  assert.match(refusal('http://127.0.0.1:9', '--timeout', 'long'), /--timeout is a number of seconds/)
  assert.match(refusal('http://127.0.0.1:9', 'more'), /one word too many/)
  assert.match(refusal('localhost:4117'), /"localhost:4117" is no address: it begins with http:\/\//)
  const silent = turnwire(['conform', 'http://127.0.0.1:9'], { cwd })
  assert.deepEqual([silent.code, silent.stderr], [1, ''])
  assert.match(silent.stdout, /^Nothing was tried\. See that the server runs at this address/m)
})

test('the clauses are listed', t => {
  const { code, stdout } = turnwire(['conform', '--list', '--wire', 'mcp'], { cwd: folder(t) })
  assert.equal(code, 0)
  assert.match(stdout, /^MCP-INIT-01 {3}initialize answers with/)
})
