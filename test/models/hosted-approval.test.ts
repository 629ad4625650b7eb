// A hosted MCP tool that needs approval: its request waits for a person like any call, and the decision goes back in
// the vendor's own form, beside the unchanged request.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openai, Turnwire } from '../../src/index.ts'
import { startDouble } from '../../src/testing/index.ts'

const crm = { type: 'mcp', server_label: 'crm', server_url: 'https://crm.example/mcp' }
const question = {
  type: 'mcp_approval_request',
  id: 'mcpr_1',
  server_label: 'crm',
  name: 'find.person',
  arguments: '{"q":"Ana"}',
}

async function asking(t: { after(run: () => Promise<void>): void }, stateful: boolean) {
  const double = await startDouble({
    vendor: 'openai-responses',
    script: [{ raw: [question] }, { text: 'Done.' }],
  })
  const model = openai({ model: 'gpt-5', apiKey: 'k', baseUrl: `${double.url}/v1`, hosted: [crm], stateful })
  const turnwire = await Turnwire.open({ agents: [{ name: 'a', model }], data: 'memory' })
  t.after(async () => {
    await turnwire.close()
    await double.close()
  })
  const session = await turnwire.session('a')
  const reply = await session.send('Who is Ana?')
  assert.ok(reply.status === 'waiting')
  assert.deepEqual(reply.pending[0]?.input, { server: 'crm', tool: 'find.person', arguments: '{"q":"Ana"}' })
  return { double, session, callId: reply.pending[0]!.callId }
}

for (const stateful of [false, true]) {
  const how = stateful ? 'stored at the vendor' : 'stateless'

  test(`an approval of a hosted call goes back to the vendor, ${how}`, async t => {
    const { double, session, callId } = await asking(t, stateful)
    const reply = await session.approve(callId)
    assert.deepEqual(reply, { status: 'done', text: 'Done.', stop: 'end' })
    const sent = JSON.stringify(double.exchanges.at(-1))
    assert.match(sent, /mcp_approval_response/)
    assert.match(sent, /approve\\*":true/)
    assert.doesNotMatch(sent, /hosted_tool_approval/)
    assert.deepEqual(double.rejections(), [])
  })

  test(`a denial of a hosted call goes back to the vendor, with its reason, ${how}`, async t => {
    const { double, session, callId } = await asking(t, stateful)
    const reply = await session.deny(callId, { reason: 'not her' })
    assert.deepEqual([reply.status, reply.text], ['done', 'Done.'])
    const sent = JSON.stringify(double.exchanges.at(-1))
    assert.match(sent, /approve\\*":false/)
    assert.match(sent, /not her/)
    assert.deepEqual(double.rejections(), [])
  })
}

test('a server declared with require_approval: never needs no approval tool', async () => {
  const model = openai({ model: 'gpt-5', apiKey: 'k', hosted: [{ ...crm, require_approval: 'never' }] })
  assert.equal(model.asksApproval, undefined)
})
