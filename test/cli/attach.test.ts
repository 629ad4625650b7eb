// The relay with real processes: the lines of docs/guide/relay.md as they stand there, machines that are killed, and a
// server that restarts.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { cites } from '../requirements/manifest.ts'
import { command, environment, folder, root, type Started, serve, start, turnwire } from './rig.ts'

const relayConfig = `import { defineConfig } from 'turnwire'
export default defineConfig({ agents: [], relay: { owners: '*' } })
`

const agentConfig = (
  words: string,
  more = '',
): string => `import { defineConfig, scripted, tool } from 'turnwire'
import { writeFileSync } from 'node:fs'
const danger = tool({ name: 'danger', description: 'Writes.', input: { type: 'object' }, trust: 'trusted', run: () => { writeFileSync('ran', ''); return 'x' } })
const steps = [{ calls: [{ name: 'add', input: { a: 2, b: 3 } }] }, { text: '${words}'${more} }]
export default defineConfig({ agents: [{ name: 'own', model: scripted(steps, { whenOver: 'repeat-last' }), tools: [danger] }] })
`

/** A shell in which \`turnwire\` is this checkout. */
function shellEnvironment(t: TestContext): Record<string, string> {
  const bin = folder(t)
  writeFileSync(join(bin, 'turnwire'), `#!/bin/sh\nexec '${process.execPath}' '${command}' "$@"\n`)
  chmodSync(join(bin, 'turnwire'), 0o755)
  return environment({ PATH: `${bin}:${process.env['PATH']}` })
}

async function attached(t: TestContext, cwd: string, args: readonly string[]): Promise<Started> {
  const started = start(t, ['attach', ...args], { cwd })
  await started.until(/Attached\. Requests are answered/)
  return started
}

async function asked(
  url: string,
  body: object,
): Promise<{ status: number; body: Record<string, unknown>; text: string }> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/v1/responses`, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  return { status: answer.status, text, body: JSON.parse(text) as Record<string, unknown> }
}

test(cites('SIX-OWN-05', 'SIX-OWN-04', 'every command of the guide does what the guide says'), {
  timeout: 240_000,
}, async t => {
  const page = readFileSync(join(root, 'docs/guide/relay.md'), 'utf8')
  const [, config = ''] = /```ts\n([\s\S]*?)```/.exec(page) ?? []
  const blocks = [...page.matchAll(/```sh\n# (.*)\n([\s\S]*?)```/g)]
  assert.equal(blocks.length, [...page.matchAll(/```sh\n/g)].length, 'every block says where it is run')
  const [server, owner] = [folder(t), folder(t)]
  writeFileSync(join(server, 'turnwire.config.ts'), config)
  const env = shellEnvironment(t)
  let url = ''
  let machine: Started | undefined
  const printed: string[] = []
  for (const [, where, lines = ''] of blocks)
    for (const line of lines.trim().split('\n')) {
      const here = line.replaceAll('http://127.0.0.1:4117', url)
      if (/^turnwire serve/.test(line)) {
        const args = line
          .split(' ')
          .slice(2)
          .map(word => (word === '4117' ? '0' : word))
        url = (await serve(t, { cwd: server, args })).url
      } else if (/^turnwire attach http/.test(line))
        machine = await attached(t, owner, here.split(' ').slice(2))
      else {
        const cwd = where === 'on the server' ? server : owner
        const { stdout, stderr, status } = spawnSync('sh', ['-c', here], { cwd, env, encoding: 'utf8' })
        assert.equal(status, 0, `${line}\n${stderr}`)
        printed.push(stdout)
      }
    }
  const [status = '', prices = '', help = '', providers = '', health = '', answer = ''] = printed
  assert.match(status, /requests +0 served, 0 failed, 0 refused/)
  assert.match(status, /relay says +0 served since it started; payments are not configured there/)
  assert.match(prices, /A token read costs 2, a token written 8\./)
  assert.match(help, /turnwire attach <server>/)
  assert.match(health, /"plugins":1/)
  assert.match(answer, /"status":"completed"/)
  assert.equal((JSON.parse(providers) as { providers: { name: string }[] }).providers[0]?.name, 'Ada')
  assert.equal(statSync(join(owner, '.turnwire/attach/wallet.key')).mode & 0o777, 0o600)
  assert.match(prices, /The running machine has told its relay\./)
  // Counts are written within half a second, as the guide says; the command may be quicker.
  let after = ''
  do after = turnwire(['attach', '--status'], { cwd: owner }).stdout
  while (/requests +0 served/.test(after))
  assert.match(after, /prices +2 a token read, 8 a token written/)
  assert.match(after, /requests +1 served, 0 failed, 0 refused/)
  machine?.child.kill('SIGTERM')
  await machine?.exit
  const later = turnwire(['attach', '--prices', '3/9'], { cwd: owner })
  assert.match(later.stdout, /They hold from the next start\./)
})

test(cites(
  'SIX-OWN-01',
  'SIX-WS-09',
  'SIX-WS-14',
  'real machines: a tool call comes back, a killed machine is replaced, a restarted server has its machines again',
), { timeout: 240_000 }, async t => {
  const [server, one, other] = [folder(t), folder(t), folder(t)]
  writeFileSync(join(server, 'turnwire.config.ts'), relayConfig)
  writeFileSync(join(one, 'turnwire.config.ts'), agentConfig('from one', ', stepDelayMs: 60_000'))
  writeFileSync(join(other, 'turnwire.config.ts'), agentConfig('from the other'))
  const first = await serve(t, { cwd: server })
  const slow = await attached(t, one, [first.url, '--prices', '1/1'])
  await attached(t, other, [first.url, '--prices', '5/5'])

  const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }]
  const question = [{ type: 'message', role: 'user', content: '2+3?' }]
  const call = await asked(first.url, { model: 'm', routing: 'cheapest', input: question, tools })
  const [made] = call.body['output'] as { type: string; call_id: string; name: string; arguments: string }[]
  assert.equal(made?.type, 'function_call', call.text)
  const { call_id, name, arguments: given } = made!
  const history = [
    ...question,
    { type: 'function_call', call_id, name, arguments: given },
    { type: 'function_call_output', call_id, output: '5' },
  ]
  const answering = asked(first.url, { model: 'm', routing: 'cheapest', input: history, tools })
  await untilInFlight(first.url)
  slow.child.kill('SIGKILL')
  assert.match((await answering).text, /from the other/)

  const port = new URL(first.url).port
  first.child.kill('SIGTERM')
  assert.equal(await first.exit, 0)
  const second = await serve(t, { cwd: server, args: ['--port', port] })
  const again = await asked(second.url, { model: 'm', routing: 'cheapest', input: history, tools })
  assert.match(again.text, /from the other/)
  for (const cwd of [one, other]) assert.ok(!existsSync(join(cwd, 'ran')))
  for (const cwd of [one, other])
    assert.ok(!existsSync(join(cwd, '.turnwire/sessions.db')), 'no sessions are kept')
})

async function untilInFlight(url: string): Promise<void> {
  for (;;) {
    const { providers } = (await (await fetch(`${url}/v1/providers`)).json()) as {
      providers: { stats: { inFlight: number } }[]
    }
    if (providers.some(({ stats }) => stats.inFlight > 0)) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

test('wrong uses of the command are refused with what to do', t => {
  const cwd = folder(t)
  const refused = (args: string[], words: RegExp, code = 2): void => {
    const done = turnwire(['attach', ...args], { cwd })
    assert.equal(done.code, code, done.stderr)
    assert.match(done.stderr, words)
  }
  refused([], /Name the relay/)
  refused(['--status'], /Nothing was attached from/)
  refused(['--prices', '1/2'], /Nothing was attached from/)
  refused(['http://127.0.0.1:1', '--prices', '1.5/2'], /two whole numbers/)
  refused(['http://127.0.0.1:1', '--at-once', '0'], /from 1 to 9999/)
  refused(['http://127.0.0.1:1', '--url', 'nowhere'], /whole address/)
  refused(['ftp://a'], /is no server/, 1)
  refused(['http://127.0.0.1:1', '--agent', 'nobody'], /no agent named "nobody"/, 1)
  mkdirSync(join(cwd, 'open/attach'), { recursive: true })
  writeFileSync(join(cwd, 'open/attach/wallet.key'), 'x', { mode: 0o644 })
  refused(['http://127.0.0.1:1', '--data', 'open'], /holds no key/, 1)
})

test(
  cites('SIX-WS-11', 'SIX-AUTH-06', 'a machine whose wallet may not attach ends, and says why'),
  async t => {
    const [server, owner] = [folder(t), folder(t)]
    writeFileSync(join(server, 'turnwire.config.ts'), relayConfig.replace("'*'", `['0x${'1'.repeat(40)}']`))
    const { url } = await serve(t, { cwd: server })
    const refused = start(t, ['attach', url], { cwd: owner })
    assert.equal(await refused.exit, 1)
    assert.match(refused.stderr(), /may not use this relay/)
  },
)

test('an agent with a price is attached without it, and a configuration without agents says what to do', async t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.mts'), relayConfig)
  const none = turnwire(['attach', 'http://127.0.0.1:9'], { cwd })
  assert.equal(none.code, 1)
  assert.match(
    none.stderr,
    /^The configuration has no agent that could answer: it is that of a relay\. .*--config <file>/,
  )
  const priced = `import { defineConfig, rehearsal } from 'turnwire'
const address = '0x' + '1'.repeat(40)
export default defineConfig({
  agents: [{ name: 'own', model: rehearsal(), price: { request: '0.01' }, retention: { days: 1 } }],
  payments: { network: 'eip155:1', asset: { address, name: 'X', version: '1' }, payTo: address, facilitator: { url: 'http://127.0.0.1:9' } },
})
`
  writeFileSync(join(cwd, 'turnwire.config.mts'), priced)
  const unknown = turnwire(['attach', 'http://127.0.0.1:9', '--agent', 'other'], { cwd })
  assert.equal(unknown.stderr, 'The configuration has no agent named "other". There are: own.\n')
  const machine = start(t, ['attach', 'http://127.0.0.1:9'], { cwd })
  await machine.until(/Answers with the agent "own"/)
})
