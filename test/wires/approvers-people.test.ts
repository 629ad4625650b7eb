// Approvers where a person is asked in another way than on a chat wire: MCP clients, editors beside each other, programs that use
// the library, and nodes that do not have the session. And what edits and remembered permissions are worth.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { wireNodes } from '../cluster/wire-nodes.ts'
import { cwd } from './acp/rig.ts'
import { type AllWires, allWires, wireDrivers } from './all-wires.ts'
import { ana, approvals, as, ben, eve, joe, options, owner, type Person, scenes } from './approvers-rig.ts'
import { until } from './rig.ts'

const [plain] = scenes

async function waiting(t: TestContext, at: AllWires): Promise<{ session: string; callId: string }> {
  const { sessionId: session, asks: callId } = await wireDrivers[0]!.start(as(t, at, ana), 'Write to Bo.')
  assert.ok(callId, 'the call waits')
  return { session, callId }
}

type Calls = { calls: { argsHash: string; votes?: Person[] }[] }

const operate = (t: TestContext, at: AllWires, session: string) => ({
  decide: (who: Person, callId: string, more: object = {}) =>
    as(t, at, who).request('POST', `/operator/sessions/${session}/commands`, {
      ...{ do: 'decide', callId, granted: true },
      ...more,
    }),
  see: async (): Promise<Calls> =>
    (await (await as(t, at, ana).request('GET', `/operator/sessions/${session}`)).json()) as Calls,
})

/** A client that says yes to whatever it is asked. */
async function mcpClient(t: TestContext, at: AllWires, { name }: Person, asked: string[]): Promise<Client> {
  const client = new Client(
    { name, version: '1' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  client.setRequestHandler('elicitation/create', () => {
    asked.push(name)
    return { action: 'accept', content: { decision: 'once' } }
  })
  const headers = { 'x-person': name }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${at.url}/mcp/helper`), { requestInit: { headers } }),
  )
  t.after(() => client.close())
  return client
}

test('MCP: someone who asked for the call is not asked about it, and others allow it elsewhere', async t => {
  const runs: string[] = []
  const at = await allWires(t, { ...options(plain, runs), serveMcp: { tools: true } })
  const asked: string[] = []
  const client = await mcpClient(t, at, ana, asked)
  const calling = client.callTool({ name: 'mail', arguments: { to: 'bo' } })
  const { engine } = runtimeOf(at.turnwire)
  let session = ''
  await until(async () => {
    const [row] = (await engine.list(owner, { status: 'waiting', limit: 1 })).rows
    session = row?.id ?? ''
    return row !== undefined
  })
  const [call] = (await engine.summary({ owner, session })).calls
  const { decide } = operate(t, at, session)
  const callId = call?.part.id ?? ''
  assert.equal((await decide(joe, callId)).status, 403)
  for (const who of [ben, eve]) assert.ok((await decide(who, callId)).ok)
  const { content } = await calling
  assert.match(JSON.stringify(content), /sent/)
  assert.deepEqual(asked, [])
  assert.deepEqual(runs, ['{"to":"bo"}'])
})

test('MCP: an approver votes once and is not asked again', async t => {
  const runs: string[] = []
  const rules = [{ tool: 'mail', then: 'ask' as const, approvers: { roles: ['finance'], quorum: 2 } }]
  const at = await allWires(t, { ...options(plain, runs), policy: { rules }, serveMcp: { tools: true } })
  const asked: string[] = []
  const client = await mcpClient(t, at, ana, asked)
  const calling = client.callTool({ name: 'mail', arguments: { to: 'bo' } })
  const { engine } = runtimeOf(at.turnwire)
  let found: { session: string; callId: string } | undefined
  await until(async () => {
    const [row] = (await engine.list(owner, { status: 'waiting', limit: 1 })).rows
    const [call] = row ? (await engine.summary({ owner, session: row.id })).calls : []
    if (row && call?.votes) found = { session: row.id, callId: call.part.id }
    return found !== undefined
  })
  assert.ok(found)
  assert.ok((await operate(t, at, found.session).decide(ben, found.callId)).ok)
  assert.match(JSON.stringify((await calling).content), /sent/)
  assert.deepEqual(asked, ['ana'])
  assert.deepEqual(runs, ['{"to":"bo"}'])
})

test('an editor says who may decide, and asks again only about other arguments', async t => {
  const runs: string[] = []
  const at = await allWires(t, options(plain, runs))
  const { session, callId } = await waiting(t, at)
  const load = { sessionId: session, cwd, mcpServers: [] }
  const stranger = await as(t, at, joe).edit()
  await stranger.agent.request('session/load', load)
  await until(() => /2 people with the role/.test(JSON.stringify(stranger.updates)))
  assert.deepEqual(
    at.logs.filter(line => line.startsWith('error')),
    [],
  )
  stranger.close()
  const voter = await as(t, at, eve).edit({ permission: 'allow' })
  await voter.agent.request('session/load', load)
  await until(async () => (await approvals(at, session)).includes('approval.voted eve'))
  const { decide, see } = operate(t, at, session)
  const [before] = (await see()).calls
  // Ben changes it: Eve's vote was for something else.
  assert.ok((await decide(ben, callId, { seen: before?.argsHash, edit: { to: 'cy' } })).ok)
  await until(() => runs.length > 0)
  assert.deepEqual(runs, ['{"to":"cy"}'])
  assert.deepEqual(
    voter.permissions.map(({ toolCall }) => toolCall.rawInput),
    [{ to: 'bo' }, { to: 'cy' }],
  )
  assert.deepEqual((await approvals(at, session)).slice(-4), [
    'approval.voted eve',
    'approval.requested',
    'approval.voted ben',
    'approval.decided eve',
  ])
})

test('an edit by someone who may not changes nothing, and one by an approver needs the others again', async t => {
  const runs: string[] = []
  const at = await allWires(t, options(plain, runs))
  const { session, callId } = await waiting(t, at)
  const { decide, see } = operate(t, at, session)
  const edit = { to: 'cy' }
  for (const who of [joe, ana]) assert.equal((await decide(who, callId, { edit })).status, 403)
  assert.ok((await decide(eve, callId)).ok)
  assert.ok((await decide(ben, callId, { edit })).ok)
  const [call] = (await see()).calls
  assert.deepEqual(
    call?.votes?.map(({ name }) => name),
    ['ben'],
  )
  assert.equal((await decide(eve, callId)).status, 409, 'she has to have seen the new arguments')
  assert.deepEqual(runs, [])
  assert.ok((await decide(eve, callId, { seen: call?.argsHash })).ok)
  await until(() => runs.length > 0)
  assert.deepEqual(runs, ['{"to":"cy"}'])
})

test('a remembered permission needs all who are needed, and nobody without authority can give one', async t => {
  const runs: string[] = []
  const at = await allWires(t, options(plain, runs))
  const { session, callId } = await waiting(t, at)
  const { decide } = operate(t, at, session)
  const remember = { remember: true }
  assert.equal((await decide(joe, callId, remember)).status, 403)
  assert.ok((await decide(ben, callId, remember)).ok)
  assert.ok((await decide(eve, callId)).ok)
  await until(() => runs.length === 1)
  const idle = async (): Promise<boolean> =>
    (await runtimeOf(at.turnwire).engine.summary({ owner, session })).status === 'idle'
  await until(idle)
  const [aap] = wireDrivers
  // Ben alone wanted it to be remembered: it is asked again.
  const second = await aap!.say(as(t, at, ana), session, 'Again.')
  assert.ok(second.asks)
  for (const who of [ben, eve]) assert.ok((await decide(who, second.asks, remember)).ok)
  await until(async () => runs.length === 2 && (await idle()))
  const third = await aap!.say(as(t, at, ana), session, 'Once more.')
  assert.equal(third.asks, undefined)
  assert.equal(runs.length, 3)
  // Ben gave the permission, so it is not for what Ben asks.
  const fourth = await aap!.say(as(t, at, ben), session, 'For me too.')
  assert.ok(fourth.asks, 'an approver of the permission asks for the turn')
  assert.equal(runs.length, 3)
})

test('the library checks the people that a program vouches for', async t => {
  const runs: string[] = []
  const at = await allWires(t, options(plain, runs))
  const session = await at.turnwire.session('helper', { owner })
  await session.send('Write to Bo.', { by: 'ana' })
  const [pending] = await session.pending()
  assert.ok(pending)
  const { callId } = pending
  const roles = ['finance']
  await assert.rejects(async () => session.approve(callId, { by: 'joe', roles: ['sales'] }), {
    code: 'not_approver',
  })
  await assert.rejects(async () => session.approve(callId, { by: 'ana', roles }), { code: 'not_approver' })
  await assert.rejects(async () => session.approve(callId), { code: 'not_approver' })
  await session.approve(callId, { by: 'ben', roles })
  assert.deepEqual(runs, [])
  assert.equal((await session.approve(callId, { by: 'eve', roles })).text, 'It is sent.')
  assert.deepEqual(runs, ['{"to":"bo"}'])
})

test('votes that come by other nodes count once, and people are checked there too', async t => {
  const runs: string[] = []
  const { a, b, c, holder } = await wireNodes(t, options(plain, runs))
  const { session, callId } = await waiting(t, a)
  assert.equal(await holder(session), 'a')
  assert.equal((await operate(t, b, session).decide(joe, callId)).status, 403)
  assert.equal((await operate(t, c, session).decide(ana, callId)).status, 403)
  assert.ok((await operate(t, b, session).decide(ben, callId)).ok)
  assert.equal((await operate(t, c, session).decide(ben, callId)).status, 409)
  assert.deepEqual(runs, [])
  assert.ok((await operate(t, c, session).decide(eve, callId)).ok)
  await until(() => runs.length > 0)
  assert.deepEqual(runs, ['{"to":"bo"}'])
  assert.deepEqual(await approvals(a, session), [
    'approval.requested',
    'approval.refused joe',
    'approval.refused ana',
    'approval.voted ben',
    'approval.decided eve',
  ])
})
