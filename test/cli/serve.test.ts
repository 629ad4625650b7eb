// The server as it is started: what it says, what it answers, how it stops.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { AapClient } from '../../src/client/index.ts'
import { environment, folder, root, serve, turnwire } from './rig.ts'

/** The printed line, taken apart as a shell would. */
function printedRequest(stdout: string): { url: string; body: string } {
  const found = /^ {2}curl -s -X PUT (\S+) -H 'Content-Type: application\/json' -d '(.*)'$/m.exec(stdout)
  assert.ok(found, stdout)
  return { url: found[1]!, body: found[2]! }
}

describe('without a configuration', () => {
  test('serves the demonstration agent, and the command that it prints works', async t => {
    const cwd = folder(t)
    const { url, stdout, stderr, child, exit } = await serve(t, { cwd })
    assert.match(stdout(), /agents {4}helper \(the demonstration: there is no turnwire\.config\.ts here/)
    assert.match(stdout(), /sessions {2}\.turnwire/)
    assert.match(stdout(), /access {4}open to every program on this machine: no key exists/)
    assert.doesNotMatch(stdout(), /[^\P{Cc}\n]/u)
    const front = (await (await fetch(url)).json()) as { agents: string[]; wires: object } // Looked at next.
    assert.deepEqual(front.agents, ['helper'])
    for (const line of Object.values(front.wires)) {
      const [, page] = /: (docs\S+)$/.exec(String(line)) ?? []
      assert.ok(page === undefined || existsSync(join(root, page)), page)
    }
    const tried = printedRequest(stdout())
    const response = await fetch(tried.url, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json' },
      body: tried.body,
    })
    assert.equal(response.status, 201)
    const answer = (await response.json()) as { sessionId: string; stopReason: string } // Looked at next.
    assert.equal(answer.stopReason, 'end_turn')
    assert.match(JSON.stringify(answer), /Paris: \d+ °C/)
    child.kill('SIGTERM')
    assert.equal(await exit, 0)
    const log = stderr()
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { message: string }) // One JSON object a line, or this throws.
    assert.deepEqual(
      log.map(line => line.message),
      ['Listening.', 'Stopping: running tools may finish. Once more stops it at once.', 'Stopped.'],
    )
    const again = await serve(t, { cwd })
    const client = new AapClient({ baseUrl: again.url })
    assert.equal((await client.getHistory(answer.sessionId)).length, 4)
    assert.notEqual(again.url, url)
  })

  test('the printed line works when it is pasted, also of a server that listens on every address', async t => {
    if (spawnSync('curl', ['--version']).status !== 0) return t.skip('there is no curl here')
    const pasted = (stdout: string, key = ''): string => {
      const line = /^ {2}(curl .*)$/m.exec(stdout)?.[1]?.replace('<key>', key) ?? ''
      return spawnSync('sh', ['-c', line], { encoding: 'utf8', env: environment() }).stdout
    }
    const { stdout } = await serve(t, { cwd: folder(t) })
    assert.match(pasted(stdout()), /"stopReason":"end_turn"/)
    const key = turnwire(['keys', 'hash', 'me'], { cwd: folder(t) }).stdout
    const [, entry = ''] = /^TURNWIRE_KEYS=(\S+)$/m.exec(key) ?? []
    const every = await serve(t, {
      cwd: folder(t),
      args: ['--host', '0.0.0.0'],
      env: { TURNWIRE_KEYS: entry },
    })
    assert.match(every.stdout(), /names {5}it answers to localhost only\. Add .* to server\.hosts/)
    assert.match(pasted(every.stdout(), key.split('\n')[0]), /"stopReason":"end_turn"/)
  })
})

test('a DATABASE_URL that is not of PostgreSQL is said to be unused', async t => {
  const env = { DATABASE_URL: 'postgress://u:secret-word@127.0.0.1/x' }
  const { stdout } = await serve(t, { cwd: folder(t), env })
  assert.match(
    stdout(),
    /sessions {2}\.turnwire \(DATABASE_URL is not used: it does not begin with postgres:/,
  )
  assert.doesNotMatch(stdout(), /secret-word/)
})

test('a database that is not used because a folder is named is said so', async t => {
  const env = { DATABASE_URL: 'postgres://u:secret-word@127.0.0.1:1/x' }
  const { stdout, stderr } = await serve(t, { cwd: folder(t), env, args: ['--data', 'own'] })
  assert.match(stdout(), /sessions {2}own \(DATABASE_URL is not used: --data, TURNWIRE_DATA or the config/)
  assert.match(stderr(), /shares nothing with other nodes/)
  assert.doesNotMatch(stdout() + stderr(), /secret-word/)
})

test('the settings of a node without a database are said to be of no use', async t => {
  const env = { TURNWIRE_CLUSTER_SECRET: 'a secret of more than thirty-two characters' }
  const { stderr } = await serve(t, { cwd: folder(t), env })
  assert.match(stderr(), /its sessions are not in PostgreSQL: it shares nothing/)
})

test('a relay without agents says how to attach one, and the line to try works', async t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.mjs'), "export default { agents: [], relay: { owners: '*' } }\n")
  const { url, stdout } = await serve(t, { cwd })
  assert.ok(stdout().includes(`agents    none of its own; attach one: turnwire attach ${url}`), stdout())
  const [, line = ''] = /^ {2}curl -s (\S+)$/m.exec(stdout()) ?? []
  assert.deepEqual(await (await fetch(line)).json(), { providers: [] })
})

test('a route that a setting would open says so', async t => {
  const { url } = await serve(t, { cwd: folder(t) })
  for (const [path, words] of [
    ['/mcp/helper', /if its configuration has serveMcp/],
    ['/acp', /server\.acp/],
    ['/auth/challenge', /has relay/],
    ['/nothing', /GET \/ lists what there is/],
  ] as const) {
    const answer = await fetch(url + path)
    assert.equal(answer.status, 404)
    assert.match(await answer.text(), words)
  }
  const attached = turnwire(['attach', url], { cwd: folder(t) })
  assert.equal(attached.code, 1)
  assert.match(
    attached.stderr,
    /There is nothing at GET \/auth\/challenge\. This is served if the configuration has relay\./,
  )
})

const manyTools = `import { defineConfig, rehearsal, tool } from 'turnwire'
const named = (_, index) =>
  tool({ name: 'tool_' + index, description: 'Does it.', input: { type: 'object' }, trust: 'trusted', run: () => '' })
export default defineConfig({
  agents: [{ name: 'many', model: rehearsal(), tools: Array.from({ length: 500 }, named) }],
})
`

test('the line to try names a few tools, however many there are', async t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.mjs'), manyTools)
  const { stdout } = await serve(t, { cwd })
  const { agent } = JSON.parse(printedRequest(stdout()).body)
  assert.deepEqual(
    agent.tools,
    Array.from({ length: 8 }, (_, index) => ({ name: `tool_${index}`, trust: true })),
  )
})

test('the data folder is the one that was given', async t => {
  const cwd = folder(t)
  await serve(t, { cwd, env: { TURNWIRE_DATA: 'by-env' } })
  assert.ok(existsSync(join(cwd, 'by-env/sessions.db')))
  const { stdout } = await serve(t, { cwd, env: { TURNWIRE_DATA: 'by-env' }, args: ['--data', 'by-flag'] })
  assert.ok(existsSync(join(cwd, 'by-flag/sessions.db')))
  assert.match(stdout(), /sessions {2}by-flag/)
  assert.equal(existsSync(join(cwd, '.turnwire')), false)
})

test('SIGINT stops it as SIGTERM does, with open streams too', async t => {
  const { url, child, exit } = await serve(t, { cwd: folder(t) })
  const client = new AapClient({ baseUrl: url })
  const id = await client.createSession({ agent: { name: 'helper' } })
  const log = client.watch(id, { attempts: 0 })
  assert.equal((await log.next()).done, false)
  child.kill('SIGINT')
  assert.equal(await exit, 0)
})

const hanging = `import { defineConfig, scripted, tool } from 'turnwire'
export default defineConfig({
  agents: [{
    name: 'slow',
    model: scripted([{ calls: [{ name: 'wait' }] }]),
    tools: [tool({ name: 'wait', description: 'Waits.', input: { type: 'object' }, trust: 'trusted', run: () => new Promise(() => {}) })],
  }],
  server: { graceMs: 600_000 },
})
`

test('a second signal does not wait for a tool that never ends', async t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.mts'), hanging)
  const { url, child, exit, stderr } = await serve(t, { cwd })
  const client = new AapClient({ baseUrl: url })
  const id = await client.createSession({ agent: { name: 'slow', tools: [{ name: 'wait', trust: true }] } })
  void client.sendTurn(id, { messages: [{ role: 'user', content: 'Go' }] }).catch(() => {})
  for await (const watched of client.watch(id))
    if ('seq' in watched && watched.event.type === 'call.started') break
  child.kill('SIGTERM')
  while (!stderr().includes('Stopping')) await new Promise(resolve => setTimeout(resolve, 20))
  child.kill('SIGTERM')
  assert.equal(await exit, 130)
  const after = turnwire(['sessions', 'list'], { cwd })
  assert.match(after.stdout, new RegExp(`${id} +running`))
})

describe('an error at the start is one line', () => {
  test('a port that is taken', async t => {
    const { url } = await serve(t, { cwd: folder(t) })
    const { port } = new URL(url)
    const { code, stderr } = turnwire(['serve', '--port', port], { cwd: folder(t) })
    assert.equal(code, 1)
    assert.equal(
      stderr,
      `Port ${port} is taken. Choose another with --port <n> or PORT=<n>; 0 is any free one.\n`,
    )
  })

  test('PORT that is no port', t => {
    const { code, stderr } = turnwire(['serve'], { cwd: folder(t), env: { PORT: 'http' } })
    assert.deepEqual(
      [code, stderr],
      [2, 'PORT must be a number from 0 (any free port) to 65535, not "http".\n'],
    )
  })

  test('open to everyone', t => {
    const { code, stderr } = turnwire(['serve', '--host', '0.0.0.0'], { cwd: folder(t), env: { PORT: '0' } })
    assert.equal(code, 1)
    assert.equal(
      stderr,
      'The server would be open to everyone on 0.0.0.0. Make a key first: turnwire keys add <name>, or give its hash in TURNWIRE_KEYS. Or listen on 127.0.0.1.\n',
    )
  })
})

describe('memory', () => {
  /** Tells how large the young generation is, fills it with objects that live for a while, and tells it again. */
  const probe = `import v8 from 'node:v8'
    const young = () => v8.getHeapSpaceStatistics().find(space => space.space_name === 'new_space').space_size
    process.on('message', () => {
      const before = young()
      for (let round = 0; round < 50; round++) Array.from({ length: 100_000 }, (_, at) => ({ at }))
      process.send({ before, after: young() })
    })`

  test('the young generation stays small while modules are loaded, and grows when there is work', async t => {
    const args = ['serve', '--data', folder(t), '--port', '0']
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(probe)}`]
    const child = spawn(process.execPath, [...flags, join(root, 'bin/turnwire.mjs'), ...args], {
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
      cwd: folder(t),
    })
    t.after(() => child.kill('SIGKILL'))
    await once(child.stdout!, 'data')
    const told = once(child, 'message')
    child.send('now')
    const [{ before, after }] = (await told) as [{ before: number; after: number }] // As the probe sends it.
    assert.ok(before <= 4 * 1024 * 1024, `${before} bytes when it had started`)
    assert.ok(after > before, `${before} bytes, and ${after} after work`)
  })
})
