// MCP with the reference server, over stdio and over HTTP.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Progress, Tool, ToolContext } from '../../../src/engine/index.ts'
import { joinText } from '../../../src/language/content.ts'
import type { Json } from '../../../src/lib/json/index.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { type McpConnection, type McpOptions, mcpServer } from '../../../src/tools/mcp/index.ts'
import { freePort } from '../../free-port.ts'

const entry = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

async function start(context: TestContext, options: McpOptions = {}): Promise<McpConnection> {
  const server = await mcpServer({ name: 'all', command: process.execPath, args: [entry, 'stdio'] }, options)
  context.after(() => server.close())
  return server
}

function toolOf(server: McpConnection, name: string): Tool {
  const tool = server.tools.find(each => each.name === `all__${name}`)
  assert.ok(tool, `${name} is offered`)
  return tool
}

function contextOf(progress: (update: Progress) => void = () => {}): ToolContext {
  return contextFor({ progress })
}

async function run(server: McpConnection, name: string, input: Json, progress?: (update: Progress) => void) {
  return toolOf(server, name).run(input, contextOf(progress))
}

describe('over stdio', () => {
  test('tools are listed and called, and return text, data and images', async context => {
    const server = await start(context)
    assert.deepEqual(server.warnings, [])
    assert.equal(joinText((await run(server, 'echo', { message: 'hi' })).parts), 'Echo: hi')
    assert.deepEqual((await run(server, 'get-structured-content', { location: 'Chicago' })).structured, {
      temperature: 36,
      conditions: 'Light rain / drizzle',
      humidity: 82,
    })
    const image = (await run(server, 'get-tiny-image', {})).parts.find(part => part.type === 'image')
    assert.match(image?.url ?? '', /^data:image\/png;base64,/)
  })

  test('progress is reported while the call runs', async context => {
    const server = await start(context)
    const updates: Progress[] = []
    await run(server, 'trigger-long-running-operation', { duration: 0.2, steps: 2 }, update =>
      updates.push(update),
    )
    // The last update may arrive after the result, and is then dropped.
    assert.ok(updates.length > 0 && updates.length <= 2)
    assert.deepEqual(
      updates,
      updates.map((_, index) => ({ done: index + 1, total: 2 })),
    )
  })

  test('the environment is not passed to the server', async context => {
    process.env['TURNWIRE_TEST_CANARY'] = 'canary-value'
    context.after(() => delete process.env['TURNWIRE_TEST_CANARY'])
    const server = await start(context)
    const shown = joinText((await run(server, 'get-env', {})).parts)
    assert.ok(shown.includes('PATH') && !shown.includes('canary'))
  })

  test('a question to the person is passed on with the id of its call', async context => {
    const asked: unknown[] = []
    const server = await start(context, {
      elicit: async (question, { callId }) => {
        asked.push([question.mode ?? 'form', callId])
        return { action: 'decline' }
      },
    })
    const { parts } = await run(server, 'trigger-elicitation-request', {})
    assert.deepEqual(asked, [['form', 'call-1']])
    assert.match(joinText(parts), /declined/i)
  })

  test('a server is not offered elicitation where nobody can be asked', async context => {
    const server = await start(context, { elicitModes: [] })
    assert.ok(!server.tools.some(tool => tool.name.includes('elicitation')))
  })
})

describe('over HTTP', () => {
  test('T-16 many clients with the same ids each get their own answers', async context => {
    const url = await serve(context)
    const servers = await Promise.all(
      Array.from({ length: 12 }, () => mcpServer({ name: 'all', url }, { connectTimeoutMs: 20_000 })),
    )
    context.after(() => Promise.all(servers.map(server => server.close())))
    const answers = await Promise.all(
      servers.flatMap((server, who) =>
        ['a', 'b', 'c'].map(async letter => {
          const { parts } = await run(server, 'echo', { message: `canary-${who}-${letter}` })
          return [`Echo: canary-${who}-${letter}`, joinText(parts)]
        }),
      ),
    )
    for (const [expected, given] of answers) assert.equal(given, expected)
    assert.equal(answers.length, 36)
  })

  test('a server that was restarted has forgotten the session: it is initialised again, and the call goes through', async context => {
    const port = await freePort()
    const first = await startAt(context, port)
    const server = await mcpServer({ name: 'all', url: `http://127.0.0.1:${port}/mcp` })
    context.after(() => server.close())
    assert.equal(joinText((await run(server, 'echo', { message: 'before' })).parts), 'Echo: before')
    const ended = new Promise(resolve => first.once('exit', resolve))
    first.kill('SIGKILL')
    await ended
    const down = run(server, 'echo', { message: 'down' })
    await assert.rejects(down)
    assert.match(toolOf(server, 'echo').unavailable ?? '', /./)
    await startAt(context, port)
    assert.equal(joinText((await run(server, 'echo', { message: 'after' })).parts), 'Echo: after')
    assert.equal(toolOf(server, 'echo').unavailable, undefined)
  })

  test('an unreachable server is reported by name', async () => {
    const port = await freePort()
    const spec = { name: 'gone', url: `http://127.0.0.1:${port}/mcp` }
    await assert.rejects(mcpServer(spec, { connectTimeoutMs: 5_000 }), {
      code: 'invalid_tool',
      message: /"gone"/,
    })
  })
})

async function serve(context: TestContext): Promise<string> {
  const port = await freePort()
  await startAt(context, port)
  return `http://127.0.0.1:${port}/mcp`
}

async function startAt(context: TestContext, port: number): Promise<ChildProcess> {
  const child: ChildProcess = spawn(process.execPath, [entry, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  context.after(() => child.kill())
  const ready = Promise.withResolvers<void>()
  child.stderr?.on('data', (chunk: Buffer) => {
    if (chunk.toString().includes('listening')) ready.resolve()
  })
  child.once('exit', code => ready.reject(new Error(`the server ended with ${code}`)))
  await ready.promise
  return child
}
