// What commands do on a terminal beside chat: long work shows progress, and dev opens the console. And what the environment and `.env`
// give them.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { command, folder, hasTerminal, onTerminal, serve, turnwire } from './rig.ts'

const agent = `{ name: process.env.AGENT ?? 'unnamed', model: scripted([{ text: 'Hello from ' + process.env.AGENT }], { whenOver: 'repeat-last' }) }`

function prepared(t: TestContext): string {
  const cwd = folder(t)
  prepare(cwd)
  return cwd
}

function prepare(cwd: string, more = ''): void {
  const config = `import { defineConfig, scripted } from 'turnwire'\nexport default defineConfig({ agents: [${agent}], receipts: true, ${more} })\n`
  writeFileSync(join(cwd, 'turnwire.config.ts'), config)
  writeFileSync(join(cwd, '.env'), 'AGENT=from-the-file\n')
}

test('.env beside the configuration counts for chat; the environment comes first', t => {
  const cwd = prepared(t)
  assert.equal(turnwire(['chat', '-p', 'Hi'], { cwd }).stdout, 'Hello from from-the-file\n')
  const env = { AGENT: 'the-environment' }
  assert.equal(turnwire(['chat', '-p', 'Hi'], { cwd, env }).stdout, 'Hello from the-environment\n')
})

test('serve reads .env, and with TURNWIRE_DATA and DATABASE_URL both set it says which one is used', async t => {
  const cwd = prepared(t)
  const env = { TURNWIRE_DATA: 'kept', DATABASE_URL: 'postgres://ann:hidden-word@127.0.0.1:1/none' }
  const { stdout, stderr } = await serve(t, { cwd, env })
  assert.match(stdout(), /agents {4}from-the-file/)
  const where =
    'kept (DATABASE_URL is not used: --data, TURNWIRE_DATA or the configuration names another place)'
  assert.ok(stripVTControlCharacters(stdout()).includes(`sessions  ${where}`), stdout())
  assert.match(stderr(), /DATABASE_URL names a PostgreSQL database that is not used/)
  assert.doesNotMatch(stdout() + stderr(), /hidden-word/)
  assert.ok(existsSync(join(cwd, 'kept', 'sessions.db')))
})

test('dev shows on a terminal that MCP servers start, reads .env, and opens the console once', async t => {
  if (!hasTerminal()) return t.skip('there is no script(1) of util-linux here')
  // It ends when it is told to, so that the start takes as long as the test wants.
  const cwd = folder(t)
  const slow = `const wait = () => require('fs').existsSync('${cwd}/go') ? process.exit(1) : setTimeout(wait, 20); wait()`
  const mcp = `mcp: { slow: { command: ${JSON.stringify(process.execPath)}, args: ['-e', ${JSON.stringify(slow)}] } }`
  prepare(cwd, mcp)
  const programs = join(cwd, 'programs')
  mkdirSync(programs)
  writeFileSync(join(programs, 'xdg-open'), `#!/bin/sh\necho "$1" >> ${cwd}/opened\n`, { mode: 0o755 })
  const env = { PATH: `${programs}:${process.env['PATH'] ?? ''}` }
  const { until, child } = onTerminal(t, `${process.execPath} ${command} dev --port 0`, { cwd, env })
  await until(/Starting MCP servers: slow, \d+ s/)
  assert.ok(!existsSync(join(cwd, 'opened')), 'not before it listens')
  writeFileSync(join(cwd, 'go'), '')
  const [, url = ''] = await until(
    /listens on (http:\/\/\S+)[\s\S]*agents {4}from-the-file[\s\S]*Ctrl-C stops it/,
  )
  while (!existsSync(join(cwd, 'opened'))) await pause(20)
  const changed = readFileSync(join(cwd, 'turnwire.config.ts'), 'utf8').replace(/mcp: .*\} \}, /, '')
  writeFileSync(join(cwd, 'turnwire.config.ts'), `${changed}// changed\n`)
  await until(/listens on http[\s\S]*listens on http/)
  assert.equal(readFileSync(join(cwd, 'opened'), 'utf8'), `${url}\n`)
  child.stdin.write('\u0003')
})

test('export, import, verify, replay and eval show on a terminal how far they are', async t => {
  if (!hasTerminal()) return t.skip('there is no script(1) of util-linux here')
  const cwd = prepared(t)
  turnwire(['chat', '-p', 'Hi'], { cwd })
  const evals = `import { defineEvals } from 'turnwire/testing'
export default defineEvals({ agent: 'from-the-file', cases: [{ name: 'says hello', prompt: 'Hi', expect: { answer: /Hello/ } }] })\n`
  writeFileSync(join(cwd, 'hello.ts'), evals)
  // Short work shows nothing. By this clock all work is long.
  writeFileSync(join(cwd, 'clock.mjs'), 'let now = 0\nperformance.now = () => (now += 1000)\n')
  const lines = [
    'export all.jsonl',
    'import all.jsonl --data other',
    'verify all.jsonl',
    'replay all.jsonl',
    'eval hello.ts',
  ]
  const line = lines
    .map(each => `${process.execPath} --import=${cwd}/clock.mjs ${command} ${each}`)
    .join(' && ')
  const { exit, stdout } = onTerminal(t, line, { cwd })
  assert.equal(await exit, 0, stdout())
  for (const shown of [
    /Exporting █*░* \d+ % .*of 1 sessions, \d+ s/,
    /Importing 1 sessions, \d+ s/,
    /Checking \d+ events, \d+ s/,
    /Replaying █+ 100 % 1 of 1 sessions, \d+ s/,
    /Evaluating █+ 100 % 1 of 1 plays, \d+ s/,
  ])
    assert.match(stdout(), shown)
})
