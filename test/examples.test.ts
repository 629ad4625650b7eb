// The examples are run as a reader would run them: what they print is what the docs say of them.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import { findChromium } from '../scripts/install-chromium.mjs'
import { AapClient } from '../src/client/index.ts'
import { environment, folder, root, serve } from './cli/rig.ts'
import { skip as noBubblewrap } from './tools/shell/bubblewrap.ts'

const examples = join(root, 'examples')

function run(file: string, args: string[] = []): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...args, join(examples, file)], {
    encoding: 'utf8',
    env: environment(),
    timeout: 600_000,
  })
  assert.deepEqual([status, stderr], [0, ''], `${file}\n${stdout}`)
  return stdout
}

describe('examples', () => {
  test('library.ts', () =>
    assert.equal(run('library.ts'), 'get_weather answered: Paris: 18 °C, light rain.\n'))

  test('questions-and-later.ts', () =>
    assert.equal(run('questions-and-later.ts'), 'How many seats?\nPrinted.\n'))

  test('big-output.ts', () => {
    const [answer, shown, read] = run('big-output.ts').split('\n')
    assert.equal(answer, 'I have the log.')
    assert.match(shown ?? '', /^The model was shown 6\d{4} characters of 1788907 bytes\.$/)
    assert.equal(read, 'The program read 1788907 bytes.')
  })

  test('manual.ts', () => {
    const [actions, answer] = run('manual.ts').split('\n')
    assert.equal(actions, 'ask-model, judge, run, end')
    assert.match(answer ?? '', /"text":"It is 42\."/)
  })

  test('approve.ts', () => {
    const stdout = run('approve.ts')
    assert.match(stdout, /^transfer_money wants to run with \{"amount":900,"person":"Ana"\}$/m)
    assert.match(stdout, /Transferred 90 to Ana\./)
  })

  test('application-tool.ts', () =>
    assert.equal(
      run('application-tool.ts'),
      'the model asks for read_clipboard, which needs a result\nread_clipboard answered: Buy milk.\n',
    ))

  test('serve-mcp.ts', () => {
    const [answer, resource, prompt] = run('serve-mcp.ts').split('\n')
    assert.equal(answer, 'It is there.')
    assert.match(resource ?? '', /Be kind\./)
    assert.match(prompt ?? '', /Review a\.ts, please\./)
  })

  test('mcp.ts', () => {
    const [server, question, ...answers] = run('mcp.ts').split('\n')
    assert.equal(server, 'all: connected, protocol 2025-11-25')
    assert.match(question ?? '', /^The MCP server "all" asks: /)
    assert.deepEqual(answers, ['All done.', 'I have read it.', ''])
  })

  test('search.ts', () =>
    assert.equal(
      run('search.ts'),
      [
        '30 tools; the model was shown:',
        '- list_ticket, find_tools',
        '- list_ticket, find_tools, create_invoice, create_ticket',
        'The invoice is there.\n',
      ].join('\n'),
    ))

  test('code.ts', () =>
    assert.equal(
      run('code.ts'),
      'send_mail waits inside the program: {"to":"bo"}\nthe program returned {"read":3,"mailed":["bo"]}\nBo was told.\n',
    ))

  test('agents.ts', () =>
    assert.equal(
      run('agents.ts'),
      'the writer asks here: send_mail {"to":"ana"}\nBilling here: your invoice is on its way.\n',
    ))

  test('browser.ts', t => {
    if (findChromium() === undefined) return t.skip('There is no Chromium: install it, or set CHROMIUM_PATH.')
    const [asked, answer] = run('browser.ts').split('\n')
    assert.match(asked ?? '', /^It submits a form to http:\/\/the shop\/ordered \(POST\)/)
    assert.equal(answer, 'Ordered.')
  })

  test('files.ts', () =>
    assert.equal(
      run('files.ts'),
      ['edit_file: { "port": 80 } → { "port": 8080 }', 'The port is 8080 now.', '{ "port": 8080 }\n'].join(
        '\n',
      ),
    ))

  test('shell.ts', () => {
    const stdout = run('shell.ts')
    if (noBubblewrap === false) assert.match(stdout, /^terminal 1: made here\nterminal 2: .*refused\n$/)
    else assert.match(stdout, /Nothing was run/)
  })

  test('own-test.test.ts', () => assert.match(run('own-test.test.ts', ['--test']), /pass 1/))

  test('own-store.test.ts', () => assert.match(run('own-store.test.ts', ['--test']), /pass \d\d+\n.*fail 0/))

  test('demo.ts: three kinds of calls in one batch, and the log of it', () => {
    const stdout = run('demo.ts')
    const calls = [...stdout.matchAll(/^ {3}→ (\w+)/gm)].map(found => found[1])
    assert.deepEqual(calls, ['local_time', 'get_weather', 'send_mail'])
    assert.match(stdout, /⌂ local_time ran here: 09:41/)
    assert.match(stdout, /← Lisbon: 18 °C/)
    assert.match(stdout, /← Sent to ana@example\.org: I am late, sorry\./)
    assert.match(stdout, /approval\.decided by local/)
    assert.match(stdout, /\d turn\.ended\n/)
  })

  test('curl.sh, against a server without a configuration', async t => {
    if (spawnSync('curl', ['--version']).status !== 0) return t.skip('there is no curl here')
    const { url } = await serve(t, { cwd: folder(t) })
    const { status, stdout, stderr } = spawnSync('sh', [join(examples, 'curl.sh'), url], {
      encoding: 'utf8',
      env: environment(),
    })
    assert.deepEqual([status, stderr], [0, ''])
    assert.match(stdout, /"stopReason":"tool_use"/)
    assert.match(stdout, /Sent to ana@example\.org/)
    assert.match(stdout, /"stopReason":"end_turn"/)
  })

  test('config/: two agents, of which one changes nothing', async t => {
    const args = ['--data', folder(t)]
    const { url } = await serve(t, { cwd: join(examples, 'config'), args })
    const client = new AapClient({ baseUrl: url })
    const { agents } = await client.getMeta()
    assert.deepEqual(
      agents.map(agent => agent.name),
      ['support', 'reader'],
    )
    const tools = [{ name: 'search_tickets', trust: true }]
    const sessionId = await client.createSession({ agent: { name: 'reader', tools } })
    const { messages } = await client.runTurn({ sessionId, text: 'Search tickets about "door"' })
    assert.match(JSON.stringify(messages), /The door does not open/)
  })

  test('each of them is short, and there is none that is not run here', () => {
    const files = globSync('*.{ts,sh}', { cwd: examples })
    const own = readFileSync(import.meta.filename, 'utf8')
    for (const file of files) {
      assert.ok(own.includes(`'${file}`), `${file} is run by no test`)
      const lines = readFileSync(join(examples, file), 'utf8').split('\n').length
      if (basename(file) !== 'demo.ts') assert.ok(lines <= 40, `${file} has ${lines} lines`)
    }
  })
})
