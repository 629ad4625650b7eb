// Questions about calls that are asked of a real server process: one that has expired stays so, whatever the clock says, and one
// whose tool has changed is asked anew where it can be seen.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, type Attacked, attacked, attackFolder, script } from './attack-rig.ts'

const asks = script({ calls: [{ name: 'mail', input: { to: 'ana' } }] })

/** A session over AAP whose call waits for a person. */
async function waiting(server: Attacked): Promise<{ session: string; call: string }> {
  const session = await server.session()
  const { text } = await server.turn(session, asks)
  const call = /"type":"tool_use","toolCallId":"([^"]+)"/.exec(text)?.[1]
  assert.ok(call, text)
  return { session, call }
}

const allow = (server: Attacked, session: string, toolCallId: string): Promise<Answer> =>
  server.send({
    path: `/sessions/${session}/turns`,
    body: { messages: [{ role: 'tool_permission', toolCallId, granted: true }] },
  })

test('a clock that is set back makes no expired question answerable, before and after a restart', async t => {
  const folder = attackFolder(t)
  const expiresInMs = 500
  const config = { policy: { rules: [{ tool: 'mail', then: 'ask' as const, expiresInMs }] } }
  const server = await attacked(t, { folder, config })
  const { session, call } = await waiting(server)
  await server.setClockBack()
  // Timers of the server that are due run before it reads a request.
  await new Promise(resolve => setTimeout(resolve, 4 * expiresInMs))
  const late = await allow(server, session, call)
  assert.equal(late.status, 410, late.text)
  assert.match(late.text, /approval_expired/)
  assert.equal(await server.stop(), 0)
  const again = await attacked(t, { folder, config })
  await again.setClockBack()
  const later = await allow(again, session, call)
  assert.equal(later.status, 410, later.text)
  const history = await again.send({ path: `/sessions/${session}/history?type=full` })
  assert.doesNotMatch(history.text, /It was sent/)
})

test('a question whose tool has changed is asked anew, whole, over AAP and DeltaKit', async t => {
  const folder = attackFolder(t)
  const before = await attacked(t, { folder })
  const aap = await waiting(before)
  const said = await before.send({ path: '/api/chat', body: { message: asks, agent: 'helper' } })
  const deltakit = {
    session: String(said.headers['x-session-id']),
    call: /"type": ?"tool_approval_request".*?"call_id": ?"([^"]+)"/.exec(said.text)?.[1],
  }
  assert.ok(deltakit.call, said.text)
  assert.equal(await before.stop(), 0)
  const server = await attacked(t, { folder, env: { ATTACK_MAIL: 'Sends a mail, and a copy to us.' } })
  const first = await allow(server, aap.session, aap.call)
  assert.match(first.text, /"stopReason":"tool_use"/)
  assert.match(first.text, new RegExp(`"toolCallId":"${aap.call}"`))
  assert.match(first.text, /"input":\{[^}]*"to":"ana"/)
  assert.match(first.text, /tool has changed since/)
  assert.match((await allow(server, aap.session, aap.call)).text, /It was sent[\s\S]*Done\./)
  const answer = { sessionId: deltakit.session, approvals: [{ call_id: deltakit.call, approved: true }] }
  const second = await server.send({ path: '/api/chat/answer', body: answer })
  assert.match(second.text, /tool_approval_request/)
  assert.match(second.text, /\\"to\\": ?\\"ana/)
  assert.match(second.text, /tool has changed since/)
  assert.match((await server.send({ path: '/api/chat/answer', body: answer })).text, /Done\./)
})
