// A look into the store from the command line: what was said, what ran, who allowed it.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Turnwire } from '../../src/library/turnwire.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { tool } from '../../src/tools/index.ts'
import { folder, turnwire } from './rig.ts'

const hostile = '\u001b]52;c;aGk=\u0007\u001b[2J\u009b31m\u202etxt\nsecond line'

test('list, show, events, delete', async t => {
  const cwd = folder(t)
  const data = join(cwd, '.turnwire')
  const mail = tool({ name: 'mail', description: 'Mails.', input: { type: 'object' }, run: () => hostile })
  const model = scripted([
    { calls: [{ name: 'mail', input: { to: hostile } }] },
    { text: `Done. ${hostile}` },
  ])
  const runtime = await Turnwire.open({ agents: [{ name: 'a', model, tools: [mail] }], data })
  const session = await runtime.session('a')
  const asked = await session.send(`Please ${hostile}`)
  assert.ok(asked.status === 'waiting')
  await session.approve(asked.pending[0]!.callId, { by: 'maria', input: { to: 'ana' } })
  await runtime.close()

  const sessions = (...args: string[]) => turnwire(['sessions', ...args], { cwd })
  const listed = sessions()
  assert.match(
    listed.stdout,
    new RegExp(
      `^ {2}${session.id} {2}idle {5}\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d {2}a, local, \\d+ events {2}Please [^\\p{C}]+\n$`,
      'u',
    ),
  )
  const row = JSON.parse(sessions('list', '--json').stdout) as Record<string, unknown> // Compared next.
  assert.deepEqual([row['id'], row['owner'], row['opening']], [session.id, 'local', `Please ${hostile}`])
  assert.equal(sessions('list', '--owner', 'nobody').stdout, 'There are no sessions in .turnwire.\n')

  const { stdout } = sessions('show', session.id)
  const lines = stdout
    .trim()
    .split('\n')
    .slice(2)
    .map(line => line.replace(/^\S+ {2}/, ''))
  const told = '\\u001b]52;c;aGk=\\u0007\\u001b[2J\\u009b31m\\u202etxt\\nsecond line'
  assert.equal(lines[0], 'session of a created over library')
  assert.equal(lines[1], `user   Please ${told}`)
  assert.match(lines[2] ?? '', /^call {3}mail \{"to":"\\u001b/)
  assert.match(lines[3] ?? '', /^asks {3}mail may not run by itself/)
  assert.equal(lines[4], 'edited mail by maria: {"to":"ana"}')
  assert.equal(lines[5], 'allowed mail by maria')
  assert.match(lines[6] ?? '', /^ok {5}mail/)
  assert.ok(lines[6]?.endsWith(told))
  assert.equal(lines[7], `model  Done. ${told}`)
  assert.equal(lines[8], 'turn over: end')
  assert.doesNotMatch(stdout, /[^\P{Cc}\n]|\p{Cf}/u)

  // JSON too: as it is written it acts on no terminal, and it reads as what was recorded.
  for (const text of [
    sessions('list', '--json').stdout,
    sessions('show', session.id, '--json').stdout,
    sessions('events', session.id).stdout,
  ]) {
    assert.ok(text.includes('\\u009b31m\\u202etxt'), text)
    assert.doesNotMatch(text, /[^\P{Cc}\n]|\p{Cf}/u)
  }
  const events = sessions('events', session.id).stdout.trim().split('\n')
  assert.ok(
    JSON.stringify(events.map(line => JSON.parse(line) as object)).includes(
      JSON.stringify(hostile).slice(1, -1),
    ),
  )
  assert.deepEqual(
    events.map(line => (JSON.parse(line) as { seq: number }).seq), // One recorded event a line, or this throws.
    events.map((_, index) => index + 1),
  )
  assert.equal(sessions('show', 'nope').code, 2)
  assert.match(sessions('delete', session.id).stdout, /is deleted/)
  assert.equal(sessions().stdout, 'There are no sessions in .turnwire.\n')
})

test('the list shows the sessions of every owner, also of one whose key is gone', async t => {
  const cwd = folder(t)
  const data = join(cwd, '.turnwire')
  const runtime = await Turnwire.open({ agents: [{ name: 'a', model: scripted([]) }], data })
  for (const owner of ['local', 'shop', 'gone']) await runtime.session('a', { owner })
  await runtime.close()
  const { stdout } = turnwire(['sessions', 'list', '--json'], { cwd })
  const owners = stdout
    .trim()
    .split('\n')
    .map(line => (JSON.parse(line) as { owner: string }).owner) // Compared next.
  assert.deepEqual(owners.sort(), ['gone', 'local', 'shop'])
})

test('the cost of a session is shown with it', async t => {
  const cwd = folder(t)
  const usage = { input: 1200, output: 34, cost: 0.004 }
  const model = scripted([
    { text: 'One.', usage },
    { text: 'Two.', usage },
  ])
  const data = join(cwd, '.turnwire')
  const runtime = await Turnwire.open({ agents: [{ name: 'a', model }], data })
  const session = await runtime.session('a')
  await session.send('1')
  await session.send('2')
  await runtime.close()
  const { stdout } = turnwire(['sessions', 'show', session.id], { cwd })
  assert.match(stdout, /\n\n2,468 tokens, cost \$0\.0080\n$/)
})

test('a file that is not a Turnwire database is not changed', t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'sessions.db'), 'not a database at all, but long enough to be looked at')
  const { code, stderr } = turnwire(['sessions', '--data', cwd], { cwd })
  assert.equal(code, 1)
  assert.match(stderr, /sessions\.db/)
})
