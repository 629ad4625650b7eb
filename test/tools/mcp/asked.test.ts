// What a server asks of us while a call runs, and what it may not: answers of the model within their limits, questions that reach
// no other session, and its log.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { describe, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { serve } from '@hono/node-server'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import type { TurnwireConfig } from '../../../src/config/config.ts'
import type { McpServerConfig } from '../../../src/config/mcp-config.ts'
import type { Model } from '../../../src/engine/ports/index.ts'
import { scripted, Turnwire } from '../../../src/index.ts'
import { joinText } from '../../../src/language/content.ts'
import { tempFolder } from '../../temp-folder.ts'

const program = fileURLToPath(new URL('asking-server.ts', import.meta.url))

type Opened = { turnwire: Turnwire; logged: string[]; sampled: () => number; told: () => string }

/** The model calls the tool with each of these, one after another. `together`: how many calls the server waits for. */
async function open(
  t: TestContext,
  server: Partial<McpServerConfig>,
  wanted: (string | undefined)[],
  { together = 1, ...more }: Partial<TurnwireConfig> & { together?: number } = {},
): Promise<Opened> {
  const home = tempFolder(t, 'turnwire-asked-')
  const file = join(home, 'told')
  const calls = wanted.map(each => ({
    calls: [{ name: 'hand__do', input: each === undefined ? {} : { wanted: each } }],
  }))
  const played = scripted([...calls, { text: 'Done.' }])
  let sampled = 0
  const model: Model = {
    ...played,
    respond: async (request, watch, signal) => {
      if (request.tools.length > 0) return played.respond(request, watch, signal)
      sampled += 1
      return { parts: [{ type: 'text', text: 'hi there' }], stop: 'end', usage: { input: 30, output: 20 } }
    },
  }
  const logged: string[] = []
  const hand = {
    command: process.execPath,
    args: [program, String(together), file],
    trust: 'trusted',
    ...server,
  }
  const turnwire = await Turnwire.open(
    { agents: [{ name: 'desk', model }], mcp: { hand: hand as McpServerConfig }, data: 'memory', ...more },
    {
      log: (level, message, fields) =>
        void logged.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    },
  )
  t.after(() => turnwire.close())
  return { turnwire, logged, sampled: () => sampled, told: () => readFileSync(file, 'utf8') }
}

async function textsOf(session: Awaited<ReturnType<Turnwire['session']>>): Promise<string[]> {
  const results = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  return results.map(({ outcome }) => joinText(outcome.parts))
}

describe('an answer of the model (sampling)', () => {
  test('is not offered unless the operator says so, and refused if it is asked for all the same', async t => {
    const { turnwire, told, sampled } = await open(t, {}, ['sample'])
    const session = await turnwire.session('desk')
    await session.send('go')
    assert.doesNotMatch(told(), /sampling/)
    assert.match((await textsOf(session))[0] ?? '', /"code":-32601/)
    assert.equal(sampled(), 0)
  })

  test('is given as often as the operator allows in one call, and without tools of the server', async t => {
    const wanted = ['sample-twice', 'sample-with-tools', 'sample']
    const { turnwire, told, sampled } = await open(t, { sampling: { perCall: 1 } }, wanted)
    const session = await turnwire.session('desk')
    await session.send('go')
    assert.match(told(), /"sampling":\{\}/)
    const [twice, withTools, third] = await textsOf(session)
    assert.equal(twice?.split('"text":"hi there"').length, 2, twice)
    assert.match(twice ?? '', /at most 1 answers of a model/)
    assert.match(withTools ?? '', /"code":-?\d+/)
    // The limit is for one call: another one has its own.
    assert.match(third ?? '', /"text":"hi there"/)
    assert.equal(sampled(), 2)
  })

  test('counts to the tokens of the turn, which end it', async t => {
    const wanted = ['sample', 'sample', 'sample']
    const { turnwire, sampled } = await open(t, { sampling: {} }, wanted, { limits: { tokens: 60 } })
    const session = await turnwire.session('desk')
    const reply = await session.send('go')
    assert.equal(reply.status === 'done' && reply.stop, 'limit')
    assert.equal(sampled(), 2)
  })
})

describe('a question to a person', () => {
  test('goes to the session whose call it came in', async t => {
    const { turnwire } = await open(t, {}, ['ask'])
    const session = await turnwire.session('desk')
    const reply = await session.send('go')
    const [pending] = reply.status === 'waiting' ? reply.pending : []
    assert.ok(pending?.needs === 'answer')
    const content = { name: 'Ada' }
    await session.answer({ answers: [{ question: pending.question.id, action: 'accept', content }] })
    assert.match((await textsOf(session))[0] ?? '', /"name":"Ada"/)
  })

  test('of a server that two sessions use at once is cancelled if it cannot be told whose it is', async t => {
    const { turnwire, logged } = await open(t, {}, ['ask'], { together: 2 })
    const sessions = [await turnwire.session('desk'), await turnwire.session('desk', { owner: 'eve' })]
    const replies = await Promise.all(sessions.map(session => session.send('go')))
    assert.deepEqual(
      replies.map(({ status }) => status),
      ['done', 'done'],
    )
    for (const session of sessions) assert.deepEqual(await textsOf(session), ['{"action":"cancel"}'])
    assert.equal(logged.filter(line => /belongs to no call that can be named/.test(line)).length, 2)
  })
})

describe('the log of a server', () => {
  const lines = (logged: readonly string[]): string[] =>
    logged.filter(line => line.includes('An MCP server sent a log message.'))

  test('of 2025-11-25 is asked for from a level on, and goes to the log of the operator', async t => {
    const { turnwire, logged, told } = await open(t, { logLevel: 'warning' }, [undefined])
    await (await turnwire.session('desk')).send('go')
    assert.match(told(), /^level warning$/m)
    const found = lines(logged)
    assert.match(
      found.join('\n'),
      /^error .*"server":"hand","level":"error","text":"error of a call","logger":"hand"/m,
    )
    assert.match(found.join('\n'), /^warn .*"text":"warning of a call"/m)
  })

  for (const [logLevel, expected] of [
    ['warning', ['warning of a call', 'error of a call']],
    [undefined, []],
  ] as const)
    test(`of 2026-07-28 is asked for with each call (${logLevel ?? 'not wanted'})`, async t => {
      const http = serve({
        fetch: request => createMcpHandler(talkative).fetch(request),
        port: 0,
        hostname: '127.0.0.1',
      })
      t.after(() => http.close())
      if (!http.listening) await once(http, 'listening')
      const address = http.address()
      const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/mcp`
      const remote = { url, trust: 'trusted' as const, ...(logLevel && { logLevel }) }
      const { turnwire, logged } = await open(t, {}, [undefined], { mcp: { hand: remote } })
      assert.equal((await turnwire.servers())[0]?.protocolVersion, '2026-07-28')
      await (await turnwire.session('desk')).send('go')
      assert.deepEqual(
        lines(logged).map(line => /"text":"([^"]*)"/.exec(line)?.[1]),
        expected,
      )
    })
})

function talkative(): Server {
  const server = new Server({ name: 'talkative', version: '1' }, { capabilities: { tools: {}, logging: {} } })
  server.setRequestHandler('tools/list', () => ({
    tools: [{ name: 'do', inputSchema: { type: 'object' as const } }],
  }))
  server.setRequestHandler('tools/call', async (_, { mcpReq }) => {
    for (const level of ['debug', 'warning', 'error'] as const) await mcpReq.log(level, `${level} of a call`)
    return { content: [{ type: 'text' as const, text: 'done' }] }
  })
  return server
}
