// Resuming a stream by `Last-Event-ID`: from every id exactly the missing suffix, also after a restart; and a refusal that
// says so where there is no suffix: an id that the log does not have, and a session that is gone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Attacked, attacked, attackFolder, script } from '../../bounded/attack-rig.ts'

/** The frames of the durable events after `id`, up to number `last`. */
async function eventsAfter(server: Attacked, session: string, id: number, last: number): Promise<string[]> {
  const ending = new AbortController()
  const answer = await fetch(`${server.url}/sessions/${session}/events`, {
    headers: { 'last-event-id': String(id) },
    signal: ending.signal,
  })
  assert.equal(answer.status, 200)
  let text = ''
  const framesIn = (): string[] => text.split('\n\n').filter(frame => /^id: \d+$/m.test(frame))
  for await (const bytes of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += bytes
    if (text.endsWith('\n\n') && framesIn().some(frame => frame.includes(`id: ${last}\n`))) break
  }
  ending.abort()
  return framesIn()
}

const numberOf = (frame: string): number => Number(/^id: (\d+)$/m.exec(frame)?.[1])

test('from every id a client gets exactly the events that it is missing, also after a restart', async t => {
  const folder = attackFolder(t)
  const server = await attacked(t, { folder })
  const session = await server.session()
  for (const words of ['hello', script({ calls: [{ name: 'give', input: { bytes: 100_000 } }], repeat: 3 })])
    assert.equal((await server.turn(session, words)).status, 200)
  const ahead = await fetch(`${server.url}/sessions/${session}/events`, {
    headers: { 'last-event-id': '1000' },
  })
  assert.equal(ahead.status, 400)
  const last = Number(
    /There is no such event to go on after: .* at most (\d+), or 0 for all/.exec(await ahead.text())?.[1],
  )
  assert.ok(last > 8, String(last))
  const all = await eventsAfter(server, session, 0, last)
  assert.deepEqual(
    all.map(numberOf),
    Array.from({ length: last }, (_, index) => index + 1),
  )
  for (let id = 1; id < last; id += 1)
    assert.deepEqual(await eventsAfter(server, session, id, last), all.slice(id))
  assert.equal(await server.stop(), 0)
  const again = await attacked(t, { folder })
  for (const id of [0, 1, last - 1])
    assert.deepEqual(await eventsAfter(again, session, id, last), all.slice(id))
  assert.equal((await again.send({ method: 'DELETE', path: `/sessions/${session}` })).status, 204)
  const gone = await fetch(`${again.url}/sessions/${session}/events`, { headers: { 'last-event-id': '3' } })
  assert.deepEqual([gone.status, /session_not_found/.test(await gone.text())], [404, true])
})
