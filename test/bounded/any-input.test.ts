// Requests that no wire expects are answered in the words of the wire, and never with a 5xx.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { type Attacked, attacked } from './attack-rig.ts'

/** Sends bytes as they are and gives what comes back until the server closes the connection. */
function raw(server: Attacked, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1')
    let answer = ''
    socket.setTimeout(60_000, () => socket.destroy())
    socket.on('data', data => (answer += String(data)))
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
    socket.write(text)
  })
}

function plain(
  server: Attacked,
  first: string,
  headers: Record<string, string> = {},
  body = '',
): Promise<string> {
  const all = { host: `127.0.0.1:${server.port}`, 'content-length': String(body.length), ...headers }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return raw(server, `${first}\r\n${head.join('')}\r\n${body}`)
}

function bodyOf(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
}

const anthropic = { 'anthropic-version': '2023-06-01' }
const google = { 'x-goog-api-client': 'google-genai-sdk/3.1.0' }
const shapes: [path: string, headers: Record<string, string>, shape: RegExp][] = [
  [
    '/v1/nothing',
    {},
    /^\{"error":\{"message":"[^"]+","type":"invalid_request_error","param":null,"code":"unknown_url"\}\}$/,
  ],
  ['/v1/chat', {}, /"code":"unknown_url"/],
  ['/v1', {}, /"code":"unknown_url"/],
  ['/v1/nothing', anthropic, /^\{"type":"error","error":\{"type":"not_found_error","message":"[^"]+"\}\}$/],
  ['/v1/messages/batches', {}, /"type":"not_found_error"/],
  ['/v1beta/nothing', {}, /^\{"error":\{"code":404,"message":"[^"]+","status":"NOT_FOUND"\}\}$/],
  ['/v1/nothing', google, /^\{"error":\{"code":404,"message":"[^"]+","status":"NOT_FOUND"\}\}$/],
  ['/v1/models/x/y', google, /"status":"NOT_FOUND"/],
  ['/v1beta/models/x/y', {}, /"status":"NOT_FOUND"/],
  ['/api/nothing', {}, /^\{"detail":"[^"]+","error":"[^"]+","code":"not_found"\}$/],
  ['/nothing', {}, /^\{"error":"[^"]+","code":"not_found"\}$/],
  ['/v10', {}, /^\{"error":"[^"]+","code":"not_found"\}$/],
]

describe('an address without a route', () => {
  test('is refused in the words of the wire that it is under', async t => {
    const server = await attacked(t)
    for (const [path, headers, shape] of shapes)
      for (const method of ['GET', 'POST', 'DELETE', 'PATCH']) {
        const { status, text } = await server.send({ method, path, headers })
        assert.equal(status, 404, `${method} ${path}`)
        assert.match(text, shape, `${method} ${path}`)
      }
  })

  test('and so is an address that is no path', async t => {
    const server = await attacked(t)
    const targets: [target: string, status: number, shape: RegExp][] = [
      ['/v1/chat\\completions', 400, /"type":"invalid_request_error"/],
      ['\\', 400, /"code":"bad_request"/],
      ['/v1beta\\models', 400, /"status":"INVALID_ARGUMENT"/],
      ['/api\\chat', 400, /"detail"/],
      ['*', 400, /"code":"bad_request"/],
      ['/sessions/%E0%A4%A', 404, /"code":"session_not_found"/],
      ['/sessions/%00', 404, /"code":"session_not_found"/],
      ['//', 404, /"code":"not_found"/],
      ['http://127.0.0.1/meta', 200, /"agents"/],
    ]
    for (const [target, status, shape] of targets) {
      const answer = await plain(server, `GET ${target} HTTP/1.1`, { connection: 'close' })
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), target)
      assert.match(JSON.stringify(bodyOf(answer)), shape, target)
    }
  })
})

describe('an upgrade', () => {
  const turn = JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] })
  const json = { 'content-type': 'application/json', connection: 'close, upgrade' }

  test('that is none of ours is served as plain HTTP', async t => {
    const server = await attacked(t)
    const session = await server.session()
    const h2c = {
      ...json,
      connection: 'close, Upgrade, HTTP2-Settings',
      upgrade: 'h2c',
      'http2-settings': 'AAMAAABkAAQAoAAAAAIAAAAA',
    }
    const said = await plain(server, `POST /sessions/${session}/turns HTTP/1.1`, h2c, turn)
    assert.match(said, /^HTTP\/1\.1 200 /)
    assert.match(said, /Done\./)
    for (const upgrade of ['h2c', 'TLS/1.0', 'websocket', 'websocket, h2c', 'x'.repeat(1000)]) {
      const answer = await plain(server, 'GET /meta HTTP/1.1', { connection: 'close, upgrade', upgrade })
      assert.match(answer, /^HTTP\/1\.1 200 /, upgrade)
    }
    const missing = await plain(server, 'GET /v1/x HTTP/1.1', {
      connection: 'close, upgrade',
      upgrade: 'websocket',
    })
    assert.match(missing, /^HTTP\/1\.1 404 [\s\S]*unknown_url/)
    const old = await plain(server, 'GET /api/ws HTTP/1.1', { connection: 'close, upgrade', upgrade: 'h2c' })
    assert.match(old, /^HTTP\/1\.1 404 /)
  })

  test('of curl that prefers HTTP/2 is served', async t => {
    const curl = promisify(execFile)
    const features = await curl('curl', ['--version']).then(
      ({ stdout }) => stdout,
      () => '',
    )
    if (!features.includes('HTTP2')) return t.skip('there is no curl with HTTP/2 here')
    const server = await attacked(t)
    const session = await server.session()
    const { stdout } = await curl('curl', [
      '--silent',
      '--http2',
      '--header',
      'content-type: application/json',
      '--data',
      turn,
      `${server.url}/sessions/${session}/turns`,
    ])
    assert.match(stdout, /Done\./)
  })
})

/** Every line of the log is JSON, whoever wrote it. */
function assertLines(server: Attacked): void {
  for (const line of server.log.trim().split('\n').filter(Boolean))
    assert.doesNotThrow(() => JSON.parse(line), line)
}

describe('ACP over HTTP', () => {
  const odd: unknown[] = [
    {},
    [],
    true,
    1.5,
    -1,
    0,
    '',
    'x'.repeat(100_000),
    '\ud800',
    null,
    1e300,
    { toString: 1 },
  ]

  test('a message with an odd id is answered, and the SDK prints nothing into the log', async t => {
    const server = await attacked(t, { config: { server: { acp: true } } })
    const post = (body: unknown, headers: Record<string, string> = {}) =>
      server.send({ path: '/acp', body, headers })
    const initialize = { jsonrpc: '2.0', method: 'initialize', params: { protocolVersion: 1 } }
    for (const id of odd) {
      const { status, text } = await post({ ...initialize, id })
      assert.ok(status === 200 || status === 400, `${JSON.stringify(id)?.slice(0, 50)}: ${status} ${text}`)
    }
    const made = await post({ ...initialize, id: 1 })
    const connection = { 'acp-connection-id': String(made.headers['acp-connection-id']) }
    for (const id of odd)
      for (const message of [
        { id, method: 'session/list', params: {} },
        { id, method: 'session/cancel', params: { sessionId: 7 } },
        { id, result: {} },
        { id, error: { code: 1, message: 'x' } },
        { id },
        { method: 'session/cancel', params: { sessionId: { odd: id } } },
        { method: id },
      ])
        assert.ok(
          (await post({ jsonrpc: '2.0', ...message }, connection)).status < 500,
          JSON.stringify(message).slice(0, 80),
        )
    assertLines(server)
  })
})
