// A new wire, written as a proof, on a real server: it needs at most 80 lines and nothing of the engine but the boundary.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { callsIn, grant, latch, newSession, rig, say, turn } from './aap/rig.ts'
import { ndjson, ndjsonEncoder } from './ndjson-wire.ts'

type Line = { type: string; seq?: number; delta?: { type: string }; event?: { type: string } }

const mailing = [{ calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'It is sent.', chunk: 4 }]

function linesOf(text: string): Line[] {
  assert.ok(text.endsWith('\n'))
  return text
    .slice(0, -1)
    .split('\n')
    .map(line => JSON.parse(line) as Line)
}

test('the wire has at most 80 lines and imports nothing of the engine but its index', () => {
  const source = readFileSync(new URL('ndjson-wire.ts', import.meta.url), 'utf8')
  assert.ok(source.trimEnd().split('\n').length <= 80)
  assert.deepEqual(source.match(/src\/engine\/[\w/.-]+/g), ['src/engine/index.ts'])
  assert.doesNotMatch(source, /host\.(old|ephemeral|agents)\b/)
})

test('a session that rests is one line for each event, and one for its end', async t => {
  const at = await rig(t, { script: [{ text: 'hello' }], wires: [ndjson] })
  const id = await newSession(at)
  await turn(at, id, say('hi'))
  const { seq } = await at.host.engineFor({ owner: 'alice' }).summary({ owner: 'alice', session: id })
  const all = await at.request('GET', `/ndjson/${id}`)
  assert.equal(all.headers.get('content-type'), 'application/x-ndjson')
  const lines = linesOf(await all.text())
  assert.equal(lines.length, seq + 1)
  assert.deepEqual(
    lines.map(line => line.seq),
    [...Array.from({ length: seq }, (_, index) => index + 1), undefined],
  )
  assert.equal(lines.at(-1)?.type, 'ended')
  const rest = linesOf(await (await at.request('GET', `/ndjson/${id}?from=${seq}`)).text())
  assert.deepEqual(rest, lines.slice(-2))
})

test('a turn is followed live, through a wait for approval, to its end', async t => {
  const at = await rig(t, { script: mailing, wires: [ndjson] })
  const id = await newSession(at, { agent: { tools: [{ name: 'mail' }] } })
  const stopped = (await (await turn(at, id, say('Mail Ana.'))).json()) as { messages: [] }
  const feed = await at.request('GET', `/ndjson/${id}`)
  await turn(at, id, { stream: 'none', messages: [grant(callsIn(stopped.messages)[0]!.toolCallId)] })
  const lines = linesOf(await feed.text())
  const { seq } = await at.host.engineFor({ owner: 'alice' }).summary({ owner: 'alice', session: id })
  const counts = Object.groupBy(lines, ({ type }) => type)
  assert.equal(counts['event']?.length, seq)
  const pieces = counts['delta']?.filter(({ delta }) => delta?.type === 'text')
  assert.equal(pieces?.length, 3)
  assert.equal(counts['waiting']?.length, 1)
  assert.equal(counts['ended']?.length, 1)
  assert.equal(lines.at(-2)?.event?.type, 'turn.ended')
  assert.equal(lines.at(-1)?.type, 'ended')
})

test('a reader that leaves ends its stream and nothing else', async t => {
  const gate = latch()
  const at = await rig(
    t,
    { script: [{ calls: [{ name: 'slow' }] }, { text: 'done' }], wires: [ndjson] },
    gate,
  )
  const id = await newSession(at, { agent: { tools: [{ name: 'slow', trust: true }] } })
  const running = turn(at, id, say('go'))
  const leaving = new AbortController()
  const feed = await fetch(`${at.url}/ndjson/${id}`, { signal: leaving.signal })
  leaving.abort()
  await assert.rejects(feed.text())
  gate.open()
  assert.equal((await running).status, 200)
})

test('a session of another owner and a number that does not exist are refused', async t => {
  const at = await rig(t, { wires: [ndjson] })
  const id = await newSession(at)
  const bob = { 'x-owner': 'bob' }
  const refused = async (path: string, headers = {}): Promise<[number, string]> => {
    const answer = await at.request('GET', path, undefined, headers)
    const body = (await answer.json()) as { refused: string; because: string }
    assert.deepEqual(Object.keys(body), ['refused', 'because'])
    return [answer.status, body.refused]
  }
  assert.deepEqual(await refused(`/ndjson/${id}`, bob), [404, 'session_not_found'])
  for (const from of ['0', '99', 'x', '1.5'])
    assert.deepEqual(await refused(`/ndjson/${id}?from=${from}`), [400, 'bad_request'])
})

test('the encoder is a pure fold', () => {
  assert.equal(ndjsonEncoder.take({ type: 'running' }), '{"type":"running"}\n')
  assert.equal(
    ndjsonEncoder.fail({ code: 'internal', message: 'No.' }),
    '{"type":"lost","error":{"code":"internal","message":"No."}}\n',
  )
})
