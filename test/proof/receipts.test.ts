// What a receipt says, and what nobody can learn from it: votes, the version of the rules, and that neither a receipt nor a redacted file
// lets its reader guess what is not in it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, suite, test } from 'node:test'
import canonicalize from 'canonicalize'
import { runCommand } from '../../src/engine/turn/run-command.ts'
import type { Event, Recorded } from '../../src/language/events.ts'
import { findReceipt, type Receipt } from '../../src/language/make-receipt.ts'
import { argumentsSalt, digestForm, Salts } from '../../src/language/receipts.ts'
import { sha256 } from '../../src/lib/json/hash.ts'
import { thumbprint } from '../../src/lib/signing/ed25519.ts'
import { readRedaction } from '../../src/proof/redaction.ts'
import { type Sealed, sealLog } from '../../src/proof/sealed-form.ts'
import { LogVerifier } from '../../src/proof/verify-log.ts'
import { flawOfReceipt } from '../../src/proof/verify-receipt.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { begin, makeRig, say, stopAll, until } from '../engine/rig.ts'
import type { Transcript } from '../transcripts/summary.ts'
import { keys, play, script, tools, trusted, verifyStored } from './rig.ts'

after(stopAll)

const rules = [
  { name: 'two', tool: 'pay', then: 'ask' as const, approvers: { roles: ['finance'], quorum: 2 } },
]
const gate = { rules }
const finance = ['finance']

/** `ben` votes, then `eve` decides. */
async function playQuorum(session: Awaited<ReturnType<typeof begin>>): Promise<void> {
  await say(session, 'pay it')
  const asking = () => session.state.batch.find(({ stage }) => stage === 'asking')
  const by = (name: string) => {
    const { part, argsHash = '' } = asking()!
    const decisions = [
      { callId: part.id, granted: true, by: name, people: [{ name, roles: finance }], seen: argsHash },
    ]
    return runCommand(session, { do: 'respond', results: [], decisions })
  }
  await by('ben')
  await until(session, () => by('eve'))
}

const receiptsOf = (session: string, log: Recorded[]): Receipt[] => sealLog(session, log).receipts

test('a receipt names everyone who voted, with their roles, and the version of the rules', async () => {
  const rig = makeRig({ tools, script, receipts: keys, gate })
  const session = await begin(rig)
  await playQuorum(session)
  await runCommand(session, { do: 'sign' })
  const log = await rig.store.read(session.id)
  const applied = log.find(({ event }) => event.type === 'policy.applied')?.event
  assert(applied?.type === 'policy.applied')
  const receipts = receiptsOf(session.id, log)
  const paid = receipts.find(({ call }) => call.tool === 'pay')!
  const { shown: _, ...decision } = paid.call.decision
  assert.deepEqual(decision, {
    verdict: 'approved',
    rule: 'two',
    policy: applied.version,
    by: 'eve',
    roles: finance,
    votes: [{ by: 'ben', roles: finance }],
  })
  assert.equal(receipts.find(({ call }) => call.tool === 'look')?.call.decision.policy, applied.version)
  for (const receipt of receipts) assert.equal(flawOfReceipt(receipt, trusted), undefined)
  const [first] = paid.call.decision.votes!
  const forged = {
    ...paid,
    call: { ...paid.call, decision: { ...decision, votes: [{ ...first!, by: 'ana' }] } },
  }
  assert.match(flawOfReceipt(forged, trusted) ?? '', /it was changed/)
})

test('the version of the rules is in receipts of later turns too, also when the session is opened again', async () => {
  const store = memoryStore()
  const rig = makeRig({ tools, script, store, receipts: keys, gate })
  const session = await begin(rig)
  for (let turn = 0; turn < 2; turn += 1) {
    await playQuorum(session)
    await runCommand(session, { do: 'sign' })
  }
  await rig.engine.stop(0)
  const again = makeRig({ tools, script, store, receipts: keys, gate })
  await playQuorum(await again.engine.open('ana', session.id))
  await again.engine.stop(0)
  assert.equal((await verifyStored(store, session.id)).broken, undefined)
  const log = await store.read(session.id)
  assert.equal(log.filter(({ event }) => event.type === 'policy.applied').length, 1)
  const versions = receiptsOf(session.id, log).map(({ call }) => call.decision.policy)
  assert.equal(versions.length, 6)
  assert.equal(new Set(versions).size, 1)
  assert(versions[0])
})

suite('who knows what was left out', () => {
  /** All texts in a value, and what may have been made of them. */
  function textsIn(value: unknown): Set<string> {
    const found = new Set([''])
    JSON.stringify(value, (_, each: unknown) => {
      if (typeof each === 'string') found.add(each)
      return each
    })
    return found
  }

  /** The contents that someone with these texts can confirm, who knows what they may be and how hashes are made. */
  function guessed(
    texts: ReadonlySet<string>,
    contents: readonly string[],
    callIds: readonly string[],
  ): string[] {
    const salts = [...texts].flatMap(text => [
      text,
      ...callIds.map(id => argumentsSalt(text, id)),
      ...callIds.map(id => `${text}:${id}:`),
      `${text}::`,
    ])
    return contents.filter(content => salts.some(salt => texts.has(sha256(salt + content))))
  }

  async function played() {
    const { session, log } = await play({}, 2)
    const callIds = log.flatMap(({ event }) => (event.type === 'call.settled' ? [event.callId] : []))
    const signed = log.flatMap(({ event }) => (event.type === 'log.signed' ? [event] : []))
    const forms = signed.flatMap(({ from, to, salt }) =>
      log.slice(from - 1, to).map(({ event }) => digestForm(event, new Salts(salt), 2)),
    )
    const contents = [...log.map(({ event }) => event), ...forms]
      .filter(event => 'outcome' in event || 'parts' in event)
      .map(event => canonicalize(event)!)
    const texts = log.flatMap(({ event }) => {
      if (event.type === 'model.answered')
        return event.parts.flatMap(part => (part.type === 'call' ? [part.text] : []))
      return 'argsHash' in event ? [event.argsHash] : []
    })
    return { session, log, callIds, contents: [...new Set([...contents, ...texts])] }
  }

  test('nobody with a receipt can guess the arguments or the result, and with its salts one can', async () => {
    const { session, log, callIds, contents } = await played()
    for (const receipt of receiptsOf(session.id, log)) {
      const texts = textsIn(receipt)
      assert.deepEqual(guessed(texts, contents, callIds), [])
      for (const content of contents) assert(!texts.has(content))
    }
    const pages = async function* () {
      yield log
    }
    const open = await findReceipt(session.id, pages(), callIds[0]!, true)
    // The test can see what it looks for.
    assert.equal(guessed(textsIn(open), contents, callIds).length, 2)
  })

  test('nobody with a redacted file can guess what was left out, of whatever kind', async () => {
    const { session, log, callIds } = await played()
    for (const what of ['all', 'results', 'arguments', 'messages', 'arguments,results']) {
      const sealed = sealLog(session.id, log, readRedaction(what))
      const left = log.filter((_, index) => 'digest' in sealed.log[index]!)
      assert(left.length > 0)
      const lost = left.map(({ event }) => canonicalize(event)!)
      const texts = left.flatMap(({ event }) =>
        event.type === 'model.answered' && what !== 'messages'
          ? event.parts.flatMap(part => (part.type === 'call' ? [part.text] : []))
          : [],
      )
      const hashes = log.flatMap(({ event }) => ('argsHash' in event ? [event.argsHash] : []))
      assert.deepEqual(guessed(textsIn(sealed), [...lost, ...texts], callIds), [], what)
      for (const hash of hashes) assert(!textsIn(sealed).has(hash), what)
    }
  })

  test('what stays can be compared: a receipt with the events that are shown', async () => {
    const { session, log } = await played()
    const { log: items, receipts } = sealLog(session.id, log)
    for (const { call } of receipts) {
      const asked = items[call.seq.asked - 1]!
      const settled = items[call.seq.settled - 1]!
      assert('event' in asked && 'event' in settled && asked.event.type === 'model.answered')
      const part = asked.event.parts.find(each => each.type === 'call' && each.id === call.call)
      assert(part?.type === 'call')
      assert.equal(call.arguments, sha256(argumentsSalt(asked.salt!, call.call) + part.text))
      assert.equal(call.outcome.digest, sha256(settled.salt! + canonicalize(settled.event)))
    }
  })
})

test('logs that were signed in the first way and in the second verify forever, with their receipts and sealed files', () => {
  for (const [name, version] of [
    ['signed', 1],
    ['signed-votes', 2],
  ] as const) {
    const file = new URL(`../transcripts/fixtures/${name}.json`, import.meta.url)
    const { log, summary } = JSON.parse(readFileSync(file, 'utf8')) as Transcript & {
      summary: { id: string }
    }
    const signed = log.at(-1)?.event
    assert(signed?.type === 'log.signed')
    const own = new Map([[thumbprint(signed.key), {}]])
    const check = (items: Sealed['log'], form: 'whole' | 'sealed') => {
      const verifier = new LogVerifier(summary.id, own, form)
      for (const item of items) verifier.take(item)
      return verifier.end(log.length)
    }
    assert.deepEqual(check(log, 'whole').broken, undefined, name)
    const sealed = sealLog(summary.id, log, readRedaction('results'))
    assert.equal(check(sealed.log, 'sealed').broken, undefined, name)
    assert(sealed.receipts.length > 0)
    for (const receipt of sealed.receipts) {
      assert.equal(receipt.call.v, version)
      assert.equal(flawOfReceipt(receipt, own), undefined, name)
    }
  }
})

test('a signature of a way that is not known is refused as such', async () => {
  const { session, log } = await play()
  const later = log.map(({ seq, event }) => ({
    seq,
    event: event.type === 'log.signed' ? ({ ...event, way: 3 } as unknown as Event) : event,
  }))
  const verifier = new LogVerifier(session.id, trusted)
  for (const item of later) verifier.take(item)
  assert.match(verifier.end().broken?.why ?? '', /a version that this program does not know/)
})
