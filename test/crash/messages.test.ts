// A server is killed at every point of messages that wait: those that were acknowledged are delivered once, in their place.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { fold } from '../../src/engine/index.ts'
import { crashPoints } from '../../src/engine/ports/index.ts'
import { joinText } from '../../src/language/content.ts'
import { defaultLimits } from '../../src/policy/index.ts'
import { refusals } from '../faults/accepted.ts'
import { isLong } from '../faults/scale.ts'
import { LogRules } from '../sim/log-rules.ts'
import { killed, newFolder, serveScript } from './killed-server.ts'
import { logOf } from './promises.ts'

const script = fileURLToPath(new URL('./messages.ts', import.meta.url))
const tools = [{ name: 'ring', description: 'Rings.', parameters: { type: 'object' } }]

const points = isLong
  ? crashPoints
  : (['message-recorded', 'message-delivered', 'message-withdrawn', 'turn-ended', 'model-asked'] as const)
const mostTimes = isLong ? 9 : 3

type Answer = { status: number; body: { sessionId?: string; messageId?: string; code?: string } }

/** A client that remembers the steps which were acknowledged, and repeats the others under their keys. */
class Talk {
  #session = ''
  #withdrawn = ''
  readonly #done = new Set<string>()

  async go(url: string): Promise<string> {
    const turns = (): string => `/sessions/${this.#session}/turns`
    const message = (content: string) => ({ messages: [{ role: 'user', content }] })
    await this.#step('create', async () => {
      const made = await post(url, '/sessions', { agent: { name: 'helper' }, tools }, 'create')
      this.#session = made.body.sessionId ?? ''
    })
    await this.#step('go', () => post(url, turns(), message('go'), 'go'))
    const during = (content: string, how: string) =>
      this.#step(content, async () => {
        const { status, body } = await post(url, turns(), { ...message(content), during: how }, content)
        assert.equal(status, 202)
        this.#withdrawn = body.messageId ?? ''
      })
    await during('in blue', 'steer')
    await during('then this', 'queue')
    await during('never mind', 'queue')
    await this.#step('withdraw', async () => {
      const path = `/sessions/${this.#session}/messages/${this.#withdrawn}`
      const { status } = await request(url, 'DELETE', path)
      // 409: it was withdrawn, and the answer was lost.
      assert.ok(status === 204 || status === 409, `${status}`)
    })
    await this.#step('result', async () => {
      const state = (await (await fetch(`${url}/sessions/${this.#session}/state`)).json()) as {
        pending: { toolCallId: string }[]
      }
      const [open] = state.pending
      if (!open) return
      const answer = { role: 'tool', toolCallId: open.toolCallId, content: 'rang' }
      await post(url, turns(), { messages: [answer] }, 'result')
    })
    for (;;) {
      const { status } = (await (await fetch(`${url}/sessions/${this.#session}/state`)).json()) as {
        status: string
      }
      if (status === 'idle') return this.#session
      await sleep(5)
    }
  }

  async #step(name: string, act: () => Promise<unknown>): Promise<void> {
    if (this.#done.has(name)) return
    await act()
    this.#done.add(name)
  }
}

async function post(url: string, path: string, body: unknown, key: string): Promise<Answer> {
  return request(url, 'POST', path, body, { 'idempotency-key': key.replaceAll(' ', '-') })
}

async function request(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  more: Record<string, string> = {},
): Promise<Answer> {
  const headers = { ...(body !== undefined && { 'content-type': 'application/json' }), ...more }
  const answer = await fetch(`${url}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? {} : (JSON.parse(text) as Answer['body']) }
}

/** Whether the server died at the point. */
async function dies(t: TestContext, folder: string, talk: Talk, crashAt: string): Promise<boolean> {
  const { url, child } = await serveScript(t, script, folder, crashAt)
  const died = new Promise<true>(resolve => child.once('exit', () => resolve(true)))
  const talked = talk.go(url).then(
    () => false,
    (error: unknown) => {
      if (error instanceof assert.AssertionError) throw error
      return died
    },
  )
  const gone = await Promise.race([died, talked])
  await killed(child)
  return gone
}

async function check(folder: string, session: string): Promise<void> {
  const log = await logOf(folder, session)
  const rules = new LogRules(session, () => ({ trust: 'trusted', exposed: false }), defaultLimits)
  for (const { event } of log) assert.equal(rules.append([event], 1), undefined)
  const { entries } = fold(session, log)
  assert.deepEqual(
    entries.map(entry => (entry.role === 'user' ? joinText(entry.parts) : entry.role)),
    ['go', 'assistant', 'tool', 'in blue', 'assistant', 'then this', 'assistant'],
  )
  assert.deepEqual(refusals(entries), [])
}

for (const point of points)
  test(`messages that were acknowledged are delivered once after a kill at ${point}`, async t => {
    let reached = 0
    for (let time = 1; time <= mostTimes; time += 1) {
      const folder = newFolder(t)
      const talk = new Talk()
      if (!(await dies(t, folder, talk, `${point}:${time}`))) break
      reached += 1
      const { url, child } = await serveScript(t, script, folder)
      const session = await talk.go(url)
      await killed(child)
      await check(folder, session)
    }
    if (point.startsWith('message-')) assert.ok(reached > 0, `${point} was never reached`)
  })
