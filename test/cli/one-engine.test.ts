// One data folder, one engine, with real processes: what is started over HTTP is seen and answered by a chat, an editor and
// a program beside the server, nothing is stale and nothing is refused.
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { AapClient } from '../../src/client/index.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { scripted, Turnwire } from '../../src/index.ts'
import { folder, type Served, serve, start, turnwire } from './rig.ts'

/** A mail that waits for a permission; `slow` hangs in its first step until the file `go` is there. */
const config = `import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { defineConfig, scripted, tool } from 'turnwire'
const mail = tool({
  name: 'mail', description: 'Mails.', input: { type: 'object' }, run: () => 'The mail is sent.',
})
const last = history => history.at(-1).role
const slow = {
  id: 'slow',
  async respond(request, watch, signal) {
    watch({ type: 'text', text: 'Let me ' })
    writeFileSync('asked', '')
    while (!existsSync('go')) await setTimeout(20, undefined, { signal })
    return { parts: [{ type: 'text', text: 'Let me think. Done.' }], stop: 'end' }
  },
}
export default defineConfig({
  agents: [
    {
      name: 'mailer',
      model: scripted(({ history }) => (last(history) === 'user' ? { calls: [{ name: 'mail' }] } : { text: 'Done.' })),
      tools: [mail],
    },
    { name: 'slow', model: slow },
  ],
})
`

function place(t: TestContext): string {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.mts'), config)
  return cwd
}

/** A watcher over HTTP: `until` resolves once it has seen so many events of a type. */
function watching(t: TestContext, client: AapClient, id: string) {
  const seen: string[] = []
  const stop = new AbortController()
  const until = async (type: string, count = 1): Promise<void> => {
    while (seen.filter(each => each === type).length < count) await pause(10)
  }
  const done = (async () => {
    for await (const item of client.watch(id, { signal: stop.signal }))
      if ('seq' in item) seen.push(item.event.type)
  })().catch(() => {})
  t.after(async () => {
    stop.abort()
    await done
  })
  return { until }
}

/** A message whose call then waits. */
async function say(client: AapClient, sessionId: string, text: string): Promise<void> {
  const { stopReason, pending } = await client.runTurn({ sessionId, text })
  assert.deepEqual([stopReason, pending.map(call => call.name)], ['tool_use', ['mail']])
}

async function waitingCall(t: TestContext, { url }: Served) {
  const client = new AapClient({ baseUrl: url })
  const sessionId = await client.createSession({ agent: { name: 'mailer', tools: [{ name: 'mail' }] } })
  await say(client, sessionId, 'Mail Ana')
  return { client, sessionId, watcher: watching(t, client, sessionId) }
}

/** The flow of every test below: a call waits over HTTP, `approve` lets it run elsewhere, and HTTP goes on. */
async function approvedElsewhere(t: TestContext, approve: (cwd: string, sessionId: string) => Promise<void>) {
  const cwd = place(t)
  const { client, sessionId, watcher } = await waitingCall(t, await serve(t, { cwd }))
  await watcher.until('approval.requested')
  await approve(cwd, sessionId)
  await watcher.until('turn.ended')
  assert.match(JSON.stringify(await client.getHistory(sessionId)), /The mail is sent\..*Done\./)
  await say(client, sessionId, 'And another')
  await watcher.until('approval.requested', 2)
}

type Frame = {
  id?: number
  method?: string
  params?: Record<string, unknown>
  result?: unknown
  error?: unknown
}

/** An editor: `turnwire acp` as a process, and a client that allows every call that it is asked about. */
async function editor(t: TestContext, cwd: string) {
  const { child, stderr } = start(t, ['acp'], { cwd })
  const frames: Frame[] = []
  let rest = ''
  child.stdout?.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) frames.push(JSON.parse(line) as Frame) // Nothing else is on its standard output.
  })
  const write = (frame: object): void =>
    void child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`)
  const until = async (find: (frame: Frame) => boolean): Promise<Frame> => {
    for (let waited = 0; waited < 30_000; waited += 10) {
      const found = frames.find(find)
      if (found) return found
      await pause(10)
    }
    return assert.fail(`${JSON.stringify(frames)}\n${stderr()}`)
  }
  let last = 0
  const request = async (method: string, params: object): Promise<unknown> => {
    last += 1
    const id = last
    write({ id, method, params })
    const { result, error } = await until(frame => frame.id === id && frame.method === undefined)
    assert.equal(error, undefined)
    return result
  }
  const allowed = new Set<number | undefined>()
  const allow = async (): Promise<void> => {
    const { id } = await until(
      frame => frame.method === 'session/request_permission' && !allowed.has(frame.id),
    )
    allowed.add(id)
    write({ id, result: { outcome: { outcome: 'selected', optionId: 'allow' } } })
  }
  const said = (): string => JSON.stringify(frames.filter(frame => frame.method === 'session/update'))
  await request('initialize', { protocolVersion: 1 })
  return { request, allow, said, until }
}

describe('a call that waits over HTTP is approved', () => {
  test('in an editor', async t => {
    await approvedElsewhere(t, async (cwd, sessionId) => {
      const { request, allow, until } = await editor(t, cwd)
      await request('session/load', { sessionId, cwd, mcpServers: [] })
      await allow()
      await until(frame => JSON.stringify(frame).includes('Done.'))
    })
  })

  test('by a program beside the server', async t => {
    await approvedElsewhere(t, async (cwd, id) => {
      const beside = await Turnwire.open({
        agents: [{ name: 'mailer', model: scripted([]) }],
        data: join(cwd, '.turnwire'),
      })
      const session = await beside.resume(id)
      const [call] = await session.pending()
      const reply = await session.approve(call!.callId, { by: 'maria' })
      assert.deepEqual(reply, { status: 'done', text: 'Done.', stop: 'end' })
      await beside.close()
    })
  })

  test('in a chat in the same folder', async t => {
    await approvedElsewhere(t, async (cwd, id) => {
      const chat = start(t, ['chat', '--session', id], { cwd })
      chat.child.stdin?.end('y\n')
      assert.equal(await chat.exit, 0, chat.stderr())
      assert.match(chat.stdout(), /✓ mail {2}The mail is sent\.[\s\S]*Done\./)
    })
  })
})

test('sessions are listed, shown and deleted through the server that has them', async t => {
  const cwd = place(t)
  const { client, sessionId } = await waitingCall(t, await serve(t, { cwd }))
  assert.match(turnwire(['sessions'], { cwd }).stdout, new RegExp(`${sessionId} +waiting`))
  assert.match(turnwire(['sessions', 'show', sessionId], { cwd }).stdout, /asks {3}mail/)
  assert.match(turnwire(['sessions', 'delete', sessionId], { cwd }).stdout, /is deleted/)
  await assert.rejects(client.getSession(sessionId), { code: 'session_not_found' })
})

test('a second server on the folder is refused, and the first goes on', async t => {
  const cwd = place(t)
  const { child, url } = await serve(t, { cwd })
  const second = turnwire(['serve'], { cwd, env: { PORT: '0' } })
  assert.deepEqual(
    [second.code, second.stderr],
    [
      1,
      `A server (process ${child.pid}) has the data folder ${join(cwd, '.turnwire')}. Stop it, or serve another folder with --data <folder>.\n`,
    ],
  )
  assert.equal((await fetch(`${url}/health`)).status, 200)
})

test('a server takes the folder from a program in the middle of a turn, which only pauses', async t => {
  const cwd = place(t)
  const loaded = await loadConfig(join(cwd, 'turnwire.config.mts'))
  const before = process.cwd()
  process.chdir(cwd)
  t.after(() => process.chdir(before))
  const program = await Turnwire.open({ ...loaded, data: join(cwd, '.turnwire') })
  t.after(() => program.close())
  const session = await program.session('slow')
  let text = ''
  let ended = false
  const reading = (async () => {
    for await (const item of session.send('Think')) {
      if (item.type === 'text') text += item.text
      if (item.type === 'end') ended = true
    }
  })()
  while (!existsSync(join(cwd, 'asked'))) await pause(10)
  const { url } = await serve(t, { cwd })
  writeFileSync(join(cwd, 'go'), '')
  await reading
  assert.deepEqual([text, ended], ['Let me think. Done.', true])
  const client = new AapClient({ baseUrl: url })
  assert.match(JSON.stringify(await client.getHistory(session.id)), /Let me think\. Done\./)
})

test('a chat goes on when a server takes its folder', async t => {
  const cwd = place(t)
  const chat = start(t, ['chat'], { cwd })
  chat.child.stdin?.write('Mail Ana\n')
  await chat.until(/mail wants to run[\s\S]*Allow it\?/)
  const { url } = await serve(t, { cwd })
  chat.child.stdin?.end('y\n')
  assert.equal(await chat.exit, 0, chat.stderr())
  const [, id] = /--session (sess_\w+)/.exec(chat.stdout()) ?? assert.fail(chat.stdout())
  assert.match(chat.stdout(), /✓ mail {2}The mail is sent\.[\s\S]*Done\./)
  const client = new AapClient({ baseUrl: url })
  assert.match(JSON.stringify(await client.getHistory(id!)), /The mail is sent\..*Done\./)
})

test('an editor goes on when a server takes its folder, and when the server is gone', async t => {
  const cwd = place(t)
  const { request, allow, said } = await editor(t, cwd)
  const { sessionId } = (await request('session/new', { cwd, mcpServers: [] })) as { sessionId: string } // Its result.
  const prompt = (text: string): Promise<unknown> =>
    request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })
  const first = prompt('Mail Ana')
  const served = await serve(t, { cwd })
  await allow()
  assert.deepEqual(await first, { stopReason: 'end_turn' })
  assert.match(said(), /Done\./)
  const client = new AapClient({ baseUrl: served.url })
  assert.match(JSON.stringify(await client.getHistory(sessionId)), /The mail is sent\./)
  served.child.kill('SIGTERM')
  await served.exit
  const second = prompt('Mail Bob')
  await allow()
  assert.deepEqual(await second, { stopReason: 'end_turn' })
})

test('a program goes on by itself when the server is killed, and with the next server', async t => {
  const cwd = place(t)
  const first = await serve(t, { cwd })
  const { sessionId } = await waitingCall(t, first)
  const loaded = await loadConfig(join(cwd, 'turnwire.config.mts'))
  const program = await Turnwire.open({ ...loaded, data: join(cwd, '.turnwire') })
  t.after(() => program.close())
  const session = await program.resume(sessionId)
  first.child.kill('SIGKILL')
  await first.exit
  const [call] = await session.pending()
  assert.equal((await session.approve(call!.callId)).text, 'Done.')
  const second = await serve(t, { cwd })
  const client = new AapClient({ baseUrl: second.url })
  assert.match(JSON.stringify(await client.getHistory(sessionId)), /The mail is sent\./)
  assert.equal((await session.send('More')).status, 'waiting')
  assert.equal((await client.getSession(sessionId)).sessionId, sessionId)
})
