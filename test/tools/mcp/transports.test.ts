// The older SSE transport, and how an error of the protocol and a failure of the tool are told apart.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import test, { type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { serve } from '@hono/node-server'
import { createMcpHandler, ProtocolError, Server } from '@modelcontextprotocol/server'
import { scripted, Turnwire } from '../../../src/index.ts'
import { joinText } from '../../../src/language/content.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { mcpServer } from '../../../src/tools/mcp/index.ts'
import { freePort } from '../../free-port.ts'

const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

async function startSse(t: TestContext): Promise<string> {
  const port = await freePort()
  const child: ChildProcess = spawn(process.execPath, [everything, 'sse'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill())
  const ready = Promise.withResolvers<void>()
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', chunk => {
      if (String(chunk).includes(String(port))) ready.resolve()
    })
  await ready.promise
  return `http://127.0.0.1:${port}/sse`
}

test('a server that has only the older SSE transport is used over it', async t => {
  const server = await mcpServer({ name: 'old', url: await startSse(t) })
  t.after(() => server.close())
  assert.equal(server.info.transport, 'sse')
  const echo = server.tools.find(({ name }) => name === 'old__echo')
  const result = await echo?.run({ message: 'hi' }, contextFor())
  assert.equal(joinText(result?.parts ?? []), 'Echo: hi')
})

/** Its tool `fails` gives a result that says so; `breaks` is refused by the protocol. */
function failing(): Server {
  const server = new Server({ name: 'failing', version: '1' }, { capabilities: { tools: {} } })
  const tool = (name: string) => ({ name, description: name, inputSchema: { type: 'object' as const } })
  server.setRequestHandler('tools/list', () => ({ tools: [tool('fails'), tool('breaks')] }))
  server.setRequestHandler('tools/call', ({ params: { name } }) => {
    if (name === 'breaks') throw new ProtocolError(-32603, 'out of order')
    return { content: [{ type: 'text' as const, text: 'no paper' }], isError: true }
  })
  return server
}

test('an error of the protocol and a failure of the tool are told apart by the model and in the log', async t => {
  const http = serve({
    fetch: request => createMcpHandler(failing).fetch(request),
    port: 0,
    hostname: '127.0.0.1',
  })
  t.after(() => http.close())
  if (!http.listening) await once(http, 'listening')
  const address = http.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const turnwire = await Turnwire.open(
    {
      agents: [
        {
          name: 'desk',
          model: scripted([
            {
              calls: [
                { name: 'bad__fails', input: {} },
                { name: 'bad__breaks', input: {} },
              ],
            },
            { text: 'Done.' },
          ]),
        },
      ],
      mcp: { bad: { url: `http://127.0.0.1:${port}/mcp`, trust: 'trusted' } },
      data: 'memory',
    },
    { log: () => {} },
  )
  t.after(() => turnwire.close())
  const [info] = await turnwire.servers()
  assert.equal(info?.protocolVersion, '2026-07-28')
  const session = await turnwire.session('desk')
  await session.send('go')
  const results = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  const [fails, breaks] = results.map(({ outcome }) => outcome)
  assert.deepEqual([fails?.kind, fails?.from], ['error', { source: 'tool', tool: 'bad__fails' }])
  assert.equal(joinText(fails?.parts ?? []), 'no paper')
  assert.deepEqual(
    [breaks?.kind, breaks?.from],
    ['error', { source: 'tool', tool: 'bad__breaks', protocolError: -32603 }],
  )
  assert.match(joinText(breaks?.parts ?? []), /protocol error -32603: out of order/)
})

/** A server of 2026-07-28 whose tools are named by `names`. */
async function changing(t: TestContext, names: string[]) {
  const made = (): Server => {
    const server = new Server(
      { name: 'changing', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    )
    const tool = (name: string) => ({ name, inputSchema: { type: 'object' as const } })
    server.setRequestHandler('tools/list', () => ({ tools: names.map(tool) }))
    server.setRequestHandler('tools/call', () => ({ content: [{ type: 'text' as const, text: 'done' }] }))
    return server
  }
  const handler = createMcpHandler(made)
  const http = serve({ fetch: request => handler.fetch(request), port: 0, hostname: '127.0.0.1' })
  t.after(() => http.close())
  if (!http.listening) await once(http, 'listening')
  const address = http.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/mcp`
  const server = await mcpServer({ name: 'far', url })
  t.after(() => server.close())
  assert.equal(server.info.protocolVersion, '2026-07-28')
  /** Ends the streams, as a server does that is started again, or a proxy. */
  const cut = (): void => {
    if ('closeAllConnections' in http) http.closeAllConnections()
  }
  const listed = async (count: number): Promise<string[]> => {
    while (server.tools.length !== count) await new Promise(resolve => setTimeout(resolve, 20))
    return server.tools.map(({ name }) => name)
  }
  return { notify: handler.notify, cut, listed, server }
}

test('changes of a server of 2026-07-28 are noticed when it tells them', async t => {
  const names = ['a']
  const { notify, listed } = await changing(t, names)
  names.push('b')
  notify.toolsChanged()
  assert.deepEqual(await listed(2), ['far__a', 'far__b'])
})

test('changes of a server of 2026-07-28 are noticed after the stream that tells them was cut', async t => {
  const names = ['a']
  const { notify, cut, listed, server } = await changing(t, names)
  names.push('b')
  cut()
  assert.deepEqual(await listed(2), ['far__a', 'far__b'])
  // The stream is there again.
  names.push('c')
  notify.toolsChanged()
  await listed(3)
  assert.equal(server.info.state, 'connected')
  assert.equal(joinText((await server.tools[0]!.run({}, contextFor())).parts), 'done')
})
