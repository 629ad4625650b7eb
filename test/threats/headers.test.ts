// Answers hold what their caller may read and nobody else: no cache keeps them, and no browser takes them for another type.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { scripted } from '../../src/index.ts'
import { newSession, type Sent, say, serverRig } from './server-rig.ts'

const config = {
  agents: [{ name: 'helper', model: scripted(() => ({ text: 'Hello.' })), serveMcp: { ask: true as const } }],
  server: { acp: true, origins: ['https://app.example'] },
}

test('every answer of every route says its type is final, and is kept by no cache', async t => {
  const rig = await serverRig(t, config)
  const id = await newSession(rig, 'ana')
  const turns = { method: 'POST', path: `/aap/v3/sessions/${id}/turns` }
  const asked: Sent[] = [
    ...rig.routes
      .filter(({ method }) => method === 'GET' || method === 'POST')
      .map(({ method, path }) => ({
        method,
        path: path.replace(':id', id).replaceAll(/:\w+/g, 'x').replace('*', 'x'),
        enough: 1,
        ...(method === 'POST' && { body: '{}' }),
      })),
    { ...turns, body: say('Hi') },
    { ...turns, body: say('Hi', { stream: 'delta' }) },
    { path: '/nowhere' },
    { path: '/sessions\\x' },
    { method: 'OPTIONS', path: '/sessions', headers: { origin: 'https://app.example' } },
    { method: 'POST', path: '/v1/responses', body: JSON.stringify({ model: 'helper', input: 'Hi' }) },
  ]
  assert.ok(asked.length > 40, `${asked.length}`)
  for (const sent of asked)
    for (const answer of [await rig.as('ana', sent), await rig.send(sent)]) {
      const about = `${sent.method ?? 'GET'} ${sent.path}: ${answer.status}`
      assert.equal(answer.headers['x-content-type-options'], 'nosniff', about)
      const isStream = /event-stream/.test(answer.headers['content-type'] ?? '')
      assert.match(String(answer.headers['cache-control']), isStream ? /no-cache/ : /no-store/, about)
    }
})

test('so does the refusal of bytes that are no request, and of an upgrade', async t => {
  const { port } = await serverRig(t, config)
  const upgrade =
    'GET /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n'
  for (const bytes of ['this is no request\r\n\r\n', upgrade]) {
    const text = await new Promise<string>((resolve, reject) => {
      let got = ''
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
      socket.on('data', piece => {
        got += String(piece)
        if (got.includes('\r\n\r\n')) resolve(got)
      })
      socket.on('error', reject)
      t.after(() => socket.destroy())
    })
    assert.match(text, /^HTTP\/1\.1 40\d/)
    assert.match(text, /X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n/)
  }
})
