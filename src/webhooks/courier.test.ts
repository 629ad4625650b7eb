// The courier with a clock that the test sets: when messages are sent, sent again, and given up.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { RecordStore } from '../engine/ports/index.ts'
import type { Notice } from '../language/notices.ts'
import { memoryStore } from '../stores/memory.ts'
import { mostAttempts, nextWait } from './back-off.ts'
import type { WebhooksConfig } from './config.ts'
import { Courier, type CourierPorts } from './courier.ts'
import { addressNotice, deliveryKind, messageId } from './delivery.ts'
import { WebhookDesk } from './endpoints.ts'
import type { SignedMessage } from './signature.ts'

const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
const endpoints: WebhooksConfig = { ops: { url: 'https://ops.example/hooks', secret } }
const start = Date.parse('2026-03-01T12:00:00Z')

const notice: Notice = {
  type: 'approval.requested',
  at: start,
  session: 'ses_1',
  seq: 7,
  owner: 'ada',
  agent: 'helper',
  call: 'call_1',
  tool: 'pay',
}

/** Timers run when the clock is set past them, in their order. */
class Clock {
  time = start
  #timers: { at: number; run: () => void }[] = []
  now = (): number => this.time
  timer = (ms: number, run: () => void): (() => void) => {
    const timer = { at: this.time + ms, run }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter(each => each !== timer)
    }
  }
  async pass(ms: number): Promise<void> {
    const end = this.time + ms
    for (;;) {
      await settled()
      const next = this.#timers.toSorted((one, two) => one.at - two.at)[0]
      if (!next || next.at > end) break
      this.#timers = this.#timers.filter(each => each !== next)
      this.time = next.at
      next.run()
    }
    this.time = end
    await settled()
  }
}

/** Everything that waits for no timer has happened. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
}

type Sent = SignedMessage & { at: number; url: string }

function rig(
  answer: (sent: Sent, count: number) => Response | Promise<Response>,
  more: Partial<CourierPorts> = {},
) {
  const clock = new Clock()
  const records = memoryStore().records as RecordStore // A memory keeps them.
  const sent: Sent[] = []
  const logs: string[] = []
  const ports: CourierPorts = {
    records,
    world: clock,
    post: async (url, message) => {
      const each = { ...message, at: clock.now(), url }
      sent.push(each)
      return answer(each, sent.length)
    },
    secrets: () => [secret],
    link: () => undefined,
    log: (_, message, fields) => void logs.push(`${message} ${JSON.stringify(fields)}`),
    chance: () => 0,
    pollMs: 3_600_000,
    ...more,
  }
  const add = async (given = notice): Promise<void> => {
    for (const record of addressNotice(endpoints, given)) await records.add(record)
  }
  const desk = new WebhookDesk(endpoints, records, clock.now)
  return { clock, records, sent, logs, ports, add, desk, courier: () => new Courier(endpoints, ports) }
}

const ok = (): Response => new Response(null, { status: 204 })
const status = (code: number, headers: Record<string, string> = {}): Response =>
  new Response('no', { status: code, headers })

const stateOf = async ({ desk }: ReturnType<typeof rig>) =>
  (await desk.deliveries('ops', { limit: 9 })).deliveries.map(({ id, state, attempts }) => [
    id,
    state,
    attempts,
  ])

test('a message is posted once, signed as the specification says, and has the notice and nothing else', async () => {
  const r = rig(ok)
  await r.add()
  r.courier().wake()
  await r.clock.pass(60_000)
  assert.equal(r.sent.length, 1)
  const [{ headers, body, url }] = r.sent as [Sent]
  assert.equal(url, 'https://ops.example/hooks')
  assert.equal(headers['webhook-id'], messageId(notice))
  assert.equal(headers['webhook-timestamp'], String(start / 1000))
  const { type: _, at: __, ...data } = notice
  assert.deepEqual(JSON.parse(body), { type: notice.type, timestamp: '2026-03-01T12:00:00.000Z', data })
  assert.deepEqual(await stateOf(r), [['msg_ses_1_7', 'delivered', 1]])
})

test('a receiver that knows the old or the new secret takes a message that both have signed', async () => {
  const fresh = `whsec_${Buffer.from('another secret of thirty-two byte').toString('base64')}`
  const now = Date.now()
  const r = rig(ok, { secrets: () => [fresh, secret] })
  r.clock.time = now
  await r.add({ ...notice, at: now })
  r.courier().wake()
  await r.clock.pass(0)
  const [{ body, headers }] = r.sent as [Sent]
  for (const each of [fresh, secret]) new Webhook(each).verify(body, headers)
  assert.throws(() => new Webhook(secret.replace('M', 'N')).verify(body, headers))
  assert.throws(() => new Webhook(secret).verify(`${body} `, headers))
})

test('a message that is not taken is sent again after growing waits, with the same id, and is given up after three days', async () => {
  const r = rig(() => status(500))
  await r.add()
  r.courier().wake()
  await r.clock.pass(5 * 24 * 3_600_000)
  const waits = r.sent.map(({ at }, index) => at - (r.sent[index - 1]?.at ?? start)).slice(1)
  assert.deepEqual(
    waits,
    Array.from({ length: mostAttempts - 1 }, (_, index) => nextWait(index + 1, 0)),
  )
  assert.equal(new Set(r.sent.map(({ id }) => id)).size, 1)
  assert.equal(new Set(r.sent.map(({ body }) => body)).size, 1)
  assert.equal(new Set(r.sent.map(({ headers }) => headers['webhook-timestamp'])).size, mostAttempts)
  assert.deepEqual(await stateOf(r), [['msg_ses_1_7', 'failed', mostAttempts]])
})

test('waits are spread by up to a fifth, and the receiver may ask for a longer one, up to a day', () => {
  assert.deepEqual([nextWait(1, 0), nextWait(1, 0.5), nextWait(1, 1)], [5_000, 5_500, 6_000])
  assert.equal(nextWait(1, 1, 90_000), 90_000)
  assert.equal(nextWait(4, 0, 1_000), 30 * 60_000)
  assert.equal(nextWait(1, 0, 400 * 24 * 3_600_000), 24 * 3_600_000)
  assert.equal(nextWait(mostAttempts, 0), undefined)
})

test('Retry-After in seconds and as a date is kept to', async () => {
  for (const after of ['120', new Date(start + 120_000).toUTCString()]) {
    const r = rig((_, count) => (count === 1 ? status(429, { 'retry-after': after }) : ok()))
    await r.add()
    r.courier().wake()
    await r.clock.pass(119_000)
    assert.equal(r.sent.length, 1)
    await r.clock.pass(2_000)
    assert.equal(r.sent.length, 2)
    assert.deepEqual(await stateOf(r), [['msg_ses_1_7', 'delivered', 2]])
  }
})

test('an endpoint that is unreachable is tried again, and its words are in the list', async () => {
  const r = rig((_, count) => (count < 3 ? Promise.reject(new Error('connect ECONNREFUSED')) : ok()))
  await r.add()
  r.courier().wake()
  await r.clock.pass(60_000)
  const { deliveries } = await r.desk.deliveries('ops', { limit: 1 })
  assert.deepEqual(
    deliveries[0]?.tries.map(({ status: code, error }) => code ?? error),
    ['connect ECONNREFUSED', 'connect ECONNREFUSED', 204],
  )
  assert.ok(r.logs.every(line => !line.includes(secret)))
})

test('410 disables the endpoint until an operator enables it, and what came meanwhile can be sent then', async () => {
  let gone = true
  const r = rig(() => (gone ? status(410) : ok()))
  await r.add()
  const courier = r.courier()
  courier.wake()
  await r.clock.pass(1_000)
  await r.add({ ...notice, seq: 8 })
  courier.wake()
  await r.clock.pass(86_400_000)
  assert.equal(r.sent.length, 1)
  assert.deepEqual((await r.desk.list())[0]?.disabled, { at: start, reason: 'It answered 410.' })
  gone = false
  assert.equal(await r.desk.enable('ops'), true)
  assert.equal(await r.desk.enable('ops'), false)
  await r.desk.resend('ops', 'msg_ses_1_8')
  courier.wake()
  await r.clock.pass(1_000)
  assert.deepEqual(await stateOf(r), [
    ['msg_ses_1_8', 'delivered', 1],
    ['msg_ses_1_7', 'failed', 1],
  ])
})

test('another address of the same name is not disabled', async () => {
  const r = rig(() => status(410))
  await r.add()
  r.courier().wake()
  await r.clock.pass(1_000)
  const moved = { ops: { url: 'https://new.example/hooks', secret } }
  assert.equal((await new WebhookDesk(moved, r.records, r.clock.now).list())[0]?.disabled, undefined)
})

test('a message whose process ended in the middle of an attempt is sent again by another, with the same id', async () => {
  const r = rig(ok)
  await r.add()
  // The first courier takes it, and its process ends.
  const dying = rig(() => new Promise<Response>(() => {}), { records: r.records, world: r.clock })
  dying.courier().wake()
  await r.clock.pass(0)
  assert.equal(dying.sent.length, 1)
  r.courier().wake()
  await r.clock.pass(40_000)
  assert.equal(r.sent.length, 0)
  await r.clock.pass(20_000)
  assert.deepEqual(
    r.sent.map(({ id }) => id),
    dying.sent.map(({ id }) => id),
  )
})

test('of several nodes one sends a message', async () => {
  const r = rig(ok)
  const nodes = [r.courier(), r.courier(), r.courier()]
  for (let seq = 1; seq <= 40; seq++) await r.add({ ...notice, seq })
  for (const node of nodes) node.wake()
  await r.clock.pass(30_000)
  assert.equal(r.sent.length, 40)
  assert.equal(new Set(r.sent.map(({ id }) => id)).size, 40)
})

test('messages are forgotten a week after they were delivered', async () => {
  const r = rig(ok)
  await r.add()
  const courier = r.courier()
  courier.wake()
  await r.clock.pass(6 * 86_400_000)
  assert.equal((await stateOf(r)).length, 1)
  await assert.rejects(r.desk.resend('ops', 'msg_none'), { code: 'not_found' })
  await assert.rejects(r.desk.resend('nobody', 'msg_ses_1_7'), { code: 'not_found' })
  await r.clock.pass(2 * 86_400_000)
  assert.deepEqual(await stateOf(r), [])
  assert.deepEqual(await r.records.due(deliveryKind('ops'), 9), [])
})

test('an endpoint gets the types, agents and owners that it names', () => {
  const wants = (filter: object): boolean =>
    addressNotice({ a: { url: 'https://a.example', ...filter } }, notice).length === 1
  assert.ok(wants({}))
  assert.ok(wants({ events: ['turn.*', 'approval.*'], agents: ['helper'], owners: ['a*'] }))
  assert.ok(!wants({ events: ['turn.*'] }))
  assert.ok(!wants({ agents: ['other'] }))
  assert.ok(!wants({ owners: ['bob'] }))
  assert.ok(!wants({ events: [] }))
})

test('a store that fails is asked again later', async () => {
  const r = rig(ok)
  await r.add()
  let fails = 2
  const records = {
    ...r.records,
    due: async (kind: string, limit: number) => {
      if (fails-- > 0) throw new Error('away')
      return r.records.due(kind, limit)
    },
  }
  new Courier(endpoints, {
    ...r.ports,
    pollMs: 10_000,
    records,
  }).wake()
  await r.clock.pass(60_000)
  assert.equal(r.sent.length, 1)
  assert.equal(r.logs.filter(line => line.startsWith('Messages to a webhook cannot be read')).length, 2)
})
