// What people decided for the rest of a session: given with a decision or by itself, kept in the log, revoked.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Session } from '../../src/engine/index.ts'
import { toolHash } from '../../src/language/tools.ts'
import { hashJson } from '../../src/lib/json/hash.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, eventsOf, makeRig, type Rig, say, until } from './rig.ts'

function rigWith(): { rig: Rig; runs: string[] } {
  const runs: string[] = []
  const mail = tool({
    name: 'mail',
    description: 'Sends mail.',
    input: { type: 'object' },
    run: () => {
      runs.push('mail')
      return 'sent'
    },
  })
  const script = (request: { history: readonly { role: string }[] }) =>
    request.history.at(-1)?.role === 'user' ? { calls: [{ name: 'mail' }] } : { text: 'done' }
  return { rig: makeRig({ tools: [mail], script }), runs }
}

function asked(session: Session): string {
  const call = session.state.batch.find(each => each.stage === 'asking')
  assert.ok(call, 'a call is waiting for a decision')
  return call.part.id
}

function decide(session: Session, granted: boolean): Promise<unknown> {
  const decision = { callId: asked(session), granted, by: 'ana', remember: true as const }
  return until(session, () => session.respond({ results: [], decisions: [decision] }))
}

describe('a remembered decision', () => {
  test('lets every further call of the tool run without asking', async () => {
    const { rig, runs } = rigWith()
    const session = await begin(rig)
    await say(session, 'one')
    await decide(session, true)
    await say(session, 'two')
    assert.equal(session.status, 'idle')
    assert.deepEqual(runs, ['mail', 'mail'])
    const events = await eventsOf(rig, session)
    const given = events.find(event => event.type === 'grant.given')
    assert.equal(given?.type === 'grant.given' && given.grant.toolHash, toolHash(rig.agent.tools[0]!))
    assert.equal(events.filter(event => event.type === 'approval.requested').length, 1)
  })

  test('that refuses keeps refusing, also after a restart', async () => {
    const { rig, runs } = rigWith()
    const session = await begin(rig)
    await say(session, 'one')
    await decide(session, false)
    const other = makeRig({
      store: rig.store,
      tools: rig.agent.tools,
      model: rig.agent.model(session.state.settings),
    })
    const again = await other.engine.open('ana', session.id)
    await say(again, 'two')
    assert.equal(again.status, 'idle')
    assert.deepEqual(runs, [])
    const settled = (await eventsOf(other, again)).filter(event => event.type === 'call.settled')
    assert.deepEqual(
      settled.map(event => event.type === 'call.settled' && event.outcome.kind),
      ['denied', 'denied'],
    )
  })
})

describe('a grant by itself', () => {
  test('is given, used and revoked', async () => {
    const { rig, runs } = rigWith()
    const session = await begin(rig)
    const id = await session.grant({ tool: 'mail', toolHash: toolHash(rig.agent.tools[0]!), by: 'ana' })
    await say(session, 'one')
    assert.deepEqual(runs, ['mail'])
    await session.revoke(id, 'ana')
    await say(session, 'two')
    assert.equal(session.status, 'waiting')
    assert.deepEqual(runs, ['mail'])
    await assert.rejects(session.revoke(id, 'ana'), { code: 'not_found' })
  })

  test('that could never be used is refused', async () => {
    const { rig } = rigWith()
    const session = await begin(rig)
    const grant = { tool: 'mail', toolHash: 'h', by: 'ana' }
    await assert.rejects(session.grant({ ...grant, expiresAt: 1 }), { code: 'bad_request' })
    await assert.rejects(session.grant({ ...grant, usesLeft: 0 }), { code: 'bad_request' })
    assert.equal(session.state.grants.size, 0)
  })
})

test('a rule is asked with plain data, the hash of the arguments among it', async () => {
  const seen: unknown[] = []
  const mail = tool({
    name: 'mail',
    description: 'Sends mail.',
    input: { type: 'object' },
    run: () => 'sent',
  })
  const rule = {
    tool: 'mail',
    then: 'allow',
    when: (question: object) => {
      seen.push(JSON.parse(JSON.stringify(question)))
      return true
    },
  } as const
  const script = [{ calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'done' }]
  await say(await begin(makeRig({ tools: [mail], gate: { rules: [rule] }, script })), 'go')
  const [question] = seen as { argsHash: string; input: unknown; toolHash: string }[]
  assert.deepEqual(
    [question?.argsHash, question?.input, question?.toolHash],
    [hashJson({ to: 'ana' }), { to: 'ana' }, toolHash(mail)],
  )
})
