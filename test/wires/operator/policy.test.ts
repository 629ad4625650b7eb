// The operator API on policy: the rules in force, what they did, what they would say, and what shadow rules would have said.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newKey } from '../../../src/callers/keys.ts'
import { OperatorClient } from '../../../src/client/index.ts'
import { type PolicyRule, scripted, startServer, Turnwire, tool } from '../../../src/index.ts'

const input = { type: 'object', properties: { to: { type: 'string' } } } as const
const mail = tool({ name: 'send_mail', description: 'Sends.', input, run: () => 'sent' })
const drop = tool({
  name: 'drop_table',
  description: 'Drops.',
  input,
  trust: 'trusted',
  run: () => 'dropped',
})
const look = tool({
  name: 'look',
  description: 'Looks.',
  input,
  readOnly: true,
  trust: 'trusted',
  run: () => 'seen',
})

const rules: PolicyRule[] = [
  { name: 'no-drop', tool: 'drop_*', then: 'deny', reason: 'Nothing is dropped here.' },
  { name: 'press', tool: 'send_mail', args: { to: '*@press.example' }, then: 'deny' },
  { name: 'twice', tool: 'send_mail', after: { tool: 'send_mail' }, then: 'ask' },
  { name: 'mail', tool: 'send_mail', then: 'allow' },
]

/** Default sorting compares lists as texts; so does this. */
const byText = (one: unknown[], other: unknown[]): number => (one.join() < other.join() ? -1 : 1)

async function serve(t: TestContext, shadow?: PolicyRule[]) {
  const call = (name: string, to = 'ana@example.org') => ({ name, input: { to } })
  const model = scripted([
    { calls: [call('look'), call('drop_table'), call('send_mail')] },
    { calls: [call('send_mail', 'x@press.example')] },
    { text: 'Done.' },
  ])
  const keys = { operator: newKey('ops', true), other: newKey('ana') }
  const turnwire = await Turnwire.open({
    data: 'memory',
    agents: [{ name: 'clerk', model, tools: [mail, drop, look] }],
    policy: { rules, ...(shadow && { shadow }) },
    server: { keys: [keys.operator.entry, keys.other.entry] },
  })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  const session = await turnwire.session('clerk')
  await session.send('Go')
  const client = (key: string) => new OperatorClient({ baseUrl: server.url, apiKey: key, retries: 0 })
  return { session: session.id, client: client(keys.operator.key), other: client(keys.other.key) }
}

test('it shows the rules in order, the verdict on each tool, and what each rule did', async t => {
  const { client } = await serve(t)
  const { agents, hits, shadow, scanned, file } = await client.policy()
  const [clerk] = agents
  assert.deepEqual(
    clerk?.policy?.rules.map(({ name, from, then }) => [name, from, then]),
    [
      ['no-drop', 'policy', 'deny'],
      ['press', 'policy', 'deny'],
      ['twice', 'policy', 'ask'],
      ['mail', 'policy', 'allow'],
    ],
  )
  const verdicts = Object.fromEntries(clerk.tools.map(({ name, verdict }) => [name, verdict]))
  assert.deepEqual(verdicts['drop_table'], {
    verdict: 'deny',
    rule: 'no-drop',
    reason: 'Nothing is dropped here.',
  })
  assert.deepEqual(verdicts['send_mail'], {
    verdict: 'allow',
    rule: 'mail',
    unless: [
      { rule: 'press', verdict: 'deny' },
      { rule: 'twice', verdict: 'ask' },
    ],
  })
  assert.deepEqual(verdicts['look'], { verdict: 'allow', rule: 'operator-trust' })
  assert.deepEqual(
    hits.map(({ agent, rule, allow, ask, deny }) => [agent, rule, allow, ask, deny]).toSorted(byText),
    [
      ['clerk', 'mail', 1, 0, 0],
      ['clerk', 'no-drop', 0, 0, 1],
      ['clerk', 'operator-trust', 1, 0, 0],
      ['clerk', 'press', 0, 0, 1],
    ],
  )
  assert.deepEqual(shadow, { judged: 0, differing: 0, differences: [] })
  assert.deepEqual(scanned, { sessions: 1, complete: true })
  assert.equal(file, undefined)
  // What was read is kept: asked again it says the same.
  assert.deepEqual((await client.policy()).hits, hits)
})

test('it shows each call that shadow rules would have decided otherwise, and they change nothing', async t => {
  const { client, session } = await serve(t, [{ name: 'all-ask', then: 'ask', reason: 'A draft.' }])
  const { shadow, agents } = await client.policy(1)
  assert.equal(shadow.judged, 4)
  assert.deepEqual(
    shadow.differences
      .map(({ tool, given, verdict, rule, reason }) => [tool, given, verdict, rule, reason])
      .toSorted(byText),
    [
      ['drop_table', 'deny', 'ask', 'all-ask', 'A draft.'],
      ['look', 'allow', 'ask', 'all-ask', 'A draft.'],
      ['send_mail', 'allow', 'ask', 'all-ask', 'A draft.'],
      ['send_mail', 'deny', 'ask', 'all-ask', 'A draft.'],
    ],
  )
  assert.equal(agents[0]?.policy?.shadow?.rules[0]?.name, 'all-ask')
  const { events } = await client.events(session)
  const kinds = events.flatMap(({ event }) => (event.type === 'call.settled' ? [event.outcome.kind] : []))
  assert.deepEqual(kinds.toSorted(), ['denied', 'denied', 'ok', 'ok'])
})

test('a call that nobody made is judged by the real gate, alone and as the next of a session', async t => {
  const { client, session } = await serve(t)
  const to = (address: string) => ({ tool: 'send_mail', input: { to: address } })
  const fresh = await client.judge({ agent: 'clerk', ...to('ana@example.org') })
  assert.ok('verdict' in fresh)
  assert.deepEqual([fresh.verdict, fresh.rule], ['allow', 'mail'])
  const press = await client.judge(to('a@PRESS.example'))
  assert.deepEqual('rule' in press && press.rule, 'press')
  // The turn of the session has sent a mail already.
  const next = await client.judge({ ...to('ana@example.org'), session })
  assert.deepEqual('rule' in next && [next.verdict, next.rule], ['ask', 'twice'])
  const { events } = await client.events(session)
  assert.ok(events.length < 30, 'judging recorded something')
  assert.match(JSON.stringify(await client.judge({ tool: 'nothing', input: {} })), /does not offer/)
  assert.match(JSON.stringify(await client.judge({ tool: 'send_mail', input: { to: 5 } })), /problem.*schema/)
  await assert.rejects(client.judge({ tool: 'send_mail', input: {}, agent: 'nobody' }), { status: 400 })
})

test('only operators see the policy', async t => {
  const { other } = await serve(t)
  await assert.rejects(other.policy(), { status: 403 })
  await assert.rejects(other.judge({ tool: 'look', input: {} }), { status: 403 })
  const { agents } = await other.agents()
  assert.equal(agents[0]?.policy, undefined)
})
