// A server is killed at every point of what stops a running call: a message that interrupts, and the stop of that one call. Each
// has its effect once: the call has one outcome, the message is read once, and the history stays valid.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { crashPoints } from '../../src/engine/ports/index.ts'
import { joinText } from '../../src/language/content.ts'
import { isLong } from '../faults/scale.ts'
import { dies, killed, newFolder, Steps, serveScript } from './killed-server.ts'
import { validLog } from './promises.ts'

const script = fileURLToPath(new URL('./messages.ts', import.meta.url))
const tools = [{ name: 'ring', description: 'Rings.', parameters: { type: 'object' } }]

const points = isLong
  ? crashPoints
  : (['input-decided', 'message-recorded', 'message-delivered', 'outcome-recorded', 'turn-ended'] as const)
const mostTimes = isLong ? 9 : 2

type State = { status: string; pending: { toolCallId: string; name: string }[] }

async function request(url: string, path: string, body?: object, key?: string): Promise<Response> {
  return fetch(`${url}/sessions${path}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) },
  })
}

/** A client that remembers the steps which were acknowledged, and repeats the others under their keys. */
class Talk {
  session = ''
  readonly #stop: (talk: Talk, url: string) => Promise<void>
  readonly #steps = new Steps()

  constructor(stop: (talk: Talk, url: string) => Promise<void>) {
    this.#stop = stop
  }

  async go(url: string): Promise<string> {
    await this.#steps.take('create', async () => {
      const made = await request(url, '', { agent: { name: 'helper' }, tools }, 'create')
      this.session = ((await made.json()) as { sessionId: string }).sessionId
    })
    await this.#steps.take('start', async () => {
      const turn = { messages: [{ role: 'user', content: 'wait here' }], stream: 'message' }
      const begun = await request(url, `/${this.session}/turns`, turn, 'start')
      assert.ok(begun.ok)
      await begun.body?.cancel()
    })
    await this.#steps.take('stop', () => this.#stop(this, url))
    await this.#steps.take('result', async () => {
      // Another call waits for the application, if it was not stopped too.
      for (;;) {
        const { status, pending } = await this.state(url)
        const open = pending.find(({ name }) => name === 'ring')
        if (status === 'idle') return
        if (status === 'waiting' && open) {
          const answer = { role: 'tool', toolCallId: open.toolCallId, content: 'rang' }
          await (await request(url, `/${this.session}/turns`, { messages: [answer] }, 'result')).text()
          return
        }
        await sleep(5)
      }
    })
    while ((await this.state(url)).status !== 'idle') await sleep(5)
    return this.session
  }

  async state(url: string): Promise<State> {
    return (await (await request(url, `/${this.session}/state`)).json()) as State
  }

  /** The call of `wait`, once it has begun. */
  async waiting(url: string): Promise<string> {
    for (;;) {
      const events = await request(url, `/${this.session}/history?type=full`)
      const call = /"toolCallId":"([^"]+)","name":"wait"/.exec(await events.text())?.[1]
      if (call !== undefined) return call
      await sleep(5)
    }
  }
}

const interrupt = async (talk: Talk, url: string): Promise<void> => {
  await talk.waiting(url)
  const message = { messages: [{ role: 'user', content: 'stop it' }], during: 'interrupt' }
  const { status } = await request(url, `/${talk.session}/turns`, message, 'stop')
  assert.equal(status, 202)
}

const cancelCall = async (talk: Talk, url: string): Promise<void> => {
  const call = await talk.waiting(url)
  const { status } = await request(url, `/${talk.session}/calls/${call}/cancel`, {})
  // 409: it was stopped, and the answer was lost.
  assert.ok(status === 204 || status === 409, `${status}`)
}

async function check(folder: string, session: string, expected: readonly string[]): Promise<void> {
  const { log, entries } = await validLog(folder, session)
  assert.deepEqual(
    entries.map(entry => {
      if (entry.role === 'system') return entry.text
      if (entry.role !== 'tool') return joinText(entry.parts)
      return entry.results.map(({ name, outcome }) => `${name} ${outcome.kind}`).join()
    }),
    expected,
  )
  const settled = log.filter(({ event }) => event.type === 'call.settled')
  assert.equal(settled.length, 2, 'each call has one outcome')
}

for (const [name, stop, expected] of [
  [
    'a message that interrupts',
    interrupt,
    ['wait here', '', 'wait cancelled,ring cancelled', 'stop it', 'Heard stop it.'],
  ],
  ['the stop of one call', cancelCall, ['wait here', '', 'wait cancelled,ring ok', 'Heard .']],
] as const)
  for (const point of points)
    test(`${name} has its effect once after a kill at ${point}`, async t => {
      let reached = 0
      for (let time = 1; time <= mostTimes; time += 1) {
        const folder = newFolder(t)
        const talk = new Talk(stop)
        if (!(await dies(t, script, folder, `${point}:${time}`, url => talk.go(url)))) break
        reached += 1
        const { url, child } = await serveScript(t, script, folder)
        const session = await talk.go(url)
        await killed(child)
        await check(folder, session, expected)
      }
      if (point === 'outcome-recorded' || (stop === interrupt && point.startsWith('message-')))
        assert.ok(reached > 0, `${point} was never reached`)
    })
