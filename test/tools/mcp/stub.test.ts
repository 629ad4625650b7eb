// MCP servers that misbehave. Nothing they do may crash us, answer the wrong call, or make a call run twice.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { InvalidInput, type Tool, type ToolContext } from '../../../src/engine/index.ts'
import { joinText } from '../../../src/language/content.ts'
import { toolHash } from '../../../src/language/tools.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { type McpConnection, type McpOptions, mcpServer } from '../../../src/tools/mcp/index.ts'

const stub = fileURLToPath(new URL('stub.ts', import.meta.url))

type Started = { server: McpConnection; logged: () => string[] }

async function start(context: TestContext, mode: string, options: McpOptions = {}): Promise<Started> {
  const log = join(mkdtempSync(join(tmpdir(), 'turnwire-mcp-')), 'calls')
  const spec = { name: 'stub', command: process.execPath, args: [stub, mode], env: { STUB_LOG: log } }
  const server = await mcpServer(spec, options)
  context.after(() => server.close())
  return {
    server,
    logged: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []),
  }
}

function contextOf(signal: AbortSignal = new AbortController().signal): ToolContext {
  return contextFor({ signal })
}

async function run(tool: Tool | undefined, signal?: AbortSignal): Promise<{ text: string; failed: boolean }> {
  assert.ok(tool, 'the tool is offered')
  const output = await tool.run({}, contextOf(signal))
  return { text: joinText(output.parts), failed: output.failed === true }
}

test('a result names its server as its source', async context => {
  const { server } = await start(context, 'plain')
  const output = await server.tools[0]!.run({}, contextOf())
  assert.deepEqual(output.sources, [{ uri: 'mcp://stub' }])
})

describe('the list of tools', () => {
  test('is read page by page, and ends at a repeated cursor', async context => {
    const { server } = await start(context, 'pages')
    assert.deepEqual(
      server.tools.map(tool => tool.name),
      ['stub__one', 'stub__two'],
    )
  })

  test('leaves out only the tools that cannot be offered', async context => {
    const { server } = await start(context, 'bad-tools')
    assert.deepEqual(
      server.tools.map(tool => tool.name),
      ['stub__one', 'stub__two'],
    )
    assert.equal(server.warnings.length, 8)
    assert.match(
      server.warnings.at(-1) ?? '',
      /^The tool two of .*: its input schema: "optional" is not a key/,
    )
    for (const name of ['union', 'remote', 'deep', 'none', 'number 6', 'misspelled', 'ahead'])
      assert.ok(
        server.warnings.some(words => words.includes(name)),
        `a warning names ${name}`,
      )
  })

  test('never gives two tools the same name', async context => {
    const { server } = await start(context, 'names')
    assert.equal(server.tools[0]?.description.split('\n')[0], 'the first')
    const names = server.tools.map(tool => tool.name)
    assert.equal(new Set(names).size, names.length)
    assert.equal(names.length, 3)
    for (const name of names) assert.match(name, /^[A-Za-z0-9_.-]{1,128}$/)
  })

  test('leaves out a tool whose name is taken', async context => {
    const { server } = await start(context, 'plain', { taken: ['stub__one'] })
    assert.deepEqual(server.tools, [])
    assert.match(server.warnings[0] ?? '', /taken by another tool/)
  })

  test('is trusted for hints only if the operator says so', async context => {
    const { server } = await start(context, 'hints')
    const trusted = await start(context, 'hints', { trustAnnotations: true })
    const [wary, believing] = [server.tools[0], trusted.server.tools[0]]
    assert.deepEqual(
      [wary?.readOnly, wary?.idempotent, wary?.trust, wary?.kind],
      [false, false, 'ask', 'read'],
    )
    assert.deepEqual([believing?.readOnly, believing?.idempotent, believing?.trust], [true, true, 'ask'])
  })
})

describe('a tool’s definition', () => {
  for (const mode of ['changes', 'hints'])
    test(`that changes with a notification makes another tool (${mode})`, async context => {
      const changed = Promise.withResolvers<readonly Tool[]>()
      const { server, logged } = await start(context, mode, { onTools: changed.resolve })
      const [before] = server.tools
      assert.equal((await run(before)).text, 'call 1')
      const [after] = await changed.promise
      assert.notEqual(toolHash(before!), toolHash(after!))
      await assert.rejects(run(before), InvalidInput)
      assert.equal(logged().length, 1)
      assert.equal((await run(after)).text, 'call 2')
    })

  test('that changes without a notification is noticed before the next call', async context => {
    const { server, logged } = await start(context, 'changes-silently', { refreshMs: -1 })
    const [before] = server.tools
    await run(before)
    await assert.rejects(run(before), InvalidInput)
    assert.equal(logged().length, 1)
    assert.equal((await run(server.tools[0])).text, 'call 2')
  })

  test('that does not change keeps the same object', async context => {
    const { server } = await start(context, 'plain', { refreshMs: -1 })
    const [before] = server.tools
    await run(before)
    await run(before)
    assert.equal(server.tools[0], before)
  })
})

describe('a call', () => {
  test('gets its own answer among invalid, foreign and repeated messages', async context => {
    const { server } = await start(context, 'noise')
    assert.deepEqual(await run(server.tools[0]), { text: 'call 1', failed: false })
    assert.deepEqual(await run(server.tools[0]), { text: 'call 2', failed: false })
  })

  test('fails if the server sends a line above the limit, and the connection ends', async context => {
    const { server, logged } = await start(context, 'long-line', { maxMessageBytes: 64 * 1024 })
    await assert.rejects(run(server.tools[0]), { name: 'Unanswered' })
    assert.equal(logged().length, 1)
  })

  test('that killed the server is not repeated, and the next call starts the server again', async context => {
    const { server, logged } = await start(context, 'dies')
    const [tool] = server.tools
    await assert.rejects(run(tool), { name: 'Unanswered' })
    assert.equal(logged().length, 1)
    await assert.rejects(run(tool), { name: 'Unanswered' })
    assert.equal(new Set(logged()).size, 2)
  })

  test('that failed gives a result and is not repeated', async context => {
    const { server, logged } = await start(context, 'fails')
    assert.deepEqual(await run(server.tools[0]), { text: 'no such row', failed: true })
    assert.equal(logged().length, 1)
  })

  test('that is aborted is cancelled on the server', async context => {
    const { server, logged } = await start(context, 'hangs')
    const controller = new AbortController()
    const running = run(server.tools[0], controller.signal)
    while (logged().length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    controller.abort(new Error('enough'))
    await assert.rejects(running)
    while (!logged().includes('cancelled')) await new Promise(resolve => setTimeout(resolve, 5))
  })

  test('returns links as text, and resources, sounds and data as parts', async context => {
    const { server } = await start(context, 'blocks')
    const output = await server.tools[0]!.run({}, contextOf())
    assert.deepEqual(output, {
      parts: [
        { type: 'text', text: '[meta](http://169.254.169.254/latest)' },
        { type: 'text', text: 'file:///a.txt:\ninside' },
        { type: 'file', url: 'data:audio/wav;base64,QUJD', mediaType: 'audio/wav' },
      ],
      structured: { ok: true },
      sources: [{ uri: 'mcp://stub' }],
    })
  })

  test('after close() is refused with the reason', async context => {
    const { server } = await start(context, 'plain')
    await server.close()
    await assert.rejects(run(server.tools[0]), /was disconnected/)
  })
})

describe('an invalid description of a server is refused', () => {
  const command = process.execPath
  for (const [words, spec, message] of [
    ['a command line', { name: 'a', command: 'sh -c "echo"' }, /one program, not a command line/],
    ['no command', { name: 'a', command: '' }, /needs a command/],
    [
      'a variable that loads code',
      { name: 'a', command, env: { NODE_OPTIONS: '--require x' } },
      /NODE_OPTIONS/,
    ],
    ['a linker variable', { name: 'a', command, env: { LD_PRELOAD: '/x.so' } }, /LD_PRELOAD/],
    ['a variable with a line break', { name: 'a', command, env: { 'A\nB': '1' } }, /no environment can hold/],
    ['a relative folder', { name: 'a', command, cwd: 'here' }, /absolute/],
    ['a folder that is not there', { name: 'a', command, cwd: '/nowhere/at/all' }, /does not exist/],
    ['a name with a blank', { name: 'a b', command }, /name must be/],
    // With them "a" and its tool "_b" would have the name of "a_" and its tool "b".
    ['a name that ends in "_"', { name: 'a_', command }, /must not end in "_" or have "__" in it/],
    ['a name with "__" in it', { name: 'a__b', command }, /must not end in "_" or have "__" in it/],
    ['a file URL', { name: 'a', url: 'file:///etc/passwd' }, /http or https/],
    ['credentials in the URL', { name: 'a', url: 'https://u:p@host/' }, /credentials/],
    [
      'a header with a line break',
      { name: 'a', url: 'https://host/', headers: { a: 'b\r\nc: d' } },
      /header/,
    ],
    ['an option among what describes it', { name: 'a', command, ...{ trust: 'deny' } }, /second argument/],
    [
      'a folder for a URL',
      { name: 'a', url: 'https://host/', ...{ cwd: '/' } },
      /has a url, so it cannot have "cwd"/,
    ],
    ['a misspelt setting', { name: 'a', command, ...{ argz: [] } }, /no setting "argz"/],
  ] as const)
    test(words, async () => {
      await assert.rejects(mcpServer(spec), { code: 'invalid_tool', message })
    })

  test('options that are misspelt or describe the server', async () => {
    const spec = { name: 'a', command }
    const cases: [object, RegExp][] = [
      [{ trsut: 'deny' }, /no option "trsut"/],
      [{ args: [] }, /first argument/],
    ]
    for (const [options, message] of cases)
      await assert.rejects(mcpServer(spec, options), { code: 'invalid_tool', message })
  })

  test('a program that does not exist', async () => {
    const spec = { name: 'gone', command: '/nowhere/at/all' }
    await assert.rejects(mcpServer(spec), { code: 'invalid_tool', message: /"gone" cannot be used/ })
  })

  test('a variable that the operator allows is passed on', async context => {
    const spec = {
      name: 'stub',
      command,
      args: [stub, 'plain'],
      env: { NODE_OPTIONS: '--no-warnings' },
    }
    const server = await mcpServer(spec, { allowEnv: ['NODE_OPTIONS'] })
    context.after(() => server.close())
    assert.equal(server.tools.length, 1)
  })
})
