// The limits of an owner on several nodes: turns at work, sessions and bytes are counted over all of them, requests and open
// streams on each. Whoever is over one is answered 429, on whichever node.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AllWires } from '../wires/all-wires.ts'
import { until } from './rig.ts'
import { wireNodes } from './wire-nodes.ts'

async function begin(at: AllWires): Promise<string> {
  const made = await at.request('POST', '/sessions', { agent: { name: 'helper' } })
  assert.equal(made.status, 201, await made.clone().text())
  return ((await made.json()) as { sessionId: string }).sessionId
}

const turn = { messages: [{ role: 'user', content: 'Go.' }] }
const say = (at: AllWires, id: string): Promise<Response> => at.request('POST', `/sessions/${id}/turns`, turn)

async function assertLimited(answer: Response): Promise<void> {
  const text = await answer.text()
  assert.equal(answer.status, 429, text)
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.match(text, /"rate_limited"/)
}

test('turns at work are counted over all nodes', async t => {
  const { a, b, c } = await wireNodes(t, {
    script: [{ hang: true }],
    server: { perOwner: { turns: 2 } },
  })
  const [one, two, three] = [await begin(a), await begin(b), await begin(c)]
  void say(a, one).catch(() => {})
  void say(b, two).catch(() => {})
  await until(async () => (await a.sessions.open('alice', one)).status === 'running')
  await until(async () => (await b.sessions.open('alice', two)).status === 'running')
  // A count is good for a second.
  let answer: Response | undefined
  await until(async () => {
    const given = say(c, three)
    answer = await Promise.race([given, new Promise<undefined>(resolve => setTimeout(resolve, 500))])
    if (!answer) await c.request('POST', `/sessions/${three}/cancel`, {})
    return answer !== undefined && answer.status === 429
  })
  await assertLimited(answer!)
  await a.request('POST', `/sessions/${two}/cancel`, {})
  // Another owner has turns of its own.
  const made = await c.request('POST', '/sessions', { agent: { name: 'helper' } }, { who: 'bob' })
  assert.equal(made.status, 201)
})

test('sessions are counted over all nodes', async t => {
  const { a, b, c } = await wireNodes(t, { server: { perOwner: { sessions: 4 } } })
  for (const at of [a, b, a, b]) await begin(at)
  await until(async () => {
    const made = await c.request('POST', '/sessions', { agent: { name: 'helper' } })
    if (made.status === 429) await assertLimited(made)
    return made.status === 429
  })
  const first = await a.request('GET', '/sessions')
  const { sessions } = (await first.json()) as { sessions: { sessionId: string }[] }
  // A node that counted a moment ago may let one more in.
  assert.ok(sessions.length <= 5, `${sessions.length} sessions`)
})

test('requests are counted on each node', async t => {
  const { a, b } = await wireNodes(t, { server: { perOwner: { requests: 1, burst: 50 } } })
  let answers: Response[] = []
  // More than a second gives back, at once.
  while (!answers.some(({ status }) => status === 429))
    answers = await Promise.all(Array.from({ length: 60 }, () => a.request('GET', '/sessions')))
  await assertLimited(answers.find(({ status }) => status === 429)!)
  assert.equal((await b.request('GET', '/sessions')).status, 200)
})

test('stored bytes are counted over all nodes', async t => {
  const script = Array.from({ length: 100 }, () => ({ text: 'x'.repeat(2_000) }))
  const { a, b, c } = await wireNodes(t, { script, server: { perOwner: { bytes: 20_000 } } })
  const [one, two] = [await begin(a), await begin(b)]
  // Neither has too much alone.
  for (const [at, id] of [
    [a, one],
    [b, two],
  ] as const)
    for (let turns = 0; turns < 5; turns++) assert.equal((await say(at, id)).status, 200)
  await until(async () => {
    const made = await c.request('POST', '/sessions', { agent: { name: 'helper' } })
    if (made.status === 429) await assertLimited(made)
    return made.status === 429
  })
  // Whoever deletes some may go on.
  for (const id of [one, two]) assert.equal((await c.request('DELETE', `/sessions/${id}`)).status, 204)
  await until(
    async () => (await c.request('POST', '/sessions', { agent: { name: 'helper' } })).status === 201,
  )
})

test('open streams are counted on each node', async t => {
  const { a, b } = await wireNodes(t, { server: { perOwner: { streams: 3 } } })
  const id = await begin(a)
  const follow = (at: AllWires): Promise<Response> => at.request('GET', `/sessions/${id}/events?after=0`)
  const open = [await follow(a), await follow(a), await follow(a)]
  for (const each of open) assert.equal(each.status, 200)
  await assertLimited(await follow(a))
  const elsewhere = await follow(b)
  assert.equal(elsewhere.status, 200)
  for (const each of [...open, elsewhere]) await each.body?.cancel()
  await until(async () => (await a.request('GET', '/sessions')).status === 200)
})
