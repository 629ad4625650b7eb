import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AapClient, type Watched } from '../../client/index.ts'
import { whileFollowing } from './follow.ts'

function clientOf(respond: (lastEventId: string | null) => Response): AapClient {
  const fetch = (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
    Promise.resolve(respond(new Request(input, init).headers.get('last-event-id')))
  return new AapClient({ baseUrl: 'http://double', fetch, retries: 0 })
}

test('events are read from the position on, which moves, until the stream ends', async () => {
  const asked: (string | null)[] = []
  const client = clientOf(last => {
    asked.push(last)
    const frames = 'id: 8\ndata: {"type":"a"}\n\ndata: {"type":"output","callId":"c","text":"x"}\n\n'
    return new Response(frames, { headers: { 'content-type': 'text/event-stream' } })
  })
  const position = { session: 's', seq: 7 }
  const taken: Watched[] = []
  const enough = Promise.withResolvers<string>()
  const take = (watched: Watched): void => {
    if (taken.push(watched) === 2) enough.resolve('done')
  }
  assert.equal(await whileFollowing(client, position, take, () => enough.promise), 'done')
  assert.deepEqual([asked, position.seq], [['7'], 8])
  assert.deepEqual(
    taken.map(watched => Object.keys(watched)),
    [['seq', 'event'], ['delta']],
  )
})

test('a server without events changes nothing', async () => {
  const asked = Promise.withResolvers<void>()
  const client = clientOf(() => {
    asked.resolve()
    return Response.json({ error: 'Not found' }, { status: 404 })
  })
  const work = async (): Promise<string> => {
    await asked.promise
    return 'done'
  }
  const taken: Watched[] = []
  const take = (watched: Watched): void => void taken.push(watched)
  assert.equal(await whileFollowing(client, { session: 's', seq: 0 }, take, work), 'done')
  assert.equal(taken.length, 0)
})
