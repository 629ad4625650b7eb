// Secrets in arguments inside the engine: who sees the exact ones, edits, hooks, counts, and a vault that is gone.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { CallPart } from '../../src/language/calls.ts'
import type { Event } from '../../src/language/events.ts'
import { hashJson } from '../../src/lib/json/hash.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, owner, type RigOptions, say, stopAll, until } from './rig.ts'

after(stopAll)

const secret = (n: number): string => `sk-abcdefghij012345678${n}`
const hidden = '[redacted: api-keys]'
const gate = { redact: ['secrets' as const] }
const login = (n: number) => ({ name: 'login', input: { key: secret(n) } })

function rigWith(options: RigOptions, trust: 'trusted' | 'ask' = 'ask') {
  const ran: unknown[] = []
  const input = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] }
  const tools = [
    tool({
      name: 'login',
      description: 'Logs in.',
      input,
      trust,
      run: given => {
        ran.push(given)
        return 'done'
      },
    }),
  ]
  return { rig: makeRig({ tools, gate, ...options }), ran }
}

/** Without what is sealed: the seal of these tests can be read. */
const shown = (events: readonly unknown[]): string =>
  JSON.stringify(events, (key, value: unknown) => (key === 'sealed' ? '(sealed)' : value))

test('a rule looks at the exact arguments, and the question shows the redacted ones', async () => {
  const seen: unknown[] = []
  const rules = [
    {
      when: ({ input, argsHash }: { input: unknown; argsHash: string }) => {
        seen.push([input, argsHash])
        return true
      },
      then: 'ask' as const,
    },
  ]
  const { rig, ran } = rigWith({ script: [{ calls: [login(1)] }, { text: 'In.' }], gate: { ...gate, rules } })
  const session = await begin(rig)
  await say(session, 'Log in.')
  const input = { key: secret(1) }
  assert.deepEqual(seen, [[input, hashJson(input)]])
  const call = session.state.batch[0]!
  assert.equal(call.text, JSON.stringify({ key: hidden }))
  assert.equal(call.argsHash, hashJson(input))
  assert.deepEqual(ran, [])
  const decision = { callId: call.part.id, granted: true, by: owner, seen: call.argsHash }
  const items = await until(session, () => session.respond({ results: [], decisions: [decision] }))
  assert.deepEqual(ran, [input])
  assert.ok(!shown(items).includes(secret(1)))
})

test('arguments that a person puts in are hidden in the same way, and replace all', async () => {
  const { rig, ran } = rigWith({ script: [{ calls: [login(1)] }, { text: 'In.' }] })
  const session = await begin(rig)
  await say(session, 'Log in.')
  const edit = JSON.stringify({ key: secret(2) })
  const decision = { callId: session.state.batch[0]!.part.id, granted: true, by: owner, edit }
  await until(session, () => session.respond({ results: [], decisions: [decision] }))
  assert.deepEqual(ran, [{ key: secret(2) }])
  const events = (await rig.store.read(session.id)).map(({ event }) => event)
  const edited = events.find((event: Event) => event.type === 'call.edited')
  assert.equal(edited?.text, JSON.stringify({ key: hidden }))
  assert.ok(!shown(events).includes('sk-abc'))
  assert.match(shown(session.state.entries), /arguments were changed/)
})

test('what a hook puts in is hidden, and a hook is shown the exact arguments', async () => {
  const seen: unknown[] = []
  const hooks: RigOptions['hooks'] = {
    repair: ({ text }) => {
      seen.push(text)
      return JSON.stringify({ key: secret(3) })
    },
    beforeCall: ({ input }) => void seen.push(input),
  }
  const calls = [{ name: 'login', input: { password: secret(1) } }]
  const { rig, ran } = rigWith({ script: [{ calls }, { text: 'In.' }], hooks }, 'trusted')
  const session = await begin(rig)
  await say(session, 'Log in.')
  assert.deepEqual(seen, [JSON.stringify({ password: secret(1) }), { key: secret(3) }])
  assert.deepEqual(ran, [{ key: secret(3) }])
  assert.ok(!shown(await rig.store.read(session.id)).includes('sk-abc'))
})

test('calls that differ only in what is hidden are not the same call', async () => {
  const script = [{ calls: [1, 2, 3, 4, 5, 6].map(login) }, { text: 'In.' }]
  const { rig, ran } = rigWith({ script }, 'trusted')
  const session = await begin(rig)
  await say(session, 'Log in everywhere.')
  assert.equal(ran.length, 6)
  const same = rigWith({ script: [{ calls: [1, 1, 1, 1, 1, 1].map(login) }, { text: 'In.' }] }, 'trusted')
  await say(await begin(same.rig), 'Log in again and again.')
  assert.equal(same.ran.length, 5)
})

test('a call whose seal cannot be opened is not run, and the session goes on', async () => {
  const script = [{ calls: [login(1)] }, { text: 'Then not.' }]
  const { rig } = rigWith({ script })
  const session = await begin(rig)
  await say(session, 'Log in.')
  const { id: callId } = session.state.batch[0]!.part
  await rig.engine.stop(0)
  const vault = { seal: (text: string) => text, open: () => assert.fail('another key') }
  const other = rigWith({ script, store: rig.store, vault })
  const again = await other.rig.engine.open(owner, session.id)
  const decisions = [{ callId, granted: true, by: owner }]
  await until(again, () => again.respond({ results: [], decisions }))
  assert.deepEqual(other.ran, [])
  assert.equal(again.state.lastStop?.stop, 'end')
  assert.match(shown(again.state.entries), /can no longer be opened/)
})

test('without rules arguments are recorded and streamed as the model wrote them', async () => {
  const { rig, ran } = rigWith({ script: [{ calls: [login(1)] }, { text: 'In.' }], gate: {} }, 'trusted')
  const session = await begin(rig)
  const items = await say(session, 'Log in.')
  const isCall = (part: { type: string }): part is CallPart => part.type === 'call'
  const parts = session.state.entries.flatMap(entry => (entry.role === 'assistant' ? entry.parts : []))
  const call = parts.find(isCall)
  assert.equal(call?.text, JSON.stringify({ key: secret(1) }))
  assert.ok(!('sealed' in call))
  assert.ok(items.some(item => item.type === 'delta' && item.delta.type === 'arguments'))
  assert.deepEqual(ran, [{ key: secret(1) }])
})
