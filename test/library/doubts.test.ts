// Calls that may have happened, and undo: in the library, over AAP with the client, and over the operator's API.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AapClient } from '../../src/client/index.ts'
import { scripted, startServer, Turnwire, TurnwireError, tool } from '../../src/index.ts'
import { Unanswered } from '../../src/lib/net/unanswered.ts'
import type { Reconciled } from '../../src/tools/index.ts'

async function open(t: TestContext) {
  const answers: Reconciled[] = ['unknown']
  const undone: string[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: { type: 'object', properties: { n: { type: 'integer' } } },
    trust: 'trusted',
    run: () => {
      throw new Unanswered('The connection was lost.')
    },
    reconcile: () => answers.shift() ?? { ran: 'receipt 7' },
    undo: (_input, _outcome, { undoes }) => {
      undone.push(undoes)
      return 'refunded'
    },
  })
  const turnwire = await Turnwire.open(
    {
      agents: [
        {
          name: 'clerk',
          tools: [pay],
          model: scripted([{ calls: [{ name: 'pay', input: { n: 1 } }] }, { text: 'Perhaps.' }]),
        },
      ],
      data: 'memory',
    },
    { log: () => {} },
  )
  t.after(() => turnwire.close())
  return { turnwire, undone }
}

test('the library lists, checks and undoes calls', async t => {
  const { turnwire, undone } = await open(t)
  const session = await turnwire.session('clerk')
  await session.send('go')
  const [doubt] = await session.doubts()
  assert.equal(doubt?.tool, 'pay')
  const { callId } = doubt!
  await assert.rejects(async () => session.undo(callId), /Have it checked first/)
  assert.equal(await session.reconcile(callId), 'ran')
  assert.deepEqual(await session.doubts(), [])
  const reply = await session.undo(callId)
  assert.deepEqual([reply.status, undone], ['done', [callId]])
  await assert.rejects(
    async () => session.undo(callId),
    error => error instanceof TurnwireError && error.code === 'call_undone',
  )
})

test('the client checks and undoes calls over AAP, and the operator over its own API', async t => {
  const { turnwire, undone } = await open(t)
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  const client = new AapClient({ baseUrl: `${server.url}/aap/v3` })
  const sessionId = await client.createSession({
    agent: { name: 'clerk', tools: [{ name: 'pay', trust: true }] },
  })
  await client.sendTurn(sessionId, { messages: [{ role: 'user', content: 'go' }] })
  const handle = await turnwire.resume(sessionId, { owner: 'local' })
  const [doubt] = await handle.doubts()
  const { callId } = doubt!
  const post = (path: string, body: object) =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const command = (body: object) => post(`/operator/sessions/${sessionId}/commands`, body)
  assert.equal(await client.reconcile(sessionId, callId), 'ran')
  const checked = await command({ do: 'reconcile', callId })
  assert.equal(((await checked.json()) as { found?: string }).found, 'ran')
  await client.undo(sessionId, callId)
  await handle.wait()
  assert.deepEqual(undone, [callId])
  const refused = await command({ do: 'undo', callId })
  assert.equal(refused.status, 409)
  await assert.rejects(client.undo(sessionId, callId), { code: 'call_undone' })
})
