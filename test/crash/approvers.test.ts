// A server is killed between two votes, and while each of them is recorded: a vote that was acknowledged is there afterwards and
// counts once, and the call runs at most once, after both.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { effectsIn, killed, newFolder, serveScript } from './killed-server.ts'
import { logOf } from './promises.ts'

const script = fileURLToPath(new URL('./approvers.ts', import.meta.url))

type Call = { part: { id: string }; votes?: { name: string }[] }
type Seen = { id: string; status: string; calls: Call[] }

async function request(url: string, who: string, method: string, path: string, body?: object) {
  const headers = { 'x-person': who, ...(body && { 'content-type': 'application/json' }) }
  const answer = await fetch(`${url}/operator/sessions${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: JSON.parse((await answer.text()) || '{}') as Seen }
}

const see = async (url: string, id: string): Promise<Seen> =>
  (await request(url, 'ana', 'GET', `/${id}`)).body

async function reached(url: string, id: string, status: string): Promise<Seen> {
  for (;;) {
    const seen = await see(url, id)
    if (seen.status === status) return seen
    await sleep(5)
  }
}

/** Ana asks for a payment. */
async function begin(url: string): Promise<{ id: string; callId: string }> {
  const { id } = (await request(url, 'ana', 'POST', '', { agent: 'helper' })).body
  await request(url, 'ana', 'POST', `/${id}/commands`, { do: 'say', text: 'go' })
  const { calls } = await reached(url, id, 'waiting')
  return { id, callId: calls[0]?.part.id ?? '' }
}

const vote = async (url: string, who: string, { id, callId }: { id: string; callId: string }) =>
  (await request(url, who, 'POST', `/${id}/commands`, { do: 'decide', callId, granted: true })).status

/** Ben and Eve vote, each of them again until it is acknowledged. A vote that was recorded before is refused as such. */
async function finish(
  t: TestContext,
  folder: string,
  about: { id: string; callId: string },
  isUnknown = false,
): Promise<void> {
  const { url, child } = await serveScript(t, script, folder)
  assert.equal(await vote(url, 'ana', about), (await see(url, about.id)).calls.length > 0 ? 403 : 409)
  for (const who of ['ben', 'eve']) {
    const status = await vote(url, who, about)
    assert.ok(status < 300 || status === 409, `${who}: ${status}`)
  }
  await reached(url, about.id, 'idle')
  await killed(child)
  const log = await logOf(folder, about.id)
  const ends = log.flatMap(({ event }) => (event.type === 'call.settled' ? [event.outcome.kind] : []))
  // The last vote and the intent to run are one write. A call that was killed behind it is not run again.
  assert.deepEqual([ends, effectsIn(folder)], isUnknown ? [['unknown'], []] : [['ok'], ['paid']])
  const yes = log.flatMap(({ event }) =>
    event.type === 'approval.voted' || event.type === 'approval.decided' ? [`${event.type} ${event.by}`] : [],
  )
  assert.deepEqual(yes, ['approval.voted ben', 'approval.decided eve'])
}

test('a vote that was acknowledged survives a kill, and counts once', async t => {
  const folder = newFolder(t)
  const { url, child } = await serveScript(t, script, folder)
  const about = await begin(url)
  assert.ok((await vote(url, 'ben', about)) < 300)
  await killed(child)
  const next = await serveScript(t, script, folder)
  const { calls } = await see(next.url, about.id)
  assert.deepEqual(
    calls[0]?.votes?.map(({ name }) => name),
    ['ben'],
  )
  assert.equal(await vote(next.url, 'ben', about), 409)
  assert.deepEqual(effectsIn(folder), [])
  await killed(next.child)
  await finish(t, folder, about)
})

for (const time of [1, 2])
  test(`both votes are there once, and the call runs at most once, after a kill while vote ${time} is recorded`, async t => {
    const folder = newFolder(t)
    const { url, child } = await serveScript(t, script, folder, `decision-recorded:${time}`)
    const died = new Promise<NodeJS.Signals | null>(resolve =>
      child.once('exit', (_, signal) => resolve(signal)),
    )
    const about = await begin(url)
    const votes = (async () => {
      for (const who of ['ben', 'eve']) await vote(url, who, about)
    })()
    await votes.catch(() => {})
    assert.equal(await died, 'SIGKILL')
    await finish(t, folder, about, time === 2)
  })
