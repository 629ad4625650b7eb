// Artifacts that only their maker can read go back to it byte for byte: after a restart from a database, an approval,
// an edit by a person, and a compaction of everything before.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Session } from '../../src/engine/index.ts'
import { compactNow } from '../../src/engine/turn/compact.ts'
import type { Entry } from '../../src/language/history.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { owner, until } from '../engine/rig.ts'
import {
  artifactsOf,
  begin,
  lastExchange,
  openTable,
  refusals,
  say,
  startVendors,
  tell,
  type Vendor,
  type Vendors,
  vendorNames,
} from './rig.ts'
import { thinkAndCall, tools } from './scenes.ts'

let vendors: Vendors
const folder = mkdtempSync(join(tmpdir(), 'turnwire-continuity-'))
before(async () => {
  vendors = await startVendors()
})
after(async () => {
  await vendors.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The blocks that the vendor itself made in these entries, as it made them. */
const nativeBlocks = (entries: readonly Entry[]): unknown[] =>
  entries.flatMap(entry =>
    entry.role === 'assistant' ? entry.parts.flatMap(part => part.native?.data ?? []) : [],
  )

function mustCarry(vendor: Vendor, artifacts: readonly string[]): void {
  const { rawText } = lastExchange(vendors, vendor)
  for (const artifact of artifacts)
    assert.ok(rawText.includes(JSON.stringify(artifact)), `${artifact} is lost`)
}

const asking = (session: Session): string => {
  const call = session.state.batch.find(({ stage }) => stage === 'asking')
  assert.ok(call, 'a call waits for a person')
  return call.part.id
}

describe('thinking before a call that waits for approval goes back unchanged', () => {
  for (const vendor of vendorNames)
    for (const edit of [undefined, '{"p":"another"}'])
      test(`${vendor}, ${edit === undefined ? 'approved' : 'edited'} after a restart`, async () => {
        const file = join(folder, `${vendor}-${edit === undefined ? 'a' : 'b'}.db`)
        const first = openTable(vendors, { tools, store: sqliteStore({ file }) })
        const session = await begin(first, vendor)
        const thought = 'Deep. "\\ud83d" \u2028 \u{1f600}'
        say(vendors, session, vendor, {
          thinking: thought,
          text: 'I shall write.',
          calls: [{ name: 'write', input: { p: 'x' } }],
        })
        await tell(session, 'Write.')
        const before = nativeBlocks(session.state.view)
        const artifacts = artifactsOf(session.state.view, vendor)
        if (vendor !== 'openai-chat') assert.ok(artifacts.length > 0)
        await first.engine.stop(0)
        await first.store.close()

        const second = openTable(vendors, { tools, store: sqliteStore({ file }) })
        const again = await second.engine.open(owner, session.id)
        assert.deepEqual(nativeBlocks(again.state.view), before)
        const decision = {
          callId: asking(again),
          granted: true,
          by: 'ana',
          ...(edit !== undefined && { edit }),
        }
        await until(again, () => again.respond({ results: [], decisions: [decision] }))
        assert.equal(again.state.lastStop?.stop, 'end')
        mustCarry(vendor, artifacts)
        if (edit !== undefined) assert.match(lastExchange(vendors, vendor).rawText, /arguments were changed/)
        await tell(again, 'And now?')
        mustCarry(vendor, artifacts)
        assert.deepEqual(refusals(vendors.doubles[vendor]), [])
        await second.engine.stop(0)
        await second.store.close()
      })
})

describe('several rounds of thinking and calls in one turn', () => {
  for (const vendor of vendorNames)
    test(`${vendor}: every later step has the signatures of the earlier ones`, async () => {
      const table = openTable(vendors, { tools })
      const session = await begin(table, vendor)
      for (let round = 0; round < 4; round++)
        say(vendors, session, vendor, {
          thinking: `Round ${round}.`,
          calls: [{ name: 'read', input: { p: String(round) } }],
        })
      await tell(session, 'Go on and on.')
      assert.equal(session.state.lastStop?.stop, 'end')
      const sealed = artifactsOf(session.state.view.slice(0, -1), vendor)
      if (vendor !== 'openai-chat') assert.ok(sealed.length >= 4)
      mustCarry(vendor, sealed)
      assert.deepEqual(refusals(vendors.doubles[vendor]), [])
    })

  for (const vendor of ['anthropic', 'openai-responses', 'gemini-interactions'] as const)
    test(`${vendor}: thinking without text keeps its signature`, async () => {
      const table = openTable(vendors, { tools })
      const session = await begin(table, vendor)
      say(vendors, session, vendor, { thinking: { text: '' }, calls: [{ name: 'read', input: {} }] })
      await tell(session, 'Think in silence.')
      const parts = session.state.view.flatMap(entry => (entry.role === 'assistant' ? entry.parts : []))
      assert.ok(parts.some(part => part.type === 'thinking' && part.text === '' && part.native !== undefined))
      const sealed = artifactsOf(session.state.view, vendor)
      assert.ok(sealed.length > 0)
      await tell(session, 'And now?')
      mustCarry(vendor, sealed)
      assert.deepEqual(refusals(vendors.doubles[vendor]), [])
    })

  test('anthropic: a demanded call is demanded without thinking, and once', async () => {
    const table = openTable(vendors, { tools })
    const session = await begin(table, 'anthropic')
    const before = vendors.doubles.anthropic.exchanges.length
    say(vendors, session, 'anthropic', { calls: [{ name: 'read', input: {} }] })
    await tell(session, 'Use something.', undefined, { choice: 'required' })
    assert.equal(session.state.lastStop?.stop, 'end')
    assert.deepEqual(refusals(vendors.doubles.anthropic), [])
    const [first, second] = vendors.doubles.anthropic.exchanges.slice(before).map(({ rawText }) => rawText)
    assert.match(first!, /"tool_choice":\{"type":"any"/)
    assert.doesNotMatch(first!, /"thinking":\{/)
    assert.doesNotMatch(second!, /"type":"any"/)
  })
})

describe('a compaction', () => {
  for (const vendor of vendorNames)
    test(`${vendor}: kept entries keep their artifacts, and replaced entries leave none`, async () => {
      const table = openTable(vendors, { tools, agent: { compaction: { afterTokens: 1e9, keepEntries: 4 } } })
      const session = await begin(table, vendor)
      for (let round = 0; round < 3; round++) await thinkAndCall(vendors, session, vendor)
      const whole = artifactsOf(session.state.entries, vendor)
      const kept = artifactsOf(session.state.entries.slice(-4), vendor)
      assert.equal(await compactNow(session), true)
      await tell(session, 'And now?')
      mustCarry(vendor, kept)
      const { rawText } = lastExchange(vendors, vendor)
      for (const artifact of whole) if (!kept.includes(artifact)) assert.ok(!rawText.includes(artifact))
      assert.deepEqual(refusals(vendors.doubles[vendor]), [])
      assert.deepEqual(artifactsOf(session.state.entries, vendor).slice(0, whole.length), whole)
    })
})
