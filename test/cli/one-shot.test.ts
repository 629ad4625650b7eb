// `turnwire chat -p`: the answer alone on standard output, one JSON object with --json, and an exit code for each end.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder, serve, turnwire } from './rig.ts'

test('the answer is all that is written, and the code is 0', t => {
  const cwd = folder(t)
  const done = turnwire(['chat', '-p', 'What is the weather in Paris?'], { cwd })
  assert.deepEqual([done.code, done.stderr], [0, ''])
  assert.match(done.stdout, /^Weather answered: Paris: .*\n$/)
  const piped = turnwire(['chat', '-p', '-'], { cwd, input: 'What is the weather\nin Oslo?\n' })
  assert.deepEqual([piped.code, piped.stderr], [0, ''])
  assert.match(piped.stdout, /Oslo/)
})

test('a call that needs a permission ends with 4, and the session can be continued', t => {
  const cwd = folder(t)
  const waits = turnwire(['chat', '-p', 'Mail ana@example.org that I am late'], { cwd })
  assert.deepEqual([waits.code, waits.stdout], [4, ''])
  assert.match(waits.stderr, /^It waits for a permission: send_mail \{"to":"ana@example\.org"/)
  const [, args = ''] = /^Answer it with: turnwire (.*)$/m.exec(waits.stderr) ?? []
  const answered = turnwire(args.split(' '), { cwd, input: 'y\n' })
  assert.match(answered.stdout, /✓ send_mail {2}Sent to ana@example\.org/)
})

test('the line that answers it names the configuration and the folder that were given', t => {
  const cwd = folder(t)
  mkdirSync(join(cwd, 'an agent'))
  writeFileSync(
    join(cwd, 'an agent/turnwire.config.mts'),
    `import { defineConfig, rehearsal, tool } from 'turnwire'
const mail = tool({ name: 'send_mail', description: 'Sends a mail.', input: { type: 'object' }, run: () => 'Sent.' })
export default defineConfig({ agents: [{ name: 'own', model: rehearsal(), tools: [mail] }] })\n`,
  )
  const place = ['--config', 'an agent', '--data', 'elsewhere']
  const waits = turnwire(['chat', '-p', 'Send a mail', ...place], { cwd })
  const [, session = ''] =
    /^Answer it with: turnwire chat --config 'an agent' --data elsewhere --session (\S+)$/m.exec(
      waits.stderr,
    ) ?? []
  const answered = turnwire(['chat', ...place, '--session', session], { cwd, input: 'y\n' })
  assert.match(answered.stdout, /✓ send_mail {2}Sent/, waits.stderr)
})

test('a tool that is trusted on the command line runs, here and at a server; a rule still asks', async t => {
  const cwd = folder(t)
  writeFileSync(
    join(cwd, 'turnwire.config.mts'),
    `import { defineConfig, rehearsal, tool } from 'turnwire'
const made = name => tool({ name, description: 'Sends ' + name, input: { type: 'object' }, run: () => name + ' is sent.' })
export default defineConfig({
  agents: [{ name: 'own', model: rehearsal(), tools: [made('mail'), made('parcel'), made('letter')] }],
  policy: { rules: [{ tool: 'parcel', then: 'ask' }, { tool: 'letter', then: 'ask', reason: 'It is costly.' }] },
})\n`,
  )
  const { url } = await serve(t, { cwd })
  for (const place of [[], ['--url', url]]) {
    const say = (text: string, ...more: string[]) =>
      turnwire(['chat', '-p', text, ...place, ...more], { cwd })
    const left = say('Send the mail')
    assert.deepEqual([left.code, /--trust mail$/m.test(left.stderr)], [4, true], left.stderr)
    const done = say('Send the mail', '--trust', 'mail')
    assert.deepEqual([done.code, done.stdout], [0, 'mail answered: mail is sent.\n'])
    const asked = say('Send the parcel', '--trust', 'mail,parcel')
    assert.equal(asked.code, 4)
    assert.doesNotMatch(asked.stderr, /--trust/, 'it would help nothing')
    const ruled = say('Send the letter')
    assert.match(ruled.stderr, /letter \{\} \(It is costly\.\)\.\nAnswer it with: \S.*\n$/)
    const wrong = say('Send the mail', '--trust', 'male')
    assert.deepEqual(
      [wrong.code, wrong.stderr],
      [2, 'The agent "own" has no tool "male" to trust. It has: mail, parcel, letter.\n'],
    )
  }
})

test('--json says the same as data, also for a message on standard input', t => {
  const cwd = folder(t)
  const done = turnwire(['chat', '--json'], { cwd, input: 'Weather in Rome?' })
  const { session, ...rest } = JSON.parse(done.stdout)
  assert.match(session, /^sess_/)
  assert.deepEqual([done.code, rest.status, rest.stop, rest.results.length], [0, 'done', 'end_turn', 1])
  const next = turnwire(
    ['chat', '--json', '--session', session, '-p', 'Mail ana@example.org that I am late'],
    { cwd },
  )
  const waiting = JSON.parse(next.stdout)
  assert.deepEqual([next.code, waiting.status, waiting.session], [4, 'waiting', session])
  assert.deepEqual(
    waiting.pending.map(({ name, input }: { name: string; input: object }) => ({ name, input })),
    [{ name: 'send_mail', input: { to: 'ana@example.org', body: 'I am late' } }],
  )
})

test('a failure is 1, a refusal of the model 3, a mistake 2', t => {
  const cwd = folder(t)
  writeFileSync(
    join(cwd, 'turnwire.config.mts'),
    `import { defineConfig, rehearsal, scripted } from 'turnwire'
const broken = { id: 'broken', respond: () => Promise.reject(new Error('no weights')) }
export default defineConfig({
  agents: [
    { name: 'broken', model: broken },
    { name: 'shy', model: scripted([{ text: 'I would rather not.', stop: 'refusal' }]) },
    { name: 'fine', model: rehearsal() },
  ],
})\n`,
  )
  const say = (...args: string[]) => turnwire(['chat', '-p', 'Hello', ...args], { cwd })
  const failed = say('--agent', 'broken')
  assert.deepEqual([failed.code, failed.stdout], [1, ''])
  assert.match(failed.stderr, /no weights|failed/)
  const refused = say('--agent', 'shy')
  assert.deepEqual([refused.code, refused.stdout], [3, 'I would rather not.\n'])
  assert.match(refused.stderr, /The model refused/)
  assert.equal(say('--agent', 'fine').code, 0)
  assert.equal(say('--agent', 'none').code, 2)
  assert.deepEqual(turnwire(['chat', '-p', ' '], { cwd }).stderr, 'The message is empty.\n')
})

test('/model lists the models and goes on with another', t => {
  const cwd = folder(t)
  writeFileSync(
    join(cwd, 'turnwire.config.mts'),
    `import { defineConfig, scripted } from 'turnwire'
export default defineConfig({
  models: {
    big: scripted([{ text: 'from big' }, { text: 'from big' }]),
    small: scripted([{ text: 'from small' }, { text: 'from small' }]),
    '*': 'small',
  },
  agents: [{ name: 'a', model: 'big' }],
})\n`,
  )
  const input = ['/model', 'Hi', '/model small', 'Hi', '/model', ''].join('\n')
  const { code, stdout } = turnwire(['chat'], { cwd, input })
  assert.equal(code, 0)
  assert.match(
    stdout,
    / {2}big\n {2}small\n[\s\S]*from big[\s\S]*From the next message on: small[\s\S]*from small/,
  )
  assert.match(stdout, / {2}big\n {2}small ●\n/)
})
