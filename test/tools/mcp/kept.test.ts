// MCP servers of a configuration: started once with the process, stopped with it, connected again when they are lost, and
// no harm to the rest while they are down.
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { TurnwireConfig } from '../../../src/config/config.ts'
import { toolHash } from '../../../src/language/tools.ts'
import type { PendingCall, Reply } from '../../../src/library/reply.ts'
import { runtimeOf, Turnwire } from '../../../src/library/turnwire.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { folder, serve, turnwire } from '../../cli/rig.ts'

const stub = fileURLToPath(new URL('stub.ts', import.meta.url))
const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

/** A configuration file with these servers, beside a tool of its own. */
function configWith(cwd: string, mcp: object): void {
  writeFileSync(
    join(cwd, 'turnwire.config.mts'),
    `import { defineConfig, rehearsal, tool } from 'turnwire'
export default defineConfig({
  mcp: ${JSON.stringify(mcp)},
  agents: [{ name: 'a', model: rehearsal(), tools: [
    tool({ name: 'own', description: 'Mine.', input: { type: 'object' }, run: () => 'ok' }),
  ] }],
})\n`,
  )
}

async function toolsAt(url: string): Promise<{ name: string; description: string }[]> {
  const meta = (await (await fetch(`${url}/meta`)).json()) as {
    agents: { tools: { name: string; description: string }[] }[]
  }
  return meta.agents[0]?.tools ?? []
}

/** Asks again until it holds; the runner's own limit ends a wait that is in vain. */
async function until<Result>(look: () => Promise<Result | undefined | false>): Promise<Result> {
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    await sleep(50)
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('a server of the configuration', () => {
  test('is started once, serves its tools, and ends with the process on SIGTERM', async t => {
    const cwd = folder(t)
    const log = join(cwd, 'starts')
    const program = `require('fs').appendFileSync(${JSON.stringify(log)}, process.pid + '\\n'); import(${JSON.stringify(everything)})`
    configWith(cwd, { all: { command: process.execPath, args: ['-e', program, 'stdio'] } })
    const served = await serve(t, { cwd })
    assert.ok((await toolsAt(served.url)).some(tool => tool.name === 'all__echo'))
    // A command beside it uses the server's engine, and starts none.
    assert.equal(turnwire(['sessions', 'list'], { cwd }).code, 0)
    const started = readFileSync(log, 'utf8').trim().split('\n').map(Number)
    assert.equal(started.length, 1)
    served.child.kill('SIGTERM')
    assert.equal(await served.exit, 0)
    await until(async () => !isAlive(started[0]!))
  })

  test('that is down leaves the rest serving, and commands end', async t => {
    const cwd = folder(t)
    configWith(cwd, {
      gone: { command: '/nowhere/at/all' },
      far: { url: 'http://127.0.0.1:9/mcp' },
      stub: { type: 'stdio', command: process.execPath, args: [stub, 'plain'] },
    })
    assert.deepEqual(turnwire(['keys', 'list'], { cwd }).code, 0)
    const served = await serve(t, { cwd })
    assert.deepEqual(
      (await toolsAt(served.url)).map(tool => tool.name),
      ['own', 'stub__one'],
    )
    assert.match(
      served.stderr(),
      /"level":"error","message":"An MCP server cannot be used: its tools are unavailable\.","server":"gone"/,
    )
    assert.doesNotMatch(served.stderr(), /broke the protocol/)
    served.child.kill('SIGTERM')
    assert.equal(await served.exit, 0)
  })

  test('that is down is told to the person who chats, with what to do', t => {
    const cwd = folder(t)
    configWith(cwd, { gone: { command: '/nowhere/at/all' } })
    const words = /The program "\/nowhere\/at\/all" was not found\. Install it/
    assert.match(turnwire(['chat'], { cwd, input: '/quit\n' }).stdout, words)
    assert.match(turnwire(['chat', '-p', 'Hi'], { cwd }).stderr, words)
  })

  test('that the configuration starts by itself keeps no command alive', async t => {
    const cwd = folder(t)
    writeFileSync(
      join(cwd, 'turnwire.config.mts'),
      `import { defineConfig, mcpServer, rehearsal } from 'turnwire'
const { tools } = await mcpServer({ name: 'stub', command: process.execPath, args: [${JSON.stringify(stub)}, 'plain'] })
export default defineConfig({ agents: [{ name: 'a', model: rehearsal(), tools }] })\n`,
    )
    assert.equal(turnwire(['keys', 'list'], { cwd }).code, 0)
    const served = await serve(t, { cwd })
    served.child.kill('SIGTERM')
    assert.equal(await served.exit, 0)
  })

  test('that dies is marked, started again, and its tools come back', async t => {
    const cwd = folder(t)
    const pid = join(cwd, 'pid')
    const hold = join(cwd, 'hold')
    // It does not come back while the file is there.
    const program = `const fs = require('fs'); if (fs.existsSync(${JSON.stringify(hold)})) process.exit(1); fs.writeFileSync(${JSON.stringify(pid)}, String(process.pid)); import(${JSON.stringify(stub)})`
    configWith(cwd, { stub: { command: process.execPath, args: ['-e', program, 'plain'] } })
    const { url } = await serve(t, { cwd })
    writeFileSync(hold, '')
    process.kill(Number(readFileSync(pid, 'utf8')), 'SIGKILL')
    const marked = await until(async () =>
      (await toolsAt(url)).find(tool => tool.description.includes('[unavailable: ')),
    )
    assert.equal(marked.name, 'stub__one')
    rmSync(hold)
    await until(async () => (await toolsAt(url)).every(tool => !tool.description.includes('[unavailable: ')))
  })
})

async function opened(t: TestContext, config: TurnwireConfig): Promise<Turnwire> {
  const made = await Turnwire.open(config, { log: () => {} })
  t.after(() => made.close())
  return made
}

function pendingOf(reply: Reply): PendingCall[] {
  return reply.status === 'waiting' ? reply.pending : []
}

const calling = (name: string) => ({ calls: [{ name, input: {} }] })

test('a changed definition asks again and says what has changed, though the server is trusted', async t => {
  const log = join(folder(t), 'calls')
  const made = await opened(t, {
    mcp: {
      stub: {
        command: process.execPath,
        args: [stub, 'changes'],
        env: { STUB_LOG: log },
        trust: 'trusted',
      },
    },
    agents: [
      {
        name: 'a',
        model: scripted([calling('stub__one'), { text: 'one' }, calling('stub__one'), { text: 'two' }]),
      },
    ],
    data: 'memory',
  })
  const session = await made.session('a')
  assert.equal((await session.send('first')).text, 'one')
  // The list is read again after the notification that came with the result.
  await until(async () => {
    const { agents } = await runtimeOf(made).engine.describe()
    return agents[0]?.tools.some(tool => tool.description.startsWith('One, version 2.'))
  })
  const [before] = pendingOf(await session.send('second'))
  assert.equal(before?.tool, 'stub__one')
  assert.equal(
    before?.reason,
    'Its definition has changed: description was "One, version 1.", is "One, version 2.".',
  )
  assert.equal(readFileSync(log, 'utf8').trim().split('\n').length, 1)
  const reply = await session.approve(before!.callId)
  assert.equal(reply.text, 'two')
})

test('tools that two servers declare alike are different tools, and no mark of that is shown', async t => {
  const stubAt = (...where: string[]) => ({ command: process.execPath, args: [stub, 'plain', ...where] })
  const made = await opened(t, {
    mcp: { stub: stubAt() },
    agents: [{ name: 'a', model: scripted([]) }],
    data: 'memory',
  })
  const other = await opened(t, {
    mcp: { stub: stubAt('elsewhere') },
    agents: [{ name: 'a', model: scripted([]) }],
    data: 'memory',
  })
  const tools = await Promise.all(
    [made, other].map(async each => (await runtimeOf(each).engine.describe()).agents[0]!.tools[0]!),
  )
  assert.equal(tools[0]?.description, tools[1]?.description)
  assert.match(tools[0]?.description ?? '', /\n\[MCP server "stub"(?:; it calls the tool [\w ,-]+)?\]$/)
  assert.notEqual(toolHash(tools[0]!), toolHash(tools[1]!))
})

test('agents have the servers that they name', async t => {
  const server = { command: process.execPath, args: [stub, 'plain'] }
  const made = await opened(t, {
    mcp: { one: server, two: server },
    agents: [
      { name: 'all', model: scripted([calling('two__one'), { text: 'done' }]) },
      { name: 'some', model: scripted([calling('two__one'), { text: 'done' }]), mcpServers: ['one'] },
    ],
    data: 'memory',
  })
  const [waiting] = pendingOf(await (await made.session('all')).send('x'))
  assert.equal(waiting?.tool, 'two__one')
  const reply = await (await made.session('some')).send('x')
  assert.deepEqual([reply.status, reply.text], ['done', 'done'])
})
