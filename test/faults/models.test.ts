// Streams of models that hang, die or lie, in the form of each vendor, against a whole engine: no tool runs from a call that
// was not whole, every call is settled once, the turn ends, the next one works, and the history that is left is taken by
// every vendor.
import assert from 'node:assert/strict'
import { after, describe, type TestContext, test } from 'node:test'
import { defaultLimits } from '../../src/policy/index.ts'
import { type Fault, startDouble } from '../../src/testing/index.ts'
import { begin, eventsOf, makeRig, say, stopAll } from '../engine/rig.ts'
import { counted } from '../field-bugs/strict.ts'
import { LogRules } from '../sim/log-rules.ts'
import { type Vendor, vendors } from '../tools/search/rig.ts'
import { refusals } from './accepted.ts'

after(stopAll)

/** In generateContent arguments are no text but an object, so its double cannot say a key twice. */
const twice = '{"n":1,"n":2}'
const canSay = (vendor: Vendor, fault: Fault): boolean =>
  vendor !== 'gemini' || fault.kind !== 'arguments' || fault.text !== twice

/** `whole`: the vendor's answer arrives as it was meant, so its call runs. Otherwise nothing of it may run. */
const whole: readonly Fault[] = [
  { kind: 'unknown-events' },
  { kind: 'ping-flood', count: 200 },
  { kind: 'one-byte-writes' },
  { kind: 'crlf' },
  { kind: 'split-utf8' },
  { kind: 'call-ids', ids: 'duplicate' },
  { kind: 'call-ids', ids: 'empty' },
  { kind: 'call-ids', ids: 'long' },
]
const broken: readonly Fault[] = [
  { kind: 'rate-limit', retryAfter: 0 },
  { kind: 'overloaded' },
  { kind: 'server-error', status: 500 },
  { kind: 'hang' },
  { kind: 'reset' },
  { kind: 'max-tokens-in-arguments' },
  { kind: 'tool-not-offered' },
  { kind: 'arguments', text: '{"n":1' },
  { kind: 'arguments', text: '[]' },
  { kind: 'arguments', text: twice },
  { kind: 'error-event' },
  { kind: 'eof-before-end' },
  { kind: 'eof-after-tool-name' },
  { kind: 'hang-after-headers' },
  { kind: 'hang-after-frames', frames: 2 },
  { kind: 'reset-after-frames', frames: 1 },
  { kind: 'reset-after-frames', frames: 2 },
]

async function rig(t: TestContext, vendor: Vendor, fault: Fault) {
  // A body that is cut or lies is followed by plain answers, which a retry or the next turn gets.
  const calls = [{ name: 'pay', input: { n: 1 } }]
  let asked = 0
  const double = await startDouble({
    vendor,
    script: () => (++asked === 1 ? { text: 'Paying, ü.', calls, fault } : { text: 'Very well.' }),
  })
  t.after(() => double.close())
  const { make, model, path } = vendors[vendor]
  // Only a fault that is silent for ever has to wait for the longest silence.
  const silenceMs = fault.kind.startsWith('hang') ? 2_000 : 120_000
  const limits = { retries: 1, backoffMs: 1, maxBackoffMs: 1, firstByteMs: silenceMs, idleMs: silenceMs }
  const made = make({ model, apiKey: 'k', baseUrl: `${double.url}${path}`, limits })
  const pay = counted('pay', { trust: 'trusted' })
  return { double, pay, rig: makeRig({ model: made, tools: [pay.tool] }) }
}

async function attempt(t: TestContext, vendor: Vendor, fault: Fault, isWhole: boolean): Promise<void> {
  const where = `${vendor} ${JSON.stringify(fault)}`
  const { double, pay, rig: at } = await rig(t, vendor, fault)
  const session = await begin(at)
  await say(session, 'go')
  assert.equal(session.status, 'idle', where)
  assert.equal(pay.runs.length, isWhole ? 1 : 0, `${where}: ${pay.runs.length} runs`)
  await say(session, 'and now?')
  assert.equal(session.state.lastStop?.stop, 'end', `${where}: ${at.logs.at(-1)}`)
  assert.equal(pay.runs.length, isWhole ? 1 : 0, where)
  const rules = new LogRules(session.id, () => ({ trust: 'trusted', exposed: true }), defaultLimits)
  for (const event of await eventsOf(at, session)) assert.equal(rules.append([event], 1), undefined, where)
  for (const [id, { outcome }] of rules.calls) assert.ok(outcome, `${where}: ${id} was never settled`)
  assert.deepEqual(refusals(session.state.entries), [], where)
  assert.deepEqual(double.rejections(), [], where)
}

for (const vendor of Object.keys(vendors) as Vendor[])
  describe(`${vendor}: the stream`, { concurrency: 4 }, () => {
    for (const fault of whole)
      test(`arrives whole in spite of ${JSON.stringify(fault)}`, t => attempt(t, vendor, fault, true))
    for (const fault of broken.filter(each => canSay(vendor, each)))
      test(`is broken by ${JSON.stringify(fault)}`, t => attempt(t, vendor, fault, false))
  })
