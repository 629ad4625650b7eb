// The conversation in the terminal: from a pipe, and on a terminal of its own (script(1) makes one).
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { AapClient } from '../../src/client/index.ts'
import {
  command,
  environment,
  folder,
  hasTerminal,
  type OnTerminal,
  onTerminal,
  serve,
  start,
  turnwire,
  watched,
} from './rig.ts'

const twoModels = `import { defineConfig, scripted } from 'turnwire'
const models = { smart: scripted([{ text: 'Smart words.' }]), cheap: scripted([{ text: 'Cheap words.' }]) }
export default defineConfig({ models, agents: [{ name: 'a', model: 'smart' }] })
`

describe('/model', () => {
  const input = '/model\n/model cheap\n/model\nHi\n/model none\n/quit\n'
  const check = (stdout: string): void => {
    assert.match(stdout, / {2}smart\n {2}cheap\n/)
    assert.match(stdout, /From the next message on: cheap\.[\s\S]* {2}cheap ●[\s\S]*Cheap words\./)
    assert.match(stdout, /There is no model named "none"/)
  }

  const configured = (t: TestContext): string => {
    const cwd = folder(t)
    writeFileSync(join(cwd, 'turnwire.config.ts'), twoModels)
    return cwd
  }

  test('lists the models of the configuration and goes on with one of them', t => {
    const { stdout } = turnwire(['chat'], { cwd: configured(t), input })
    check(stdout)
  })

  test('does so with a server elsewhere too', async t => {
    const { url } = await serve(t, { cwd: configured(t) })
    check(turnwire(['chat', '--url', url], { cwd: folder(t), input }).stdout)
  })

  test('says plainly that a server does not have it', async t => {
    const server = createServer((request, response) => {
      const agents = [{ name: 'a', version: '1' }]
      const isMeta = request.url === '/meta'
      response.writeHead(isMeta ? 200 : request.method === 'POST' ? 201 : 404, {
        'content-type': 'application/json',
      })
      response.end(JSON.stringify(isMeta ? { version: 3, agents } : { sessionId: 'sess_1' }))
    })
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo // It listens on TCP.
    const args = [command, 'chat', '--url', `http://127.0.0.1:${port}`]
    const child = spawn(process.execPath, args, { cwd: folder(t), env: environment() })
    const chat = watched(t, child)
    child.stdin.end('/model cheap\n/quit\n')
    await chat.exit
    assert.match(chat.stdout() + chat.stderr(), /This server does not let its clients choose a model/)
  })
})

const say = (...lines: string[]): string => lines.map(line => `${line}\n`).join('')

describe('from a pipe', () => {
  test('three kinds of tools in one batch, a permission with other arguments, and no escape codes', t => {
    const cwd = folder(t)
    const { code, stdout, stderr } = turnwire(['chat'], {
      cwd,
      input: say(
        'What is my local time, what is the weather in Oslo, and mail ana@example.org that I am late',
        'what?',
        'e',
        '{"to":"bob@example.org"',
        'e',
        '{"to":"bob@example.org","body":"Soon"}',
        'y',
        '/tools',
        '/quit',
      ),
    })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(
      stdout,
      /→ local_time {2}\{\}\n {2}→ get_weather {2}\{"city":"Oslo"\}\n {2}→ send_mail {2}\{"to":"ana@example\.org"/,
    )
    assert.match(stdout, /✓ local_time \(ran here\)/)
    assert.match(stdout, /✓ get_weather {2}Oslo: \d+ °C/)
    assert.match(stdout, /● send_mail wants to run\n {4}to {4}ana@example\.org\n {4}body {2}I am late\n/)
    assert.match(stdout, /Please answer y, n, e, a or v\./)
    assert.match(stdout, /That is not JSON: /)
    assert.match(stdout, /✓ send_mail .*Sent to bob@example\.org/)
    assert.match(stdout, /get_weather {3}runs by itself {2}The current/)
    assert.match(stdout, /local_time {4}runs here {7}The date/)
    assert.match(stdout, /Bye\. Go on later with: turnwire chat --session sess_\w+\n$/)
    assert.doesNotMatch(stdout, /[^\P{Cc}\n]/u)
    const [mail] = readdirSync(join(cwd, '.turnwire/outbox'))
    assert.match(
      readFileSync(join(cwd, '.turnwire/outbox', mail ?? ''), 'utf8'),
      /To: bob@example\.org[\s\S]*\r\n\r\nSoon\r\n$/,
    )
  })

  test('a refusal carries its reason; after "always" the tool runs without asking', t => {
    const cwd = folder(t)
    const { stdout } = turnwire(['chat'], {
      cwd,
      input: say(
        'Mail ana@example.org that I am late',
        'n',
        'not now',
        'Mail bob@example.org that I am early',
        'a',
        'Mail eva@example.org that I am there',
      ),
    })
    assert.match(stdout, /✗ send_mail {2}Tool call denied: not now/)
    assert.match(stdout, /✓ send_mail {2}Sent to bob@example\.org/)
    assert.match(stdout, /✓ send_mail {2}Sent to eva@example\.org/)
    assert.equal(stdout.split('wants to run').length - 1, 2)
  })

  test('other arguments that do not fit are refused, and the question is asked again', t => {
    const { stdout } = turnwire(['chat'], {
      cwd: folder(t),
      input: say('Mail ana@example.org that I am late', 'e', '{"to":"nobody","body":"x"}', 'a', 'y'),
    })
    assert.match(stdout, /The changed arguments do not fit: .*\n {2}- \/to /)
    assert.doesNotMatch(stdout, /\\n/)
    assert.equal(stdout.split('wants to run').length - 1, 2)
    assert.match(stdout, /✓ send_mail {2}Sent to ana@example\.org/)
  })

  test('a session resumes where it stopped, in the middle of a turn', t => {
    const cwd = folder(t)
    const left = turnwire(['chat'], { cwd, input: say('Mail ana@example.org that I am late') })
    assert.equal(left.code, 0)
    assert.match(
      left.stdout,
      /wants to run[\s\S]*It waits for an answer\.\n\n.*\nBye\. Go on later with: turnwire chat --session sess_\w+\n/,
    )
    const listed = turnwire(['chat'], { cwd, input: say('/sessions') })
    const id = /sess_\w+/.exec(listed.stdout)?.[0] ?? assert.fail(listed.stdout)
    const again = turnwire(['chat', '--session', id], { cwd, input: say('y', '/history') })
    assert.match(again.stdout, new RegExp(`Going on with ${id}`))
    assert.match(again.stdout, /✓ send_mail {2}Sent to ana@example\.org/)
    assert.match(again.stdout, /› Mail ana@example\.org that I am late\n/)
    const none = turnwire(['chat', '--session', 'sess_none'], { cwd, input: '' })
    assert.deepEqual(
      [none.code, none.stderr],
      [2, 'There is no session sess_none here. See them with: turnwire sessions list\n'],
    )
  })

  test('with a server elsewhere, and its key', async t => {
    const cwd = folder(t)
    const key = /^tw_\S+$/m.exec(turnwire(['keys', 'add', 'ana'], { cwd }).stdout)?.[0] ?? ''
    const { url } = await serve(t, { cwd })
    const input = say('What is the weather in Rome?', 'y')
    const { stdout } = turnwire(['chat', '--url', url, '--key', key], { cwd, input })
    assert.match(stdout, /Connected to http:\/\/127/)
    // What the operator trusts is not told to clients: the person decides.
    assert.match(stdout, /get_weather wants to run[\s\S]*✓ get_weather {2}Rome/)
    const left = turnwire(['chat', '--url', url, '--key', key], { cwd, input: say('Weather in Rome?') })
    assert.match(left.stdout, new RegExp(`Go on later with: turnwire chat --url ${url} --session sess_`))
    for (const one of [[], ['-p', 'Hi']]) {
      const refused = turnwire(['chat', '--url', url, ...one], { cwd })
      assert.equal(refused.code, 1)
      assert.match(
        refused.stderr,
        /^The server needs a key: give it with --key <key>, or .* as TURNWIRE_KEY\.\n$/,
      )
    }
    const wrong = turnwire(['chat', '--url', url, '--key', 'tw_other'], { cwd })
    assert.match(wrong.stderr, /^The server does not know this key\. Give another with --key <key>/)
    const nobody = turnwire(['chat', '--url', 'http://127.0.0.1:9'], { cwd })
    assert.equal(nobody.stderr, 'No answer from http://127.0.0.1:9: is the server running?\n')
  })
})

test('results and code keep their line breaks, and a failure shows its reason', t => {
  const cwd = folder(t)
  writeFileSync(
    join(cwd, 'turnwire.config.mts'),
    `import { anthropic, defineConfig, scripted, tool } from 'turnwire'
const list = tool({
  name: 'list', description: 'Lists.', input: { type: 'object' }, trust: 'trusted',
  run(_input, context) {
    context.report({ rows: { columns: ['order', 'sum'], rows: [['1024', '7 €'], ['9', '\\u001b[2J']] } })
    return Array.from({ length: 12 }, (_, index) => 'row ' + index).join('\\n')
  },
})
const script = [{ calls: [{ name: 'list' }] }, { text: 'if x:\\n    y  = 1' }, {}]
export default defineConfig({
  agents: [{ name: 'a', model: scripted(script), tools: [list] }, { name: 'b', model: anthropic({ model: 'claude-x' }) }],
})`,
  )
  const { stdout, stderr } = turnwire(['chat'], { cwd, input: say('Go', 'And?') })
  assert.match(
    stdout,
    / {2}✓ list {2}row 0\n {4}row 1\n[\s\S]* {4}row 7\n {4}… 4 more lines\n {4}order {2}sum\n {4}1024 {3}7 €\n {4}9 {6}\\u001b\[2J\n/,
  )
  assert.match(stdout, / {2}if x:\n {6}y {2}= 1\n\n› And/)
  assert.match(stdout, /› And\?\n\n {2}\(no words\)\n/)
  assert.equal(stderr, '')

  const failed = turnwire(['chat', '--agent', 'b'], { cwd, input: say('Go') })
  const words =
    'The model step failed: anthropic cannot be asked: set ANTHROPIC_API_KEY, or give apiKey to the model.'
  assert.ok(failed.stdout.includes(`› Go\n\n  ${words}\n`), failed.stdout)
  assert.equal(failed.stderr, '')

  const id = /sess_\w+/.exec(failed.stdout)?.[0] ?? ''
  const again = turnwire(['chat', '--session', id], { cwd, input: '' })
  assert.match(again.stdout, /^b\n/, 'the agent is that of the session')
})

const waiter = `import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { defineConfig, scripted, tool } from 'turnwire'
const wait = tool({
  name: 'wait', description: 'Waits.', input: { type: 'object' }, trust: 'trusted',
  async run() {
    writeFileSync('waiting', '')
    while (!existsSync('go')) await setTimeout(20)
    return 'waited'
  },
})
export default defineConfig({
  agents: [{ name: 'waiter', model: scripted([{ calls: [{ name: 'wait' }] }, { text: 'Done.' }]), tools: [wait] }],
})
`

test('a chat in the data folder of a server does not disturb the server’s running turns', async t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.mts'), waiter)
  const { url } = await serve(t, { cwd })
  const client = new AapClient({ baseUrl: url })
  const sessionId = await client.createSession({
    agent: { name: 'waiter', tools: [{ name: 'wait', trust: true }] },
  })
  const turn = client.runTurn({ sessionId, text: 'Wait' })
  while (!existsSync(join(cwd, 'waiting'))) await setTimeout(20)
  assert.match(turnwire(['chat'], { cwd, input: say('/sessions') }).stdout, new RegExp(sessionId))
  writeFileSync(join(cwd, 'go'), '')
  const { stopReason, messages } = await turn
  assert.equal(stopReason, 'end_turn')
  assert.equal(messages.find(message => message.role === 'tool')?.content, 'waited')
})

const hostile = `import { defineConfig, scripted, tool } from 'turnwire'
const evil = '\\u001b]52;c;aGk=\\u0007\\u001b]0;title\\u0007\\u001b[2J\\u001b]8;;http://x\\u0007\\u009b31m\\u202e\\u200b'
const run = () => evil + 'result'
export default defineConfig({
  agents: [{
    name: 'evil', title: 'Evil' + evil, description: 'Bad ' + evil,
    model: scripted([
      { thinking: 'Thought ' + evil, text: 'Text ' + evil, calls: [{ name: 'send', input: { to: evil, [evil]: 1 } }], chunk: 1 },
      { text: 'End ' + evil },
    ]),
    tools: [tool({ name: 'send', title: evil, description: 'Sends ' + evil, input: { type: 'object' }, run })],
  }],
})
`

test('nothing that models, tools or servers write moves the cursor, the clipboard or the title', t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.mts'), hostile)
  const input = say('Go \u001b[2J', 'v', 'y', '/history', '/tools', '/\u001b]0;x\u0007')
  const { code, stdout, stderr } = turnwire(['chat'], { cwd, input })
  assert.equal(code, 0)
  assert.match(stdout, /✓ send {2}\\u001b\]52;c;aGk=\\u0007.*result/)
  assert.match(stdout, /End \\u001b/)
  assert.doesNotMatch(stdout + stderr, /[^\P{Cc}\n]|\p{Cf}/u)
})

describe('on a terminal', () => {
  const terminal = (t: TestContext, cwd: string, env: Record<string, string> = {}): OnTerminal =>
    onTerminal(t, `${process.execPath} ${command} chat`, { cwd, env })

  test('colours, Ctrl-C that cancels the turn, Ctrl-C that leaves', async t => {
    if (!hasTerminal()) return t.skip('there is no script(1) of util-linux here')
    const { type, until, exit, stdout } = terminal(t, folder(t))
    await until(/› $/)
    type('Mail ana@example.org that I am late\r')
    await until(/Allow it\?.*› $/)
    type('\u0003')
    await until(/Cancelled\.[\s\S]*› $/)
    type('What is the weather in Paris, Oslo, Rome, Lima, Bonn and Cork?\r')
    await until(/→ .*get_weather/)
    type('y\r')
    type('\u0003')
    await until(/Cancelled\.[\s\S]*Cancelled\.[\s\S]*› $/)
    type('What I')
    await until(/What I$/)
    type('\u0003 /tools\r')
    await until(/runs here[\s\S]*› $/)
    type('\u0003')
    assert.equal(await exit, 0)
    assert.ok(stdout().includes('\u001b[36m›\u001b[39m'))
    assert.match(stdout(), /Bye\./)
  })

  test('NO_COLOR', async t => {
    if (!hasTerminal()) return t.skip('there is no script(1) of util-linux here')
    const { type, until, exit, stdout } = terminal(t, folder(t), { NO_COLOR: '1' })
    await until(/› $/)
    type('What is 2 + 3?\r')
    await until(/2 \+ 3 = 5[\s\S]*2 \+ 3 = 5[\s\S]*› $/)
    type('\u0004')
    assert.equal(await exit, 0)
    assert.doesNotMatch(stdout(), /\p{Cc}\[\d*m/u)
  })
})

test('a call that somebody else has to decide says who is needed, and this person’s yes is refused', async t => {
  const cwd = folder(t)
  writeFileSync(
    join(cwd, 'turnwire.config.mts'),
    `import { defineConfig, scripted, tool } from 'turnwire'
const pay = tool({ name: 'pay', description: 'Pays.', input: { type: 'object' }, run: () => 'paid' })
export default defineConfig({
  agents: [{ name: 'a', model: scripted([{ calls: [{ name: 'pay' }] }, { text: 'Paid it.' }]), tools: [pay] }],
  policy: { rules: [{ tool: 'pay', then: 'ask', reason: 'Money.', approvers: { names: ['cfo'] } }] },
})
`,
  )
  const { child, until, exit, stdout } = start(t, ['chat'], { cwd })
  child.stdin?.write('Go\n')
  await until(/pay wants to run[\s\S]*a person named cfo[\s\S]*Allow it\?/)
  child.stdin?.write('y\n')
  await until(/local has no role/)
  child.stdin?.end()
  await exit
  assert.doesNotMatch(stdout(), /Paid it/)
})
