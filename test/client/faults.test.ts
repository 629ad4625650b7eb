// The client on a failing network: it repeats requests where that is safe, and reports an error elsewhere.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AapClient, type ClientOptions } from '../../src/client/index.ts'

type Reply = (request: { url: string; headers: Headers }) => Response | Promise<Response>

/** A client on a network that gives these replies in order, with the requests and waits that it made. */
function network(...replies: Reply[]): { client: AapClient; seen: Headers[]; waits: number[] } {
  const seen: Headers[] = []
  const waits: number[] = []
  const options: ClientOptions = {
    baseUrl: 'http://agent.example/',
    fetch: async (input, init) => {
      const headers = new Headers(init?.headers)
      const reply = replies[seen.length]
      seen.push(headers)
      if (!reply) throw new Error('one request too many')
      return reply({ url: typeof input === 'string' ? input : '', headers })
    },
    sleep: async ms => void waits.push(ms),
  }
  return { client: new AapClient(options), seen, waits }
}

const down: Reply = () => {
  throw new TypeError('fetch failed')
}
const sse = (...frames: string[]): Response =>
  new Response(frames.map(frame => `${frame}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })
const event = (name: string, data: object, id?: number): string =>
  `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}`

describe('a request', () => {
  test('without an answer is repeated with the same idempotency key', async () => {
    const { client, seen, waits } = network(down, down, () =>
      Response.json({ sessionId: 's1' }, { status: 201 }),
    )
    assert.equal(await client.createSession({ agent: { name: 'a' } }), 's1')
    const keys = new Set(seen.map(headers => headers.get('idempotency-key')))
    assert.equal(keys.size, 1)
    assert.match([...keys][0] ?? '', /^req_\w{22}$/)
    assert.deepEqual(waits, [250, 500])
  })

  test('is given up after three tries', async () => {
    const { client } = network(down, down, down)
    await assert.rejects(client.getMeta(), {
      status: 0,
      code: 'connection_failed',
      message: /is the server running/,
    })
  })

  test('is repeated after the time that the server asks for', async () => {
    const { client, waits } = network(
      () =>
        Response.json(
          { error: 'Slow down.', code: 'rate_limited' },
          { status: 429, headers: { 'retry-after': '3' } },
        ),
      () => Response.json({ version: 3, agents: [] }),
    )
    await client.getMeta()
    assert.deepEqual(waits, [3000])
  })

  test('that is not safe to repeat is sent once', async () => {
    const { client, seen } = network(down)
    await assert.rejects(client.deleteSession('s'), { code: 'connection_failed' })
    assert.equal(seen.length, 1)
  })

  test('that the caller aborts fails with the caller’s reason', async () => {
    const { client } = network(() => Promise.reject(new DOMException('x', 'AbortError')))
    const controller = new AbortController()
    controller.abort()
    await assert.rejects(client.getMeta({ signal: controller.signal }), { name: 'AbortError' })
  })
})

describe('a turn', () => {
  const turn = (...frames: string[]) => network(() => sse(...frames)).client.sendTurn('s', { messages: [] })

  test('that breaks off is an error', async () => {
    const broken = await turn(event('turn_start', {}), event('text_delta', { delta: 'Half' }))
    await assert.rejects(broken.answer(), { code: 'connection_lost' })
  })

  test('ends at the first turn_stop, and unknown events are skipped', async () => {
    const ended = await turn(
      event('session_start', { sessionId: 's' }),
      event('turn_start', {}),
      event('text', { text: 'Whole' }),
      event('turn_stop', { stopReason: 'end_turn' }),
      event('turn_stop', { stopReason: 'error' }),
    )
    assert.deepEqual(await ended.answer(), {
      stopReason: 'end_turn',
      messages: [{ role: 'assistant', content: 'Whole' }],
    })
  })

  test('with an event that is not JSON is refused', async () => {
    const odd = await turn('event: text\ndata: {')
    await assert.rejects(odd.answer(), { code: 'unexpected_answer' })
  })
})

describe('a watch', () => {
  test('resumes after a break, a refusal and a clean end, and repeats nothing', async () => {
    const ended = { v: 1, at: 0, type: 'turn.ended', turn: 't', stop: 'end' }
    const { client, seen, waits } = network(
      () =>
        sse(
          event('turn.started', { type: 'turn.started' }, 1),
          event('text', { type: 'text', text: 'live' }),
        ),
      down,
      () => Response.json({ error: 'Stopping.', code: 'stopping' }, { status: 503 }),
      () => sse(event('turn.started', { type: 'turn.started' }, 1), event('turn.ended', ended, 2)),
    )
    const got: unknown[] = []
    for await (const watched of client.watch('s')) {
      got.push('seq' in watched ? watched.seq : watched.delta)
      if ('seq' in watched && watched.seq === 2) break
    }
    assert.deepEqual(got, [1, { type: 'text', text: 'live' }, 2])
    assert.deepEqual(
      seen.map(headers => headers.get('last-event-id')),
      ['0', '1', '1', '1'],
    )
    assert.deepEqual(waits, [250, 500, 1000])
  })

  test('does not retry a session that does not exist', async () => {
    const { client } = network(() =>
      Response.json({ error: 'No.', code: 'session_not_found' }, { status: 404 }),
    )
    await assert.rejects(client.watch('s').next(), { status: 404, code: 'session_not_found' })
  })

  test('fails when its attempts are used up', async () => {
    const { client } = network(down, down)
    await assert.rejects(client.watch('s', { attempts: 1 }).next(), { code: 'connection_failed' })
  })

  test('ends when the caller aborts', async () => {
    const controller = new AbortController()
    const { client } = network(() => {
      controller.abort()
      throw controller.signal.reason
    })
    assert.deepEqual(await client.watch('s', { signal: controller.signal }).next(), {
      done: true,
      value: undefined,
    })
  })
})
