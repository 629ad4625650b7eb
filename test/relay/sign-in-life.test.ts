// How long one signature of a wallet lets a machine stay attached, by a clock of the test's own.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { type TestContext, test } from 'node:test'
import { relayDefaults } from '../../src/relay/config.ts'
import type { ServerFrame } from '../../src/relay/frames.ts'
import { Attached } from '../../src/relay/server/accept.ts'
import { Dispatch } from '../../src/relay/server/dispatch.ts'
import { relayTokens } from '../../src/relay/server/jwt.ts'
import { Registry } from '../../src/relay/server/registry.ts'
import { cites } from '../requirements/manifest.ts'

const hour = 3_600_000
const wallet = `0x${'ab'.repeat(20)}` as const
const secret = Buffer.alloc(32, 3)
const tokens = relayTokens(secret, { tokenMs: 24 * hour, signInMs: 168 * hour })

/** A machine that attaches with a token, and answers pings. */
function attach(t: TestContext, jwt: string) {
  const sent: ServerFrame[] = []
  const closed: { code: number; at: number }[] = []
  const socket = Object.assign(new EventEmitter(), {
    send(text: string) {
      const frame = JSON.parse(text) as ServerFrame
      sent.push(frame)
      if (frame.type === 'ping') take({ type: 'pong', ts: frame.ts })
    },
    close: (code: number) => void closed.push({ code, at: Date.now() }),
    terminate: () => assert.fail('It is not silent.'),
    bufferedAmount: 0,
  })
  const take = (frame: object): unknown => socket.emit('message', JSON.stringify(frame), false)
  t.after(() => socket.emit('close'))
  const registry = new Registry(Date.now)
  const limits = {
    ...relayDefaults,
    ...{ pingMs: hour, answerChars: 1_000, unsentBytes: 1, frameBytes: 10_000 },
    ...{ authMs: 1_000, machines: 2, attached: 2 },
  }
  const dispatch = new Dispatch(registry, { queueMs: 1, mostWaiting: 1 })
  const options = { registry, dispatch, tokens, admits: () => true, limits, now: Date.now, log: () => {} }
  assert.ok(new Attached(socket, options))
  take({ type: 'auth', jwt, protocol: 2 })
  const [machine] = registry.get(wallet)?.machines ?? []
  const given = (): string[] => sent.flatMap(frame => (frame.type === 'jwt_refresh' ? [frame.jwt] : []))
  return { sent, closed, given, take, machine }
}

const hours = (t: TestContext, count: number): void => {
  for (let done = 0; done < count; done += 1) t.mock.timers.tick(hour)
}

test(
  cites('SIX-AUTH-07', 'tokens are renewed for a week after the wallet signed, and none outlives that'),
  t => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_000_000_000 })
    const begun = Date.now()
    const { jwt } = tokens.issue(wallet, begun)
    const { closed, given } = attach(t, jwt)
    hours(t, 167)
    assert.ok(given().length > 10, `${given().length}`)
    assert.deepEqual(closed, [])
    hours(t, 2)
    assert.deepEqual(
      closed.map(({ code }) => code),
      [1008],
    )
    for (const each of [jwt, ...given()]) {
      const claims = tokens.read(each, begun + 1)
      assert.equal(claims?.signedAt, begun)
      assert.ok((claims?.expiresAt ?? Infinity) <= begun + 168 * hour)
      assert.equal(tokens.read(each, begun + 168 * hour), undefined)
    }
  },
)

test('a token that was renewed lets nobody stay longer than the first one', t => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_000_000_000 })
  const begun = Date.now()
  const { given } = attach(t, tokens.issue(wallet, begun).jwt)
  hours(t, 150)
  const thief = attach(t, given().at(-1) ?? '')
  hours(t, 19)
  assert.equal(thief.closed.length, 1)
  const last = [...given(), ...thief.given()].at(-1) ?? ''
  const late = attach(t, last)
  assert.equal(late.sent[0]?.type, 'auth_error')
})

test('a machine answers what it was asked before it has to sign in again', t => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_000_000_000 })
  const { machine, closed, sent, take } = attach(t, tokens.issue(wallet, Date.now()).jwt)
  assert.ok(machine)
  hours(t, 167)
  t.mock.timers.tick(hour - 2_000)
  const ends: string[] = []
  machine.ask({}, false, { event() {}, end: ({ end }) => void ends.push(end) })
  t.mock.timers.tick(5_000)
  assert.deepEqual(closed, [])
  assert.equal(machine.free, false)
  const asked = sent.find(frame => frame.type === 'request')
  assert.ok(asked?.type === 'request')
  take({ type: 'response', id: asked.id, body: {} })
  assert.deepEqual(ends, ['response'])
  assert.equal(closed.length, 1)
})

test('a setting that was lowered holds for tokens that were given before', () => {
  const { jwt, claims } = tokens.issue(wallet, 1_000_000)
  assert.equal(claims.signedAt, 1_000_000)
  const lower = relayTokens(secret, { tokenMs: 24 * hour, signInMs: hour })
  assert.ok(lower.read(jwt, 1_000_000 + hour - 1))
  assert.equal(lower.read(jwt, 1_000_000 + hour), undefined)
})
