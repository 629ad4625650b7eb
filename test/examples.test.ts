// The examples are run as a reader would run them: what they print is what the docs say of them.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import { isToolUIPart } from 'ai'
import { chromium } from 'playwright-core'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { postToSlack, slackMessage } from '../examples/approvals-by-webhook/slack.ts'
import { findChromium } from '../scripts/install-chromium.mjs'
import { AapClient } from '../src/client/index.ts'
import { environment, folder, root, serve, start, turnwire, watched } from './cli/rig.ts'
import {
  appFolder,
  composeEnvironment,
  imageCommand,
  makeKey,
  onPort,
  startDeployed,
} from './cluster/deployed.ts'
import { freePort } from './free-port.ts'
import { skipped as noChain, startChain } from './payments/chain.ts'
import { own, startServer as startPostgres } from './stores/postgres/server.ts'
import { skip as noBubblewrap } from './tools/shell/bubblewrap.ts'
import { startSlack } from './webhooks/slack.ts'
import { until } from './wires/rig.ts'
import { PlainChat } from './wires/ui/client.ts'

const examples = join(root, 'examples')
const noChromium = findChromium() === undefined && 'There is no Chromium: install it, or set CHROMIUM_PATH.'

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

  test('approvals-by-webhook/: a person is told, and allows the call on a page', () => {
    assert.deepEqual(run('approvals-by-webhook/run.ts').split('\n'), [
      'chat: bookkeeper wants to run transfer_money. [Look and decide]',
      'phone: Run Transfer money? (90 to Ana)',
      'phone: You allowed this call',
      'chat: bookkeeper: turn.ended (end)',
      '',
    ])
  })

  test('approvals-by-webhook/: the button of the message in Slack decides', async t => {
    const slack = await startSlack(t)
    const program = spawn(process.execPath, [join(examples, 'approvals-by-webhook/run.ts')], {
      env: environment({ SLACK_WEBHOOK_URL: slack.url }),
    })
    const { until: written, exit, stderr } = watched(t, program)
    await written(/^chat: bookkeeper wants to run transfer_money\. \[Look and decide\]$/m)
    const [asked] = slack.messages
    assert.equal(asked?.text, 'bookkeeper wants to run transfer_money.')
    const [link = ''] = asked.links
    assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/approve\/[\w.-]+$/)
    const decided = await fetch(link, { method: 'POST', body: new URLSearchParams({ decision: 'allow' }) })
    assert.match(await decided.text(), /You allowed this call/)
    assert.equal(await exit, 0, stderr())
    assert.deepEqual(
      slack.messages.map(({ text, links }) => [text, links.length]),
      [
        ['bookkeeper wants to run transfer_money.', 1],
        ['bookkeeper: turn.ended (end)', 0],
      ],
    )
    assert.deepEqual(slack.refused, [])
  })

  test('approvals-by-webhook/: a long reason with markup stays one harmless section', async t => {
    const slack = await startSlack(t)
    const reason = '<!channel> & <https://evil.example|press here> '.repeat(100)
    const data = { session: 'ses_1', agent: 'a', tool: 't', reason, link: { url: 'https://a.example/x' } }
    const { text, blocks } = slackMessage({ type: 'approval.requested', data })
    await postToSlack(slack.url, { text, blocks })
    assert.doesNotMatch(JSON.stringify(slack.messages), /<|>|&(?!amp;|lt;|gt;)/)
    // What Slack refuses is an error, for which the receiver answers so that the message comes again.
    const long = { type: 'section', text: { type: 'mrkdwn', text: 'x'.repeat(3_001) } }
    const noButton = { type: 'actions', elements: [{ type: 'button', text: 'Decide' }] }
    for (const block of [long, noButton, { type: 'secsion' }])
      await assert.rejects(postToSlack(slack.url, { text, blocks: [block] }), /400 invalid_blocks/)
    await assert.rejects(postToSlack(slack.url, { text: '', blocks }), /400 no_text/)
    assert.equal(slack.messages.length, 1)
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

  test('page-tools/: in a browser, the page reads and changes its own cart', {
    skip: noChromium,
  }, async t => {
    const server = spawn(process.execPath, [join(examples, 'page-tools/server.ts')], {
      env: environment({ PORT: '0' }),
    })
    const { until, exit } = watched(t, server)
    const [address] = await until(/^http:\S+/m)
    const browser = await chromium.launch({
      executablePath: findChromium()!,
      args: ['--no-sandbox', '--disable-quic'],
    })
    t.after(() => browser.close())
    const page = await browser.newPage()
    const problems: string[] = []
    page.on('pageerror', error => problems.push(error.message))
    page.on('console', message => message.type() === 'error' && problems.push(message.text()))
    await page.goto(address)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Assistant: read_cart answered: pens, paper.').waitFor()
    await page.getByLabel('Message').fill('Add "a stapler" to the cart')
    await page.keyboard.press('Enter')
    await page.getByText('add_to_cart ran in this page').waitFor()
    assert.deepEqual(await page.locator('#cart li').allTextContents(), ['pens', 'paper', 'a stapler'])
    assert.deepEqual(problems, [])
    server.kill('SIGTERM')
    await exit
  })

  test('many-mcp-tools/: a model is declared a few of 2,000 tools', () =>
    assert.equal(run('many-mcp-tools/run.ts'), '2000 tools; declared to the model: 1, then 3\nArchived.\n'))

  test('evals/: one of two models looks before it refunds', t => {
    const file = join(examples, 'evals/refunds.ts')
    const { stdout, code } = turnwire(['eval', file, '--config', join(examples, 'evals')], { cwd: folder(t) })
    assert.equal(code, 0)
    assert.match(stdout, /^pass {2}looks before it refunds {2}careful {2}3 steps$/m)
    assert.match(stdout, /^FAIL {2}looks before it refunds {2}hasty {4}2 steps$/m)
    assert.match(stdout, /^1 of 2 passed, 50 % wanted/m)
  })

  test('big-data-set/: the rows never reach the model', () =>
    assert.equal(
      run('big-data-set/run.ts'),
      'the model read 39 characters: {"eu":841700,"us":841667,"asia":841633}\nEurope leads.\n',
    ))

  test('openai-application/: two variables point it here', async t => {
    const args = ['--config', join(examples, 'openai-application')]
    const { url } = await serve(t, { cwd: folder(t), args })
    const env = environment({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'any' })
    const app = join(examples, 'openai-application/app.ts')
    const child = spawnSync(process.execPath, [app], { encoding: 'utf8', env })
    assert.equal(
      child.stdout,
      'stock_level {"article":"pens"}\nstock_level answered: 42 pieces.\n',
      child.stderr,
    )
  })

  test('use-chat/: a call asks in the chat, and runs on the server once it is allowed', async t => {
    const args = ['--config', join(examples, 'use-chat')]
    const { url } = await serve(t, { cwd: folder(t), args })
    process.env['NEXT_PUBLIC_TURNWIRE_URL'] = url
    t.after(() => delete process.env['NEXT_PUBLIC_TURNWIRE_URL'])
    const { chat: settings } = await import('../examples/use-chat/chat.ts')
    const chat = new PlainChat(settings)
    await chat.sendMessage({ text: 'Cancel order 17' })
    const asked = chat.messages.at(-1)?.parts.filter(isToolUIPart) ?? []
    assert.deepEqual(
      asked.map(({ state }) => state),
      ['approval-requested'],
    )
    const { id = '' } = asked[0]?.approval ?? {}
    await chat.addToolApprovalResponse({ id, approved: true })
    await until(() => chat.status === 'ready' && /is cancelled/.test(JSON.stringify(chat.messages)))
    assert.match(JSON.stringify(chat.messages.at(-1)), /cancel_order answered: Order 17 is cancelled\./)
  })

  test('coding-agent/: an editor gets what it read, and may not have files deleted', async t => {
    const project = folder(t)
    writeFileSync(join(project, 'notes.txt'), 'Buy milk.')
    const args = ['acp', '--config', join(examples, 'coding-agent'), '--data', folder(t)]
    const agent = start(t, args, { cwd: project, env: { CODE_ROOT: project } })
    const send = (id: number, method: string, params: object) =>
      agent.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    send(1, 'initialize', { protocolVersion: 1, clientCapabilities: {} })
    send(2, 'session/new', { cwd: project, mcpServers: [] })
    const [, sessionId] = await agent.until(/"sessionId":"(sess_\w+)"/)
    const prompt = (id: number, text: string) =>
      send(id, 'session/prompt', { sessionId, prompt: [{ type: 'text', text }] })
    prompt(3, 'Read file "notes.txt"')
    await agent.until(/Buy milk\.[\s\S]*"id":3,"result":\{"stopReason":"end_turn"/)
    prompt(4, 'Delete file "notes.txt"')
    await agent.until(/Files are deleted by people\.[\s\S]*"id":4,"result"/)
    assert.equal(readFileSync(join(project, 'notes.txt'), 'utf8'), 'Buy milk.')
  })

  test('relay/: a client is answered by the machine that attached', async t => {
    const { url } = await serve(t, { cwd: folder(t), args: ['--config', join(examples, 'relay')] })
    const config = ['--config', join(examples, 'relay/owner'), '--data', folder(t)]
    const machine = start(t, ['attach', url, ...config, '--prices', '1/4', '--name', 'Ada'], {
      cwd: folder(t),
    })
    await machine.until(/0x[0-9a-fA-F]{40}/)
    const providers = async () => (await (await fetch(`${url}/v1/providers`)).text()) ?? ''
    while (!(await providers()).includes('Ada')) await new Promise(resolve => setImmediate(resolve))
    const answer = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'any', routing: 'cheapest', input: 'Say hello.' }),
    })
    assert.equal(answer.status, 200)
    const { status, output } = (await answer.json()) as { status: string; output: { type: string }[] }
    assert.deepEqual([status, output[0]?.type], ['completed', 'message'])
  })

  test('paid-agent/: a program with a wallet pays for its answer', { skip: noChain }, async t => {
    const chain = await startChain()
    const { key, account } = await chain.facilitator()
    const payer = generatePrivateKey()
    await chain.fund(privateKeyToAccount(payer).address)
    const asset = { ASSET: chain.token, ASSET_NAME: chain.asset.name }
    const wallet = { ...asset, WALLET_KEY: key, PAY_TO: account.address, RPC_URL: chain.rpcUrl }
    const cwd = folder(t)
    const args = ['--config', join(examples, 'paid-agent')]
    assert.equal(turnwire(['keys', 'add', 'me', '--operator'], { cwd }).code, 0)
    const { url } = await serve(t, { cwd, args, env: wallet })
    const asked = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'analyst', input: 'Hello' }),
    })
    assert.equal(asked.status, 402)
    const program = spawn(process.execPath, [join(examples, 'paid-agent/ask.ts')], {
      env: environment({ ...asset, PAYER_KEY: payer, TURNWIRE_URL: url }),
    })
    await watched(t, program).until(/^stock_quote answered: ACME: 42\.10\.?\npaid 0\.01 USDC\n$/)
    const { stdout } = turnwire(['payments', 'list', ...args], { cwd, env: wallet })
    assert.match(stdout, /settled {2}0\.01 /)
    assert.equal(await chain.balance(account.address), 10_000n)
  })

  test('many-nodes/: the node that counts is killed, and the other one answers', own, async t => {
    const home = appFolder(t)
    const cwd = join(home, 'app')
    for (const file of ['turnwire.config.ts', 'ask.ts'])
      copyFileSync(join(examples, 'many-nodes', file), join(cwd, file))
    const database = await startPostgres()
    t.after(() => database.remove())
    const { key, entry } = makeKey(home)
    const [clusterSecret, vaultKey] = ['c'.repeat(40), 'v'.repeat(40)]
    const secrets = { databaseUrl: database.url, clusterSecret, vaultKey, keys: entry }
    const startNode = async (name: 'node-1' | 'node-2', seconds: string) => {
      const address = `127.0.0.1:${await freePort()}`
      const env = { ...composeEnvironment(name, secrets), TURNWIRE_NODE_ADDRESS: address }
      const words = onPort(imageCommand(), await freePort())
      const node = await startDeployed(t, { words, cwd, env: { ...env, COUNT_SECONDS: seconds } })
      return { ...node, address }
    }
    const first = await startNode('node-1', '3600')
    const second = await startNode('node-2', '0')
    const program = spawn(process.execPath, ['ask.ts'], {
      cwd,
      env: environment({ NODE_1: first.url, NODE_2: second.url, TURNWIRE_KEY: key }),
    })
    const asking = watched(t, program)
    await asking.until(/count_stock runs/)
    first.child.kill('SIGKILL')
    const [, by] = await asking.until(/runs again[\s\S]*count 42, countedBy (\S+)\.\n/)
    assert.equal(by, second.address)
    assert.equal(await asking.exit, 0, asking.stderr())
  })

  test('each folder of the gallery says what it is, and is run here', () => {
    const own = readFileSync(import.meta.filename, 'utf8')
    const index = readFileSync(join(examples, 'README.md'), 'utf8')
    const folders = readdirSync(examples, { withFileTypes: true }).filter(entry => entry.isDirectory())
    assert.ok(folders.length >= 7)
    for (const { name } of folders) {
      assert.match(readFileSync(join(examples, name, 'README.md'), 'utf8'), /^# .+\n\n/, name)
      assert.ok(own.includes(`test('${name}/: `), `${name} is run by no test`)
      assert.ok(index.includes(`(${name}/README.md)`), `${name} is not in examples/README.md`)
    }
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
