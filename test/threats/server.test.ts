// Attacks on the server as a whole: who may speak to it, what it lets in, what it lets out. Attacks on the gate are in
// gate.test.ts, those on one wire beside that wire's tests.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { scripted, type TurnwireConfig, TurnwireError, tool } from '../../src/index.ts'
import { randomIds } from '../../src/lib/text/random.ts'
import { type Answer, bytesOf, newSession, type ServerRig, say, serverRig } from './server-rig.ts'

const randomId = randomIds()

const plain: Omit<TurnwireConfig, 'data'> = {
  agents: [{ name: 'helper', model: scripted({ steps: [{ text: 'hello' }], whenOver: 'repeat-last' }) }],
}

/** A route with its parameters filled in. */
function filled(path: string, id: string): string {
  return path.replace(':agent', 'helper').replace(':id', id).replace(/:\w+/g, 'call_1').replace(/\*$/, 'x')
}

describe('DNS rebinding and foreign origins', () => {
  const strangers = (port: number): Record<string, string>[] => [
    { host: `evil.test:${port}` },
    { host: 'localhost.evil.test' },
    { host: `127.0.0.1.evil.test:${port}` },
    { host: 'evil.test', origin: 'http://evil.test' },
    { origin: 'https://evil.test' },
    { origin: 'null' },
    { origin: 'http://localhost.evil.test' },
    { origin: `http://127.0.0.1:${port}@evil.test` },
    { origin: '' },
  ]

  test('every route refuses them, with a valid key or without, and nothing happens', async t => {
    const rig = await serverRig(t, plain)
    const id = await newSession(rig, 'ana')
    assert.ok(rig.routes.length > 20, 'the routes are known')
    const events = { method: 'GET', path: '/aap/v3/sessions/:id/events' }
    assert.ok(rig.routes.some(({ path }) => path === events.path))
    for (const route of [...rig.routes, { method: 'OPTIONS', path: '/sessions' }]) {
      const method = route.method === 'ALL' ? 'GET' : route.method
      for (const headers of strangers(rig.port)) {
        const path = filled(route.path, id)
        const sent = { method, path, headers, ...(method === 'POST' && { body: say('hi') }) }
        for (const answer of [await rig.as('ana', sent), await rig.send(sent)]) {
          const where = `${method} ${path} ${JSON.stringify(headers)}`
          assert.equal(answer.status, 403, where)
          assert.equal(answer.headers['access-control-allow-origin'], undefined, where)
          assert.match(answer.text, /server\.(hosts|origins)/, where)
        }
      }
    }
    const { status, text } = await rig.as('ana', { path: `/aap/v3/sessions/${id}/history?type=full` })
    assert.equal(status, 200, 'the session was not deleted')
    assert.deepEqual(JSON.parse(text), { history: { full: [] } })
  })

  test('a page of the server itself and one that the operator named may call it', async t => {
    const rig = await serverRig(t, { ...plain, server: { origins: ['https://app.example'] } })
    for (const origin of [rig.url, 'https://app.example']) {
      const answer = await rig.as('ana', { path: '/aap/v3/meta', headers: { origin } })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['access-control-allow-origin'], origin)
      assert.equal(answer.headers['access-control-allow-credentials'], undefined)
    }
  })
})

describe('other people’s sessions', () => {
  test('on every route a stranger gets the same answer as for a session that does not exist', async t => {
    const rig = await serverRig(t, plain)
    const id = await newSession(rig, 'ana')
    const missing = randomId('sess')
    const routes = rig.routes.filter(({ path, method }) => path.includes(':id') && method !== 'ALL')
    assert.ok(routes.length > 8)
    for (const { method, path } of routes) {
      const query = path.endsWith('/history') ? '?type=full' : ''
      const ask = (session: string): Promise<Answer> => {
        const body = method === 'POST' ? { body: say('hi') } : {}
        return rig.as('ben', { method, path: filled(path, session) + query, ...body })
      }
      const [theirs, nobodys] = [await ask(id), await ask(missing)]
      assert.equal(theirs.status, 404, `${method} ${path}`)
      // An answer may repeat what was asked for, and nothing else.
      assert.equal(theirs.text.replaceAll(id, missing), nobodys.text, `${method} ${path}`)
      assert.equal(theirs.status, nobodys.status)
    }
    const list = await rig.as('ben', { path: '/aap/v3/sessions' })
    assert.deepEqual(JSON.parse(list.text), { sessions: [] })
    const own = await rig.as('ana', { path: `/aap/v3/sessions/${id}` })
    assert.equal(own.status, 200)
  })

  test('one idempotency key used by two owners makes two sessions', async t => {
    const rig = await serverRig(t, plain)
    const create = (owner: 'ana' | 'ben'): Promise<Answer> =>
      rig.as(owner, {
        method: 'POST',
        path: '/aap/v3/sessions',
        headers: { 'idempotency-key': 'the-same' },
        body: '{"agent":{"name":"helper"}}',
      })
    const made = await Promise.all([create('ana'), create('ben'), create('ana')])
    const ids = made.map(({ text }) => (JSON.parse(text) as { sessionId: string }).sessionId)
    assert.equal(ids[0], ids[2])
    assert.notEqual(ids[0], ids[1])
  })

  // The health of the server, the files of the console, and the way to sign in.
  const open = new Set(['/health', '/health/live', '/console/*', '/operator/sign-in'])

  test('without a key, or with an unknown one, every answer is 401', async t => {
    const rig = await serverRig(t, plain)
    const id = await newSession(rig, 'ana')
    for (const authorization of [
      '',
      'Bearer x',
      `Bearer ${rig.keys.ana}x`,
      `Basic ${rig.keys.ana}`,
      'Bearer',
    ])
      for (const { method, path } of rig.routes.filter(route => !open.has(route.path))) {
        const body = method === 'POST' ? { body: say('hi') } : {}
        const sent = { method: method === 'ALL' ? 'GET' : method, path: filled(path, id), ...body }
        const { status } = await rig.send({ ...sent, headers: { authorization } })
        assert.equal(status, 401, `${method} ${path} ${authorization}`)
      }
  })

  test('ids have at least 128 random bits and no order', () => {
    const count = 200_000
    const ids = Array.from({ length: count }, () => randomId('sess').slice('sess_'.length))
    assert.equal(new Set(ids).size, count)
    const { length } = ids[0]!
    let bits = 0
    for (let place = 0; place < length; place += 1) {
      const seen = new Map<string, number>()
      for (const id of ids) seen.set(id[place]!, (seen.get(id[place]!) ?? 0) + 1)
      for (const times of seen.values()) bits -= (times / count) * Math.log2(times / count)
    }
    assert.ok(bits > 128, `${bits} bits`)
    const alike = ids.filter((id, at) => at > 0 && ids[at - 1]!.slice(0, 4) === id.slice(0, 4)).length
    assert.ok(alike < 10, `${alike} neighbours begin alike`)
  })
})

describe('hostile bodies and headers', () => {
  const create = (rig: ServerRig, body: string | Buffer, headers: Record<string, string> = {}) =>
    rig.as('ana', { method: 'POST', path: '/aap/v3/sessions', body, headers })
  const small = { ...plain, server: { bodyBytes: 4096 } }

  test('a body that is too large is refused early, with or without a Content-Length', async t => {
    const rig = await serverRig(t, small)
    const large = JSON.stringify({ agent: { name: 'helper' }, pad: 'x'.repeat(5000) })
    assert.equal((await create(rig, large)).status, 413)
    assert.equal((await create(rig, large, { 'transfer-encoding': 'chunked' })).status, 413)
    const said = await rig.as('ana', {
      method: 'POST',
      path: '/aap/v3/sessions',
      headers: { 'content-length': '200000000', 'content-type': 'application/json' },
    })
    assert.equal(said.status, 413)
  })

  test('deep, doubled, compressed, broken and endless JSON is refused', async t => {
    const rig = await serverRig(t, small)
    const body = '{"agent":{"name":"helper"}}'
    const refused: [number, string | Buffer, Record<string, string>?][] = [
      [400, `{"agent":${'['.repeat(1500)}${']'.repeat(1500)}}`],
      [400, `{"a":`.repeat(600)],
      [400, '{"agent":{"name":"helper","name":"other"}}'],
      [400, '{"agent":{"name":"helper"},"agent":{"name":"helper"}}'],
      [400, '{"agent":{"name":1e400}}'],
      [400, Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
      [400, ''],
      [415, gzipSync(body), { 'content-encoding': 'gzip' }],
      [415, body, { 'content-type': 'text/plain' }],
    ]
    for (const [status, sent, headers] of refused) {
      const answer = await create(rig, sent, headers)
      assert.equal(answer.status, status, `${String(sent).slice(0, 60)} ${answer.text}`)
    }
    assert.equal((await create(rig, body)).status, 201)
    assert.equal(({} as Record<string, unknown>)['isAdmin'], undefined)
  })

  test('no name and no header gets into the headers of an answer', async t => {
    const rig = await serverRig(t, plain)
    const evil = 'x\r\nSet-Cookie: a=b'
    const spec = { name: evil, description: 'd', parameters: { type: 'object' } }
    const answers = [
      await create(rig, JSON.stringify({ agent: { name: 'helper' }, tools: [spec] })),
      await create(rig, JSON.stringify({ agent: { name: evil } })),
      await rig.as('ana', { path: `/aap/v3/sessions/${encodeURIComponent(evil)}` }),
      await rig.as('ana', { path: `/aap/v3/sessions?after=${encodeURIComponent(evil)}` }),
      await rig.as('ana', { path: `/${encodeURIComponent(evil)}` }),
    ]
    for (const { status, headers } of answers) {
      assert.ok(status === 400 || status === 404, `${status}`)
      assert.equal(headers['set-cookie'], undefined)
    }
    const raw = await rawExchange(rig.port, `GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: \u0000\r\n\r\n`)
    assert.match(raw, /^HTTP\/1\.1 400 /)
    assert.equal((await rig.send({ path: '/health' })).status, 200, 'the server is still there')
  })
})

function rawExchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.end(bytes))
    socket.on('data', chunk => (text += String(chunk)))
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}

describe('resuming a stream', () => {
  test('an event number that the session does not have is refused, and no event of another session is shown', async t => {
    const rig = await serverRig(t, plain)
    const [mine, theirs] = [await newSession(rig, 'ana'), await newSession(rig, 'ben')]
    for (const [owner, id, text] of [
      ['ana', mine, 'CANARY-ANA'],
      ['ben', theirs, 'CANARY-BEN'],
    ] as const)
      await rig.as(owner, { method: 'POST', path: `/aap/v3/sessions/${id}/turns`, body: say(text) })
    const path = `/aap/v3/sessions/${mine}/events`
    for (const number of ['-1', '1e999', '9007199254740993', '99', 'abc', '1.5', `${theirs}:1`]) {
      const { status } = await rig.as('ana', { path, headers: { 'last-event-id': number } })
      assert.equal(status, 400, number)
    }
    assert.equal((await rig.as('ben', { path, headers: { 'last-event-id': '1' } })).status, 404)
    const shown = await rig.as('ana', { path, headers: { 'last-event-id': '1' }, enough: 200 })
    assert.equal(shown.status, 200)
    assert.match(shown.text, /CANARY-ANA/)
    assert.doesNotMatch(shown.text, /CANARY-BEN|session\.created/)
  })
})

describe('secrets', () => {
  const canary = {
    provider: 'sk-CANARYprovider0123456789abcdef',
    option: 'CANARY-option-9f8e7d6c5b4a',
    argument: 'CANARY-argument-1a2b3c4d',
    thrown: 'CANARY-thrown-5e6f7a8b',
  }
  const config: Omit<TurnwireConfig, 'data'> = {
    agents: [
      {
        name: 'helper',
        options: [{ name: 'token', type: 'secret', default: '' }],
        tools: [
          tool({
            name: 'use',
            description: 'Uses the token.',
            input: { type: 'object' },
            trust: 'trusted',
            exposed: false,
            run: (_input, { options }) => {
              assert.equal(options['token'], canary.option)
              throw new Error(`failed with ${canary.thrown}`)
            },
          }),
        ],
        model: scripted((_request, step) => {
          if (step === 0) return { calls: [{ name: 'use', input: { key: canary.argument } }] }
          if (step === 1)
            throw new TurnwireError('model_rejected', `401 Incorrect API key provided: ${canary.provider}`)
          throw new Error(
            `connect failed: https://user:${canary.provider}@api.test Bearer ${canary.provider}`,
          )
        }),
      },
    ],
  }

  test('no secret leaves the vault: not to logs, errors, streams or the database', async t => {
    const rig = await serverRig(t, config)
    const options = { token: canary.option }
    const id = await newSession(rig, 'ana', { agent: { name: 'helper', options } })
    const turns = { method: 'POST', path: `/aap/v3/sessions/${id}/turns` }
    const answers = [
      await rig.as('ana', { ...turns, body: say('one') }),
      await rig.as('ana', { ...turns, body: say('umbrella', { stream: 'delta' }) }),
      await rig.as('ana', { ...turns, body: say('parachute', { agent: { options } }) }),
      await rig.as('ana', { path: `/aap/v3/sessions/${id}` }),
      await rig.as('ana', { path: '/aap/v3/sessions' }),
      await rig.as('ana', { path: `/aap/v3/sessions/${id}/history?type=full` }),
      await rig.as('ana', { path: `/aap/v3/sessions/${id}/events`, enough: 1500 }),
      await rig.as('ana', { ...turns, body: `{"messages":"${canary.option}"` }),
      await rig.as('ana', { path: '/nowhere', headers: { authorization: `Bearer ${canary.provider}` } }),
    ]
    const out = answers.map(({ text }) => text).join('\n')
    assert.match(out, /"stopReason":"error"/, 'the model did fail')
    for (const secret of [canary.provider, canary.option, rig.keys.ana])
      assert.ok(!out.includes(secret), `${secret} was sent out`)

    const logs = rig.logs.join('')
    assert.match(logs, /model step failed/i)
    for (const secret of [...Object.values(canary), rig.keys.ana, 'umbrella', 'parachute'])
      assert.ok(!logs.includes(secret), `${secret} is in the log`)

    const bytes = bytesOf(rig.folder)
    for (const secret of [canary.provider, canary.option, rig.keys.ana])
      assert.ok(!bytes.includes(secret), `${secret} is on disk`)
    assert.ok(bytes.includes(canary.argument), 'arguments are data, and are kept')
  })
})

test('a client that resumes in an endless loop is slowed down', async t => {
  const rig = await serverRig(t, { ...plain, server: { perOwner: { requests: 100, burst: 400 } } })
  const id = await newSession(rig, 'ana')
  const path = `/aap/v3/sessions/${id}/events?after=-1`
  const answers: Awaited<ReturnType<typeof rig.as>>[] = []
  // However slow the machine is, it opens them faster than they are allowed.
  while (answers.length < 20_000 && answers.every(({ status }) => status !== 429))
    answers.push(...(await Promise.all(Array.from({ length: 200 }, () => rig.as('ana', { path })))))
  assert.ok(answers.length > 400, `${answers.length}`)
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([400, 429]))
  assert.match(answers.find(({ status }) => status === 429)?.text ?? '', /rate_limited/)
})
