// A server is killed at every point of messages that wait: those that were acknowledged are delivered once, in their place.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { crashPoints } from '../../src/engine/ports/index.ts'
import { joinText } from '../../src/language/content.ts'
import { isLong } from '../faults/scale.ts'
import { dies, killed, newFolder, Steps, serveScript, untilIdle } from './killed-server.ts'
import { validLog } from './promises.ts'

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
  readonly #steps = new Steps()

  async go(url: string): Promise<string> {
    const turns = (): string => `/sessions/${this.#session}/turns`
    const message = (content: string) => ({ messages: [{ role: 'user', content }] })
    await this.#steps.take('create', async () => {
      const made = await post(url, '/sessions', { agent: { name: 'helper' }, tools }, 'create')
      this.#session = made.body.sessionId ?? ''
    })
    await this.#steps.take('go', () => post(url, turns(), message('go'), 'go'))
    const during = (content: string, how: string) =>
      this.#steps.take(content, async () => {
        const { status, body } = await post(url, turns(), { ...message(content), during: how }, content)
        assert.equal(status, 202)
        this.#withdrawn = body.messageId ?? ''
      })
    await during('in blue', 'steer')
    await during('then this', 'queue')
    await during('never mind', 'queue')
    await this.#steps.take('withdraw', async () => {
      const path = `/sessions/${this.#session}/messages/${this.#withdrawn}`
      const { status } = await request(url, 'DELETE', path)
      // 409: it was withdrawn, and the answer was lost.
      assert.ok(status === 204 || status === 409, `${status}`)
    })
    await this.#steps.take('result', async () => {
      const state = (await (await fetch(`${url}/sessions/${this.#session}/state`)).json()) as {
        pending: { toolCallId: string }[]
      }
      const [open] = state.pending
      if (!open) return
      const answer = { role: 'tool', toolCallId: open.toolCallId, content: 'rang' }
      await post(url, turns(), { messages: [answer] }, 'result')
    })
    await untilIdle(url, this.#session)
    return this.#session
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

async function check(folder: string, session: string): Promise<void> {
  const { entries } = await validLog(folder, session)
  assert.deepEqual(
    entries.map(entry => (entry.role === 'user' ? joinText(entry.parts) : entry.role)),
    ['go', 'assistant', 'tool', 'in blue', 'assistant', 'then this', 'assistant'],
  )
}

for (const point of points)
  test(`messages that were acknowledged are delivered once after a kill at ${point}`, async t => {
    let reached = 0
    for (let time = 1; time <= mostTimes; time += 1) {
      const folder = newFolder(t)
      const talk = new Talk()
      if (!(await dies(t, script, folder, `${point}:${time}`, url => talk.go(url)))) break
      reached += 1
      const { url, child } = await serveScript(t, script, folder)
      const session = await talk.go(url)
      await killed(child)
      await check(folder, session)
    }
    if (point.startsWith('message-')) assert.ok(reached > 0, `${point} was never reached`)
  })
