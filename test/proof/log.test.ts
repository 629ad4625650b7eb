// The chain over a log: what is signed and when, and that no event can be changed, dropped, moved or added without being found.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, test } from 'node:test'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import type { Store } from '../../src/engine/index.ts'
import { runCommand } from '../../src/engine/turn/run-command.ts'
import type { Event } from '../../src/language/events.ts'
import { findReceipt } from '../../src/language/make-receipt.ts'
import { digestEvent, digestForm, Salts } from '../../src/language/receipts.ts'
import { sha256 } from '../../src/lib/json/hash.ts'
import { canonicalJson, type Json } from '../../src/lib/json/index.ts'
import { LogVerifier } from '../../src/proof/verify-log.ts'
import { flawOfReceipt, isReceipt } from '../../src/proof/verify-receipt.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { begin, makeRig, say, stopAll } from '../engine/rig.ts'
import { keys, play, playTurn, script, tools, trusted, verify, verifyStored } from './rig.ts'

after(stopAll)

async function* pages<Item>(items: Item[]): AsyncGenerator<Item[]> {
  yield items
}

test('canonical JSON is that of a program that we did not write', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      assert.equal(canonicalJson(value as Json), canonicalize(value))
    }),
  )
})

test('a turn is signed once it is over, and what is signed verifies', async () => {
  const { session, log } = await play({}, 2)
  const result = verify(session.id, log, log.length)
  assert.equal(result.broken, undefined)
  assert.equal(result.signedTo, log.length - 1)
  assert.deepEqual([result.calls, result.unsigned, result.readBack], [4, 0, 0])
  assert.equal(log.at(-1)?.event.type, 'log.signed')
})

test('the digest of an event is the hash of its salt and its canonical JSON', async () => {
  const { log } = await play()
  const signed = log.at(-1)?.event
  assert(signed?.type === 'log.signed')
  const salts = new Salts(signed.salt)
  for (const { seq, event } of log.slice(0, -1)) {
    const form = digestForm(event, salts, 2)
    assert.equal(digestEvent(form, salts.at(seq - 1)), sha256(salts.at(seq - 1) + canonicalize(form)))
  }
})

test('the salts of events are those of SHAKE-256, in whatever order they are asked for', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(200), { minLength: 1 }), places => {
      const salts = new Salts('source')
      for (const place of places) {
        const whole = createHash('shake256', { outputLength: 1024 })
          .update(`source:${Math.floor(place / 64)}`)
          .digest('hex')
        assert.equal(salts.at(place), whole.slice((place % 64) * 32, (place % 64) * 32 + 32))
      }
    }),
  )
})

test('signatures are made after a moment, and turns that end meanwhile share one', async () => {
  const timers: (() => void)[] = []
  const timer = (ms: number, run: () => void) => {
    if (ms === 250) timers.push(run)
    return () => {}
  }
  const rig = makeRig({ tools, script, receipts: keys, world: { timer } })
  const session = await begin(rig)
  await playTurn(session)
  await playTurn(session)
  const types = async () => (await rig.store.read(session.id)).map(({ event }) => event.type)
  assert.equal((await types()).includes('log.signed'), false)
  assert.equal(timers.length, 1)
  timers[0]?.()
  // The signature reads the event that made the session, and is recorded then.
  while (session.signer?.isDue) await new Promise(setImmediate)
  await session.flushed()
  assert.deepEqual(rig.logs, [])
  assert.equal((await types()).filter(type => type === 'log.signed').length, 1)
  assert.equal((await verifyStored(rig.store, session.id)).calls, 4)
})

test('a turn without receipts records no signature, and cannot be proved', async () => {
  const rig = makeRig({ tools, script })
  const session = await begin(rig)
  await playTurn(session)
  await assert.rejects(runCommand(session, { do: 'sign' }), /receipts: true/)
  const result = await verifyStored(rig.store, session.id)
  assert.deepEqual([result.signedTo, result.broken], [0, undefined])
})

test('a log from before receipts is signed whole, from the store, once they are on', async () => {
  const store = memoryStore()
  const before = makeRig({ tools, script, store })
  const { id } = await begin(before)
  await playTurn(await before.engine.open('ana', id))
  await before.engine.stop(0)
  const recorded = (await store.read(id)).length
  const rig = makeRig({ tools, script, store, receipts: keys })
  const session = await rig.engine.open('ana', id)
  await playTurn(session)
  await runCommand(session, { do: 'sign' })
  const result = await verifyStored(store, id)
  assert.deepEqual([result.broken, result.calls], [undefined, 4])
  assert.equal(result.signedTo, result.events - 1)
  assert.equal(result.readBack, recorded)
})

test('a turn that was changed before it was signed is said to be read back from the store', async () => {
  const store = memoryStore()
  const rig = makeRig({ tools, script, store, receipts: keys, world: { timer: () => () => {} } })
  const session = await begin(rig)
  await playTurn(session)
  await session.flushed()
  // As after a crash: nobody signed the turn, and someone changes it before the session is opened again.
  const events = (await store.read(session.id)).map(({ event }) =>
    event.type === 'approval.decided' ? { ...event, by: 'nobody' } : event,
  )
  const other: Store = {
    ...store,
    read: async (_, last = 0) => events.slice(last).map((event, index) => ({ seq: last + index + 1, event })),
    append: async batch => void events.push(...batch.events),
  }
  const again = makeRig({ tools, script, store: other, receipts: keys })
  await runCommand(await again.engine.open('ana', session.id), { do: 'sign' })
  const result = verify(session.id, await other.read(session.id))
  assert.deepEqual([result.broken, result.calls, result.readBack], [undefined, 2, events.length - 1])
})

test('a session that is opened again goes on with its chain', async () => {
  const store = memoryStore()
  const { rig, session } = await play({ store })
  await rig.engine.stop(0)
  const again = makeRig({ tools, script, store, receipts: keys })
  await playTurn(await again.engine.open('ana', session.id))
  // Stopping signs what is left to sign.
  await again.engine.stop(0)
  const result = await verifyStored(store, session.id)
  assert.deepEqual([result.broken, result.calls, result.unsigned], [undefined, 4, 0])
  // Only the signature was, which stands for itself.
  assert.equal(result.readBack, 0)
})

test('an open session is signed after each of its turns, however many', async () => {
  const { rig, session } = await play()
  for (let turns = 0; turns < 3; turns += 1) {
    await playTurn(session)
    await runCommand(session, { do: 'sign' })
    await session.flushed()
    assert.equal(session.signer?.isDue, false)
  }
  const log = await rig.store.read(session.id)
  assert.equal(log.filter(({ event }) => event.type === 'log.signed').length, 4)
  const result = verify(session.id, log, log.length)
  assert.deepEqual([result.broken, result.calls, result.unsigned], [undefined, 8, 0])
})

test('in a turn only what is before it is signed', async () => {
  const rig = makeRig({ tools, script, receipts: keys })
  const session = await begin(rig)
  await playTurn(session)
  const over = session.state.seq
  await say(session, 'again')
  await runCommand(session, { do: 'sign' })
  const result = await verifyStored(rig.store, session.id)
  assert.deepEqual([result.broken, result.signedTo], [undefined, over])
  assert(result.unsigned > 0)
})

test('any event that is changed, dropped, moved or added is found', async () => {
  const { session, log } = await play({}, 2)
  const clone = () => structuredClone(log)
  for (const { seq, event } of log) {
    const changed = clone()
    changed[seq - 1]!.event = { ...event, at: event.at + 1 }
    assert.equal(verify(session.id, changed).broken?.seq, seq, `${seq} ${event.type} changed`)
    const renumbered = (items: typeof log) => items.map((item, index) => ({ ...item, seq: index + 1 }))
    const dropped = renumbered(log.toSpliced(seq - 1, 1))
    const isLast = seq === log.length
    // Without its last signature a log is what it was before: only its number of events tells.
    const found = verify(session.id, dropped, isLast ? log.length : undefined)
    assert(found.broken, `${seq} ${event.type} dropped`)
    if (!isLast) {
      const moved = renumbered(log.with(seq - 1, log[seq]!).with(seq, log[seq - 1]!))
      assert.equal(verify(session.id, moved).broken?.seq, seq, `${seq} ${event.type} moved`)
    }
    const added = renumbered(log.toSpliced(seq - 1, 0, log[0]!))
    assert(verify(session.id, added).broken, `an event added before ${seq}`)
  }
  assert(verify('another session', log).broken)
})

test('a signature of a key that nobody trusts, or of a retired one, does not count', async () => {
  const { session, log } = await play()
  const check = (keys: Map<string, { retired?: number }>) => {
    const verifier = new LogVerifier(session.id, keys)
    for (const item of log) verifier.take(item)
    return verifier.end().broken?.why
  }
  assert.match(check(new Map()) ?? '', /none of those that you trust/)
  const [kid = ''] = [...trusted.keys()]
  assert.match(check(new Map([[kid, { retired: 1 }]])) ?? '', /after the key .* was retired/)
  assert.equal(check(new Map([[kid, { retired: Date.now() + 60_000 }]])), undefined)
})

test('a receipt proves one call and shows nothing of the others', async () => {
  const { session, log } = await play({}, 3)
  const settled = log.flatMap(({ event }) => (event.type === 'call.settled' ? [event] : []))
  for (const { callId, outcome } of settled) {
    const receipt = await findReceipt(session.id, pages(log), callId)
    assert(receipt)
    assert.equal(flawOfReceipt(receipt, trusted), undefined)
    assert.equal(receipt.call.outcome.kind, outcome.kind)
    const { decision, tool: name } = receipt.call
    if (name === 'pay') assert.deepEqual([decision.verdict, decision.by], ['approved', 'maria'])
    else assert.deepEqual([decision.verdict, decision.rule], ['allowed', 'operator-trust'])
    const text = JSON.stringify(receipt)
    for (const other of settled) if (other.callId !== callId) assert(!text.includes(other.callId))
  }
  assert.equal(await findReceipt(session.id, pages(log), 'call_unknown'), undefined)
})

test('with its salts, the arguments and the outcome of a receipt can be compared with what they were', async () => {
  const { session, log } = await play()
  const settled = log.find(({ event }) => event.type === 'call.settled')
  assert(settled?.event.type === 'call.settled')
  const receipt = await findReceipt(session.id, pages(log), settled.event.callId, true)
  assert(receipt?.salts)
  assert.equal(flawOfReceipt(receipt, trusted), undefined)
  const { arguments: digest, outcome } = receipt.call
  const texts = log.flatMap(({ event }) => (event.type === 'model.answered' ? event.parts : []))
  const part = texts.find(each => each.type === 'call' && each.id === receipt.call.call)
  assert(part?.type === 'call')
  assert.equal(digest, sha256(receipt.salts.arguments + part.text))
  assert.equal(outcome.digest, sha256(receipt.salts.outcome + canonicalize(settled.event)))
})

test('every change of a receipt is found', async () => {
  const { session, log } = await play()
  const settled = log.find(({ event }) => event.type === 'call.settled')?.event as Extract<
    Event,
    { callId: string }
  >
  const receipt = await findReceipt(session.id, pages(log), settled.callId)
  const text = JSON.stringify(receipt)
  for (let at = 0; at < text.length; at += 1) {
    const changed = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1)
    let value: unknown
    try {
      value = JSON.parse(changed)
    } catch {
      continue
    }
    assert(!isReceipt(value) || flawOfReceipt(value, trusted) !== undefined, changed)
  }
})

test('sealed arguments are proved by their hash, and the log tells nothing else of them', async () => {
  const secret = 'xyzzy-secret'
  const { session, log, rig } = await play({
    gate: { redact: [{ name: 'secret', pattern: /xyzzy-secret/ }] },
    script: [{ calls: [{ name: 'pay', input: { n: 2, note: secret } }] }, { text: 'Done.' }],
  })
  assert.equal(verify(session.id, log).broken, undefined)
  const answered = log.find(({ event }) => event.type === 'model.answered')!
  assert(JSON.stringify(answered).includes('sealed'))
  assert(!JSON.stringify(digestForm(answered.event, new Salts('any'), 2)).includes(secret))
  const changed = structuredClone(log)
  const event = changed[answered.seq - 1]?.event
  const call = event?.type === 'model.answered' ? event.parts[0] : undefined
  assert(call?.type === 'call')
  call.sealed = 'another'
  assert.equal(verify(session.id, changed).broken?.seq, answered.seq)
  await rig.engine.stop(0)
})
