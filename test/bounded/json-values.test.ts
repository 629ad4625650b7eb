// JSON that is small to send and large to build: refused on every wire, while the event loop stays free.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { assertFree, attacked, MiB, until } from './attack-rig.ts'
import { startEditor } from './editor-rig.ts'

const size = 19 * MiB
const many = {
  objects: `[${'{},'.repeat(size / 3)}{}]`,
  numbers: `[${'1,'.repeat(size / 2)}1]`,
  texts: `[${'"",'.repeat(size / 3)}""]`,
  lists: `[${'[],'.repeat(size / 3)}[]]`,
  keys: `{${Array.from({ length: 1_000_000 }, (_, n) => `"${n}":0`).join()}}`,
}

/** Where each wire takes anything at all. */
const wires: [path: string, wrap: (value: string) => string][] = [
  ['/sessions', value => `{"agent":{"name":"helper"},"messages":${value}}`],
  ['/v1/responses', value => `{"model":"helper","input":${value}}`],
  ['/v1/chat/completions', value => `{"model":"helper","messages":${value}}`],
  ['/v1/messages', value => `{"model":"helper","max_tokens":1,"messages":${value}}`],
  ['/v1beta/models/helper:generateContent', value => `{"contents":${value}}`],
  ['/api/chat', value => `{"message":${value}}`],
  ['/agui/helper', value => `{"messages":${value}}`],
  ['/ui/helper', value => `{"messages":${value}}`],
  ['/acp', value => `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${value}}`],
]

describe('millions of values', () => {
  test('are refused on every wire, in its own words, without holding the loop', async t => {
    const server = await attacked(t, { config: { server: { acp: true } } })
    // The worker and the wire are there.
    await server.send({ path: '/sessions', body: `{"x":"${'x'.repeat(MiB)}"}` })
    for (const [path, wrap] of wires)
      for (const [kind, value] of Object.entries(many))
        await assertFree(server, `${path} ${kind}`, async () => {
          const { status, text } = await server.send({ path, body: wrap(value) })
          assert.equal(status, 400, `${path} ${kind}: ${text}`)
          assert.match(text, /more than \d+ (values|object keys)\. Send fewer/, `${path} ${kind}`)
        })
  })

  test('ten at once hold neither the loop nor the memory, and others are served meanwhile', async t => {
    const server = await attacked(t)
    const session = await server.session()
    await server.send({ path: '/sessions', body: `{"x":"${'x'.repeat(MiB)}"}` })
    const { rss } = await server.memory()
    await assertFree(server, 'ten at once', async () => {
      const attacks = Array.from({ length: 10 }, () =>
        server.send({ path: '/v1/responses', body: many.objects }),
      )
      const honest = await server.turn(session, 'hello')
      assert.equal(honest.status, 200)
      for (const { status } of await Promise.all(attacks))
        assert.ok(status === 400 || status === 429, `${status}`)
    })
    const { peakRss } = await server.seen()
    assert.ok(peakRss - rss < 1024 * MiB, `${(peakRss - rss) / MiB} MiB more`)
  })

  for (const path of ['/api/ws', '/acp'])
    test(`in a frame of ${path} are refused, and the next frame is read`, async t => {
      const server = await attacked(t, { config: { server: { acp: true } } })
      const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`)
      t.after(() => socket.terminate())
      await new Promise(resolve => socket.once('open', resolve))
      await assertFree(server, path, async () => {
        const answer = new Promise<string>(resolve =>
          socket.once('message', data => resolve((data as Buffer).toString())),
        ) // No other binary type is asked for.
        socket.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":${many.objects}}`)
        assert.match(await answer, /more than \d+ values/)
      })
    })
})

describe('thousands of values, deep in a message of ACP', () => {
  const list = (value: string): string => `[${`${value},`.repeat(120_000)}${value}]`
  const shared = `[${Array.from({ length: 200 }, () => `{"args":[${'0,'.repeat(900)}0]}`).join()}]`
  const params: [what: string, params: string, refusal: RegExp][] = [
    ['one list', `{"mcpServers":[{"args":${list('0')}}]}`, /mcpServers\.0\.args has more than 1,000 entries/],
    ['objects', `{"mcpServers":[{"env":${list('{}')}}]}`, /mcpServers\.0\.env has more than 1,000 entries/],
    ['many lists', `{"mcpServers":${shared}}`, /more than 20,000 values/],
  ]
  const message = (id: string, given: string): string =>
    `{"jsonrpc":"2.0","id":"${id}","method":"session/new","params":${given}}`

  test('are refused in a frame of /acp, and the next frame is read', async t => {
    const server = await attacked(t, { config: { server: { acp: true } } })
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/acp`)
    t.after(() => socket.terminate())
    await new Promise(resolve => socket.once('open', resolve))
    const ask = (text: string): Promise<string> => {
      const answer = new Promise<string>(resolve =>
        socket.once('message', data => resolve((data as Buffer).toString())),
      ) // No other binary type is asked for.
      socket.send(text)
      return answer
    }
    await ask('{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}')
    for (const [what, given, refusal] of params)
      await assertFree(server, what, async () => assert.match(await ask(message('1', given)), refusal))
    assert.match(await ask(message('2', '{"cwd":"/tmp","mcpServers":[]}')), /"sessionId"/)
  })

  test('are refused over a pipe, and the next line is read', async t => {
    const editor = startEditor(t)
    await editor.ask('initialize', { protocolVersion: 1 })
    for (const [what, given, refusal] of params)
      await assertFree(editor, what, async attempt => {
        const id = `${what} ${attempt}`
        editor.write(Buffer.from(message(id, given)))
        await until(() => editor.received.some(received => received['id'] === id))
        assert.match(JSON.stringify(editor.received.splice(0)), refusal)
      })
    const { result } = await editor.ask('session/new', { cwd: '/tmp', mcpServers: [] })
    assert.ok(Object(result).sessionId)
  })
})

describe('large bodies that are welcome', () => {
  test('a message of 15 MB is taken without holding the loop for long', async t => {
    const server = await attacked(t)
    for (const [kind, text] of [
      ['plain', 'x'.repeat(15 * MiB)],
      ['escapes', '\n"'.repeat(3.75 * MiB)],
      ['wide', '漢'.repeat(5 * MiB)],
    ] as const)
      await assertFree(server, kind, async () => {
        const { status } = await server.turn(await server.session(), text)
        assert.equal(status, 200, kind)
      })
  })
})
