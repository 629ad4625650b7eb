// The two vendors that can store a conversation. A request continues the stored one where that is valid, and sends the
// whole history after a change of vendor, after a compaction, or when the vendor lost it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { compactNow } from '../../src/engine/turn/compact.ts'
import { isJsonObject } from '../../src/lib/json/index.ts'
import {
  begin,
  lastExchange,
  openTable,
  refusals,
  startVendors,
  tell,
  type Vendor,
  type Vendors,
} from './rig.ts'
import { thinkAndCall, tools } from './scenes.ts'

const addresses = {
  'openai-responses': '/v1/responses',
  'gemini-interactions': '/v1beta/interactions',
} as const

let vendors: Vendors
before(async () => {
  vendors = await startVendors({ stateful: true })
})
after(() => vendors.close())

const chained = (vendor: Vendor): boolean => {
  const { body } = lastExchange(vendors, vendor)
  return isJsonObject(body) && ('previous_response_id' in body || 'previous_interaction_id' in body)
}

/** The id under which the vendor keeps its latest answer. */
function keptIdOf(vendor: Vendor): string {
  for (const { data } of lastExchange(vendors, vendor).frames) {
    if (data === '[DONE]') continue
    const { response, interaction } = JSON.parse(data)
    if (response ?? interaction) return (response ?? interaction).id
  }
  return assert.fail('no answer has an id')
}

describe('a conversation that the vendor stores is continued by its id until it changes elsewhere', () => {
  for (const vendor of ['openai-responses', 'gemini-interactions'] as const)
    test(vendor, async () => {
      const table = openTable(vendors, { tools })
      const session = await begin(table, vendor)
      await thinkAndCall(vendors, session, vendor)
      assert.ok(chained(vendor), 'only the results are sent')
      await tell(session, 'More.')
      assert.ok(chained(vendor))
      await thinkAndCall(vendors, session, 'anthropic')
      await tell(session, 'Back.', vendor)
      assert.ok(!chained(vendor), 'the vendor does not know the turns of another vendor')
      await tell(session, 'More.')
      assert.ok(chained(vendor), 'the conversation is stored again')
      assert.equal(await compactNow(session), true)
      await tell(session, 'And now?')
      assert.ok(!chained(vendor), 'the stored conversation is not the compacted one')
      for (const name of [vendor, 'anthropic'] as const) assert.deepEqual(refusals(vendors.doubles[name]), [])
    })
})

describe('a conversation that the vendor has lost', () => {
  for (const vendor of ['openai-responses', 'gemini-interactions'] as const)
    test(`${vendor}: is sent whole, and stored again`, async () => {
      const table = openTable(vendors, { tools })
      const session = await begin(table, vendor)
      await thinkAndCall(vendors, session, vendor)
      const { url, exchanges } = vendors.doubles[vendor]
      const id = keptIdOf(vendor)
      const headers = { authorization: 'Bearer key-of-a-test', 'x-goog-api-key': 'key-of-a-test' }
      const gone = await fetch(`${url}${addresses[vendor]}/${id}`, { method: 'DELETE', headers })
      assert.equal(gone.status, 200)
      const before = exchanges.length
      await tell(session, 'More.')
      const asked = exchanges
        .slice(before)
        .map(({ status, body }) => [
          status,
          isJsonObject(body) && ('previous_response_id' in body || 'previous_interaction_id' in body),
        ])
      assert.deepEqual(asked, [
        [vendor === 'openai-responses' ? 400 : 404, true],
        [200, false],
      ])
      await tell(session, 'Still there?')
      assert.ok(chained(vendor), 'the conversation is stored again')
    })
})
