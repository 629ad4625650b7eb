// Calls that a server carries out as tasks, in both revisions, and calls that need an address to be opened first (-32042).
// The server is our own where it can be, so that both sides are shown together; a hand-written one where it cannot.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { describe, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { McpServerConfig } from '../../../src/config/mcp-config.ts'
import { scripted, startServer, Turnwire } from '../../../src/index.ts'
import { joinText } from '../../../src/language/content.ts'
import type { JsonObject } from '../../../src/lib/json/index.ts'
import { taskAfterMs, taskTools } from '../../wires/mcp/conformance/agent.ts'

const command = fileURLToPath(new URL('../../../bin/turnwire.mjs', import.meta.url))
const agents = fileURLToPath(new URL('../../wires/mcp/conformance/agent.ts', import.meta.url))
const library = new URL('../../../src/index.ts', import.meta.url).href
const hand = fileURLToPath(new URL('task-server.ts', import.meta.url))

const jobs = { tools: true, tasks: { afterMs: taskAfterMs, required: ['slow_compute', 'confirm_delete'] } }

/** Over HTTP the newest revision is spoken: the server decides what becomes a task. */
async function overHttp(t: TestContext): Promise<McpServerConfig> {
  const inner = await Turnwire.open(
    { agents: [{ name: 'jobs', model: scripted([]), tools: taskTools, serveMcp: jobs }], data: 'memory' },
    { log: () => {} },
  )
  const server = await startServer(inner, { port: 0 })
  t.after(async () => {
    await server.stop()
    await inner.close()
  })
  return { url: `${server.url}/mcp/jobs`, trust: 'trusted' }
}

/** Over a pipe the older revision is: a tool says that it must be called as a task. */
async function overPipe(t: TestContext): Promise<McpServerConfig> {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-tasks-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'turnwire.config.ts')
  writeFileSync(
    file,
    `import { defineConfig, scripted } from '${library}'
import { taskTools } from '${agents}'
export default defineConfig({ agents: [{ name: 'jobs', model: scripted([]), tools: taskTools, serveMcp: ${JSON.stringify(jobs)} }] })`,
  )
  const args = [command, 'mcp', '--config', file, '--data', join(folder, 'data')]
  return { command: process.execPath, args, trust: 'trusted' }
}

type Call = { name: string; input: JsonObject }

async function open(t: TestContext, server: McpServerConfig, calls: Call[]): Promise<Turnwire> {
  const turnwire = await Turnwire.open(
    {
      agents: [
        {
          name: 'desk',
          model: scripted([...calls.map(call => ({ calls: [call] })), { text: 'Done.' }]),
        },
      ],
      mcp: { jobs: server },
      data: 'memory',
    },
    { log: () => {} },
  )
  t.after(() => turnwire.close())
  return turnwire
}

async function outcomes(session: Awaited<ReturnType<Turnwire['session']>>) {
  const results = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  return results.map(({ outcome }) => ({ ...outcome, text: joinText(outcome.parts) }))
}

for (const [name, revision, start] of [
  ['over HTTP', '2026-07-28', overHttp],
  ['over a pipe', '2025-11-25', overPipe],
] as const)
  describe(`tasks ${name}, revision ${revision}`, () => {
    test('a call that becomes a task gives its result, and its failure is a failure', async t => {
      const turnwire = await open(t, await start(t), [
        { name: 'jobs__slow_compute', input: { seconds: 0.8, label: 'x' } },
        { name: 'jobs__failing_job', input: {} },
        { name: 'jobs__protocol_error_job', input: {} },
        { name: 'jobs__greet', input: { name: 'Ada' } },
      ])
      const [info] = await turnwire.servers()
      assert.equal(info?.protocolVersion, revision)
      const session = await turnwire.session('desk')
      await session.send('go')
      const [computed, failed, broke, greeted] = await outcomes(session)
      assert.deepEqual([computed?.kind, computed?.text], ['ok', 'Computed.'])
      assert.equal(failed?.kind, 'error')
      assert.match(failed?.text ?? '', /The job failed/)
      assert.equal(broke?.kind, 'error')
      assert.deepEqual([greeted?.kind, greeted?.text], ['ok', 'Hello, Ada!'])
      // A task that failed is an error of the protocol; in the older revision the call was no task.
      const code = broke?.from.source === 'tool' ? broke.from.protocolError : undefined
      assert.equal(code, revision === '2026-07-28' ? -32603 : undefined)
    })

    test('what a task asks is a durable question here, and its answer continues the task', async t => {
      const turnwire = await open(t, await start(t), [
        { name: 'jobs__confirm_delete', input: { filename: 'a.txt' } },
      ])
      const session = await turnwire.session('desk')
      const reply = await session.send('go')
      const [pending] = reply.status === 'waiting' ? reply.pending : []
      assert.ok(pending?.needs === 'answer', JSON.stringify(reply))
      assert.match(pending.question.message, /^The MCP server "jobs" asks: Delete a\.txt\?/)
      const answer = { question: pending.question.id, action: 'accept' as const, content: { confirm: true } }
      const rest = await session.answer({ answers: [answer] })
      assert.equal(rest.text, 'Done.')
      const [outcome] = await outcomes(session)
      assert.deepEqual([outcome?.kind, outcome?.text], ['ok', 'accept: a.txt'])
    })
  })

test('a call of several round trips asks durably, and may become a task after the answer', async t => {
  const turnwire = await open(t, await overHttp(t), [{ name: 'jobs__test_tool_with_task', input: {} }])
  const session = await turnwire.session('desk')
  const reply = await session.send('go')
  const [pending] = reply.status === 'waiting' ? reply.pending : []
  assert.ok(pending?.needs === 'answer', JSON.stringify(reply))
  assert.match(pending.question.message, /^The MCP server "jobs" asks: What is your name\?/)
  const answer = { question: pending.question.id, action: 'accept' as const, content: { name: 'Ada' } }
  await session.answer({ answers: [answer] })
  const [outcome] = await outcomes(session)
  assert.deepEqual([outcome?.kind, outcome?.text], ['ok', 'Hello, Ada.'])
})

/** A server of the older revision that writes what it is asked to a file. */
async function handWritten(t: TestContext, mode: string, calls: Call[]) {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-tasks-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const log = join(folder, 'log')
  const server: McpServerConfig = {
    command: process.execPath,
    args: [hand, mode],
    env: { LOG: log },
    trust: 'trusted',
    timeoutMs: 20_000,
  }
  const turnwire = await open(t, server, calls)
  return { turnwire, logged: () => readFileSync(log, 'utf8').trim().split('\n') }
}

test('a cancelled call cancels its task on the server', async t => {
  const { turnwire, logged } = await handWritten(t, 'endless', [{ name: 'jobs__work', input: {} }])
  const session = await turnwire.session('desk')
  const turn = session.send('go')
  while (!logged().includes('tasks/result')) await new Promise(resolve => setTimeout(resolve, 20))
  await session.cancel()
  await turn
  while (!logged().includes('tasks/cancel t1')) await new Promise(resolve => setTimeout(resolve, 20))
  const [outcome] = await outcomes(session)
  assert.equal(outcome?.kind, 'cancelled')
})

test('a call that is stopped alone cancels its task on the server, and the turn goes on', async t => {
  const { turnwire, logged } = await handWritten(t, 'endless', [{ name: 'jobs__work', input: {} }])
  const session = await turnwire.session('desk')
  const turn = session.send('go')
  const stopping = (async () => {
    for await (const item of turn)
      if (item.type === 'call') {
        while (!logged().includes('tasks/result')) await new Promise(resolve => setTimeout(resolve, 20))
        await session.cancelCall(item.callId)
      }
  })()
  const reply = await turn
  await stopping
  assert.equal(reply.status === 'done' && reply.stop, 'end')
  while (!logged().includes('tasks/cancel t1')) await new Promise(resolve => setTimeout(resolve, 20))
  const [outcome] = await outcomes(session)
  assert.equal(outcome?.kind, 'cancelled')
})

test('a task whose connection is lost is followed on the next one, and is not begun again', async t => {
  const { turnwire, logged } = await handWritten(t, 'dies', [{ name: 'jobs__work', input: {} }])
  const session = await turnwire.session('desk')
  await session.send('go')
  const [outcome] = await outcomes(session)
  assert.deepEqual([outcome?.kind, outcome?.text], ['ok', 'worked'])
  assert.equal(logged().filter(line => line === 'tools/call').length, 1)
  assert.equal(logged().filter(line => line === 'tasks/result').length, 2)
})

describe('a call that needs an address to be opened (-32042)', () => {
  const ask = async (t: TestContext, mode: string) => {
    const { turnwire, logged } = await handWritten(t, mode, [{ name: 'jobs__work', input: {} }])
    const session = await turnwire.session('desk')
    const reply = await session.send('go')
    const [pending] = reply.status === 'waiting' ? reply.pending : []
    assert.ok(pending?.needs === 'answer', JSON.stringify(reply))
    assert.equal(pending.question.url, 'https://pay.example/1')
    assert.match(pending.question.message, /^The MCP server "jobs" asks: Pay first\./)
    return { session, logged, question: pending.question.id }
  }

  for (const mode of ['url', 'url-silent'])
    test(`asks the person, and is sent again until the server lets it through (${mode})`, async t => {
      const { session, logged, question } = await ask(t, mode)
      await session.answer({ answers: [{ question, action: 'accept' }] })
      const [outcome] = await outcomes(session)
      assert.deepEqual([outcome?.kind, outcome?.text], ['ok', 'worked'])
      // Refused at first, refused while the person pays, let through.
      assert.equal(logged().filter(line => line === 'tools/call').length, 3)
    })

  test('asks about each of several addresses once, also if the server names all of them again', async t => {
    const { session, logged, question } = await ask(t, 'url-four')
    const opened = ['https://pay.example/1']
    for (let next: string | undefined = question; next !== undefined; ) {
      const reply = await session.answer({ answers: [{ question: next, action: 'accept' }] })
      const [pending] = reply.status === 'waiting' ? reply.pending : []
      next = pending?.needs === 'answer' ? pending.question.id : undefined
      if (pending?.needs === 'answer') opened.push(pending.question.url ?? '')
    }
    assert.deepEqual(
      opened,
      [1, 2, 3, 4].map(at => `https://pay.example/${at}`),
    )
    const [outcome] = await outcomes(session)
    assert.deepEqual([outcome?.kind, outcome?.text], ['ok', 'worked'])
    assert.equal(logged().filter(line => line === 'tools/call').length, 3)
  })

  test('fails with the error of the server if the person declines', async t => {
    const { session, question } = await ask(t, 'url')
    await session.answer({ answers: [{ question, action: 'decline' }] })
    const [outcome] = await outcomes(session)
    assert.equal(outcome?.kind, 'error')
    assert.equal(outcome?.from.source === 'tool' && outcome.from.protocolError, -32042)
  })
})
