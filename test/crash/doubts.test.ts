// A server is killed while a tool is asked what became of a call, and while a call is undone: nothing runs twice, what was found is
// recorded once, and every history is one that the vendors take.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fold } from '../../src/engine/index.ts'
import { refusals } from '../faults/accepted.ts'
import { killed, newFolder, Steps, serveScript, untilIdle } from './killed-server.ts'
import { logOf } from './promises.ts'

const script = fileURLToPath(new URL('./doubts.ts', import.meta.url))
const headers = { 'content-type': 'application/json', 'idempotency-key': 'once' }

async function send(url: string, path: string, body: unknown = {}): Promise<Response> {
  return fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** A client that does again what was not acknowledged. Refusals that say that it was done are answers. */
class Talk {
  session = ''
  callId = ''
  readonly #steps = new Steps()

  async go(url: string, folder: string): Promise<void> {
    await this.#steps.take('create', async () => {
      const made = await send(url, '/sessions', { agent: { name: 'helper' } })
      this.session = ((await made.json()) as { sessionId: string }).sessionId
    })
    const base = `/sessions/${this.session}`
    await this.#steps.take('go', () =>
      send(url, `${base}/turns`, { messages: [{ role: 'user', content: 'go' }] }),
    )
    await untilIdle(url, this.session)
    const log = await logOf(folder, this.session)
    const answer = log.find(({ event }) => event.type === 'model.answered')?.event
    assert.ok(answer?.type === 'model.answered' && answer.parts[0]?.type === 'call')
    this.callId = answer.parts[0].id
    const call = `${base}/calls/${this.callId}`
    await this.#steps.take('reconcile', async () => {
      const { status } = await send(url, `${call}/reconcile`)
      assert.ok(status === 200 || status === 409, `${status}`)
    })
    await untilIdle(url, this.session)
    await this.#steps.take('undo', async () => {
      const { status } = await send(url, `${call}/undo`)
      assert.ok(status === 202 || status === 409, `${status}`)
    })
    await untilIdle(url, this.session)
  }
}

/** False: the server was not killed, as it does not come there so often. */
async function killedAt(t: TestContext, place: string): Promise<boolean> {
  const folder = newFolder(t)
  const talk = new Talk()
  const first = await serveScript(t, script, folder, place)
  const isKilled = await talk.go(first.url, folder).then(
    () => false,
    () => true,
  )
  await killed(first.child)
  const second = await serveScript(t, script, folder)
  await talk.go(second.url, folder)
  await killed(second.child)
  const log = await logOf(folder, talk.session)
  const effects = readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n')
  const count = (word: string): number => effects.filter(line => line.startsWith(word)).length
  assert.equal(count('paid'), 1, 'it was paid once')
  assert.ok(count('undone') <= 1, 'it was undone at most once')
  const events = log.map(({ event }) => event)
  const settled = events.filter(event => event.type === 'call.settled' && event.callId === talk.callId)
  assert.equal(settled.length, 1, 'the call was settled once')
  assert.ok(events.filter(({ type }) => type === 'call.reconciled').length <= 1, 'it was found out once')
  const state = fold(talk.session, log)
  assert.equal(state.doubts?.[talk.callId], undefined, 'it is known what became of it')
  const undone = state.undone?.[talk.callId]
  assert.ok(undone === 'done' ? count('undone') === 1 : undone === 'unknown', `it is undone: ${undone}`)
  assert.deepEqual(refusals(state.view), [])
  return isKilled
}

for (const point of ['check-asked', 'check-recorded', 'undo-run'] as const)
  test(`killed at ${point}`, async t => {
    let times = 0
    while (times < 3 && (await killedAt(t, `${point}:${times + 1}`))) times += 1
    assert.ok(times > 0, `${point} was never reached`)
  })
