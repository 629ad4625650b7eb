// A secret in a call's arguments does not go back to any vendor, and no vendor refuses the history without it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { tool } from '../../src/tools/index.ts'
import { owner, until } from '../engine/rig.ts'
import {
  acceptedByAll,
  begin,
  openTable,
  refusals,
  say,
  startVendors,
  tell,
  type Vendors,
  vendorNames,
} from './rig.ts'

const secret = 'sk-abcdefghij0123456789'
const hidden = '[redacted: api-keys]'
const gate = { redact: ['secrets' as const] }

function toolsInto(ran: unknown[]) {
  const run = (input: unknown): string => {
    ran.push(input)
    return 'done'
  }
  return [
    tool({
      name: 'login',
      description: 'Logs in.',
      input: { type: 'object', properties: { key: { type: 'string' } } },
      trust: 'trusted',
      run,
    }),
    tool({ name: 'shell', description: 'Runs a line.', input: 'text', trust: 'ask', run }),
  ]
}

for (const stateful of [false, true])
  describe(stateful ? 'stored at the vendor' : 'stateless', () => {
    let vendors: Vendors
    before(async () => {
      vendors = await startVendors({ stateful })
    })
    after(() => vendors.close())

    for (const vendor of vendorNames)
      test(`${vendor}: the tool gets the secret, and later requests do not hold it`, async () => {
        const ran: unknown[] = []
        const table = openTable(vendors, { tools: toolsInto(ran), gate })
        const session = await begin(table, vendor)
        const double = vendors.doubles[vendor]
        const from = double.exchanges.length
        say(vendors, session, vendor, {
          thinking: 'First the door.',
          calls: [
            { name: 'login', input: { key: secret } },
            { name: 'shell', text: `curl -H ${secret}` },
          ],
        })
        await tell(session, 'Log in.')
        const asking = session.state.batch.find(({ stage }) => stage === 'asking')
        assert.equal(asking?.text, `curl -H ${hidden}`)
        const decisions = [{ callId: asking.part.id, granted: true, by: owner }]
        await until(session, () => session.respond({ results: [], decisions }))
        assert.deepEqual(ran, [{ key: secret }, `curl -H ${secret}`])
        await tell(session, 'And now?')
        assert.equal(session.state.lastStop?.stop, 'end')
        assert.deepEqual(refusals(double, from), [])
        const sent = double.exchanges.slice(from).map(({ rawText }) => rawText)
        assert.equal(sent.length, 3)
        for (const body of sent) assert.ok(!body.includes(secret))
        if (!stateful) assert.ok(sent.at(-1)?.includes(hidden))
        await acceptedByAll(table, session, vendor)
      })
  })
