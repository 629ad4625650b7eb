// A conversation while tools run: what they report, and questions that do not wait for them.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { AapClient } from '../../src/client/index.ts'
import { command, folder, hasTerminal, type OnTerminal, onTerminal, serve, start } from './rig.ts'

/** `build` runs until there is a file `go`, and reports until then. `send` asks. */
const config = `import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { defineConfig, scripted, tool } from 'turnwire'
const build = tool({
  name: 'build', description: 'Builds.', input: { type: 'object' }, trust: 'trusted',
  async run(_, { progress }) {
    while (!existsSync('go')) {
      progress({ message: 'compiling\\u001b]0;title\\u0007', done: 3, total: 10 })
      progress({ output: 'first\\n\\u001b[31mmain.c\\u001b[0m\\u001b[2J\\n' })
      await setTimeout(20)
    }
    return 'built'
  },
})
const send = tool({ name: 'send', description: 'Sends.', input: { type: 'object' }, run: () => 'sent' })
const script = [{ calls: [{ name: 'build' }, { name: 'send' }] }, { text: 'Done.' }, { text: 'Then more.' }]
export default defineConfig({ agents: [{ name: 'a', model: scripted(script), tools: [build, send] }] })
`

function prepared(t: TestContext): { cwd: string; go: () => void } {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.mts'), config)
  return { cwd, go: () => writeFileSync(join(cwd, 'go'), '') }
}

const count = (text: string, words: string): number => text.split(words).length - 1

test('a permission is asked for while another call runs, once, and its answer is kept', async t => {
  const { cwd, go } = prepared(t)
  const { child, until, exit, stdout } = start(t, ['chat'], { cwd })
  child.stdin?.write('Go\n')
  await until(/send wants to run[\s\S]*Allow it\?/)
  child.stdin?.write('y\n')
  await until(/Allow it\?.* › y\n/)
  assert.doesNotMatch(stdout(), /✓/)
  go()
  await until(/✓ build {2}built\n[\s\S]*✓ send {2}sent\n[\s\S]*Done\./)
  child.stdin?.end()
  assert.equal(await exit, 0)
  assert.equal(count(stdout(), 'wants to run'), 1)
})

test('output that comes during a question follows it, and the end of the input leaves it open', async t => {
  const { cwd, go } = prepared(t)
  const { child, until, exit, stdout } = start(t, ['chat'], { cwd })
  child.stdin?.write('Go\n')
  await until(/Allow it\?/)
  go()
  child.stdin?.end()
  assert.equal(await exit, 0)
  assert.match(stdout(), /Allow it\?.*\n[\s\S]*✓ build {2}built\n[\s\S]*It waits for an answer\./)
})

test('a question that another client answers is taken back', async t => {
  const { cwd, go } = prepared(t)
  go()
  const { url } = await serve(t, { cwd })
  const client = new AapClient({ baseUrl: url })
  const { child, until, exit } = start(t, ['chat', '--url', url], { cwd })
  child.stdin?.write('Go\n')
  await until(/build wants to run[\s\S]*Allow it\?/)
  child.stdin?.write('y\n')
  await until(/send wants to run[\s\S]*Allow it\?/)
  const { value } = await client.listSessions().next()
  const { sessionId } = value ?? assert.fail()
  const history = await client.getHistory(sessionId)
  const calls = history.flatMap(({ content }) => (Array.isArray(content) ? content : []))
  const id = calls.find(block => block.type === 'tool_use' && block.name === 'send')
  assert.ok(id?.type === 'tool_use')
  const other = await client.sendTurn(sessionId, {
    messages: [{ role: 'tool_permission', toolCallId: id.toolCallId, granted: true }],
  })
  await other.answer()
  await until(/send was allowed elsewhere, by .+\.\n[\s\S]*nothing was sent from here\./)
  child.stdin?.end('/quit\n')
  assert.equal(await exit, 0)
})

const chatOnTerminal = (t: TestContext, cwd: string): OnTerminal =>
  onTerminal(t, `stty cols 70; ${process.execPath} ${command} chat`, { cwd, env: { NO_COLOR: '1' } })

test('Ctrl-C at a question cancels the turn, also while another call runs', async t => {
  if (!hasTerminal()) return t.skip('there is no script(1) of util-linux here')
  const { cwd, go } = prepared(t)
  const { child, until, exit, stdout } = chatOnTerminal(t, cwd)
  await until(/› $/)
  child.stdin.write('Go\r')
  await until(/send wants to run[\s\S]*Allow it\?.*› $/)
  child.stdin.write('\u0003')
  await until(/Cancelled\.[\s\S]*› $/)
  go()
  child.stdin.write('\u0004')
  assert.equal(await exit, 0)
  assert.doesNotMatch(stdout(), /elsewhere|needs no answer|✓/)
})

test('on a terminal, the spinner shows what the tool reports', async t => {
  if (!hasTerminal()) return t.skip('there is no script(1) of util-linux here')
  const { cwd, go } = prepared(t)
  const { child, until, exit, stdout } = chatOnTerminal(t, cwd)
  await until(/› $/)
  child.stdin.write('Go\r')
  await until(/send wants to run[\s\S]*Allow it\?.*› $/)
  child.stdin.write('y\r')
  await until(/ build, send \d+ s · build: 3\/10 compiling/)
  go()
  await until(/Done\.[\s\S]*› $/)
  child.stdin.write('\u0004')
  assert.equal(await exit, 0)
  const written = stdout()
  assert.equal(count(written, 'wants to run'), 1)
  assert.ok(
    !written.includes('\u001b]0;') && !written.includes('\u001b[2J') && !written.includes('\u001b[31m'),
  )
  const drawn = written.split('\r\u001b[2K').filter(text => text.includes(' s · '))
  assert.ok(drawn.length > 0)
  for (const text of drawn) assert.ok(stripVTControlCharacters(text).length < 70, JSON.stringify(text))
  assert.ok(written.includes('\r\u001b[2K  ✓ build'), 'the spinner is erased first')
})

test('Enter while a turn runs opens a line that steers it, and a queued one is answered afterwards', async t => {
  if (!hasTerminal()) return t.skip('there is no script(1) of util-linux here')
  const { cwd, go } = prepared(t)
  const { child, until, exit } = chatOnTerminal(t, cwd)
  await until(/› $/)
  child.stdin.write('Go\r')
  await until(/send wants to run[\s\S]*Allow it\?.*› $/)
  child.stdin.write('y\r')
  await until(/build: 3\/10 compiling/)
  child.stdin.write('\r')
  await until(/steer › $/)
  child.stdin.write('/queue and more\r')
  await until(/It is said when this turn has ended\./)
  go()
  await until(/Done\.[\s\S]*Then more\.[\s\S]*› $/)
  child.stdin.write('\u0004')
  assert.equal(await exit, 0)
})
