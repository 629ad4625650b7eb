// Every change from one vendor to another, in sessions that contain every kind of call and outcome. The engine makes
// the sessions. At each state the next request is sent to all five vendors, and none of them may refuse it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { outcomeKinds } from '../../src/language/calls.ts'
import { until } from '../engine/rig.ts'
import {
  acceptedByAll,
  artifactsOf,
  begin,
  copyOf,
  lastExchange,
  openTable,
  refusals,
  type Session,
  say,
  startVendors,
  type Table,
  tell,
  type Vendor,
  type Vendors,
  vendorNames,
} from './rig.ts'
import { scenes, seed, thinkAndCall, tools } from './scenes.ts'

let vendors: Vendors
before(async () => {
  vendors = await startVendors()
})
after(() => vendors.close())

const noRefusals = (where: string): void => {
  for (const name of vendorNames) assert.deepEqual(refusals(vendors.doubles[name]), [], `${where}: ${name}`)
}

/** Sessions by their first vendor. They are played once; later tests work on copies. */
const played = new Map<Vendor, { table: Table; session: Session }>()

describe('every state of a session is accepted by all five vendors', () => {
  for (const vendor of vendorNames)
    test(`a session with ${vendor}`, { timeout: 600_000 }, async () => {
      const table = openTable(vendors, { tools })
      let session = await begin(table, vendor, {}, seed)
      await acceptedByAll(table, session, 'seeded')
      for (const scene of scenes) {
        session = await scene.play({ table, session, vendors, vendor })
        await acceptedByAll(table, session, scene.name)
      }
      noRefusals('in the session itself')
      hasSeenEverything(session, vendor)
      played.set(vendor, { table, session })
    })
})

/** Checks that the scenes had their effect: a scene that does nothing would prove nothing. */
function hasSeenEverything({ state: { entries } }: Session, vendor: Vendor): void {
  const kinds = entries.flatMap(entry =>
    entry.role === 'tool' ? entry.results.map(({ outcome }) => outcome.kind) : [],
  )
  assert.deepEqual([...new Set(kinds)].sort(), [...outcomeKinds].sort())
  const parts = entries.flatMap(entry => (entry.role === 'assistant' ? entry.parts : []))
  // Gemini sends calls whole or not at all.
  if (vendor !== 'gemini') assert.ok(parts.some(part => part.type === 'call' && part.cut))
  assert.ok(parts.some(part => part.type === 'call' && part.form === 'text' && part.id !== 'c'))
  if (vendor === 'openai-chat') return
  assert.ok(parts.some(part => part.type === 'hosted'))
  assert.ok(artifactsOf(entries, vendor).length > 5)
}

describe('vendor changes', () => {
  for (const from of vendorNames)
    for (const to of vendorNames)
      test(`${from} to ${to} and back, between turns and with calls pending`, {
        timeout: 600_000,
      }, async () => {
        const source = played.get(from)
        assert.ok(source, 'the first test made it')
        const session = await copyOf(source.table, source.session)
        await thinkAndCall(vendors, session, from)
        const made = artifactsOf(session.state.view.slice(-4), from)
        await betweenTurns(session, from, to, made)
        await withCallsPending(session, from, to)
        noRefusals(`${from} to ${to}`)
      })
})

async function betweenTurns(session: Session, from: Vendor, to: Vendor, made: string[]): Promise<void> {
  await thinkAndCall(vendors, session, to)
  if (to !== from) {
    const { rawText } = lastExchange(vendors, to)
    for (const artifact of made) assert.ok(!rawText.includes(artifact), 'an artifact went to another vendor')
  }
  await tell(session, 'And back.', from)
  const { rawText } = lastExchange(vendors, from)
  for (const artifact of made) assert.ok(rawText.includes(JSON.stringify(artifact)), `${artifact} is lost`)
  if (from !== 'openai-chat') assert.ok(made.length > 0, 'there were artifacts to give back')
}

/** The vendor changes while one call waits for a person and one for the application. */
async function withCallsPending(session: Session, from: Vendor, to: Vendor): Promise<void> {
  say(vendors, session, from, {
    thinking: 'Both of you.',
    calls: [
      { name: 'write', input: { p: '1' } },
      { name: 'app.do', input: {} },
      { name: 'read', input: {} },
    ],
  })
  await tell(session, 'Ask us.', from)
  const asking = session.state.batch.find(call => call.stage === 'asking')
  const handed = session.state.batch.find(call => call.stage === 'handed')
  assert.ok(asking && handed)
  say(vendors, session, to, { thinking: 'Taken over.', calls: [{ name: 'read', input: { p: 'y' } }] })
  await until(session, () =>
    session.respond({
      results: [{ callId: handed.part.id, parts: [{ type: 'text', text: 'mine' }] }],
      decisions: [{ callId: asking.part.id, granted: true, by: 'ana', edit: '{"p":"2"}' }],
      settings: { model: to },
    }),
  )
  assert.equal(session.state.lastStop?.stop, 'end')
  const made = artifactsOf(session.state.view.filter(entry => entry.role === 'assistant').slice(-3, -2), from)
  await tell(session, 'Home again.', from)
  const { rawText } = lastExchange(vendors, from)
  for (const artifact of made) assert.ok(rawText.includes(JSON.stringify(artifact)), `${artifact} is lost`)
}
