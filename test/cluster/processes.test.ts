// Real server processes on a real PostgreSQL: sessions across nodes, and nodes that are killed, stopped and restarted. What
// tools did is counted outside the database.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { networkTo } from '../stores/postgres/proxy.ts'
import { databaseUrl } from '../stores/postgres/server.ts'
import { startLoad } from './load.ts'
import {
  type Answer,
  begin,
  ended,
  insist,
  post,
  processes,
  say,
  stateOf,
  until,
  watch,
} from './processes.ts'

const leaseMs = 4_000

/** The id of the first call in an answer. */
function toolCallIn({ messages }: Answer): string | undefined {
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])) as {
    type: string
    toolCallId?: string
  }[]
  return blocks.find(({ type }) => type === 'tool_use')?.toolCallId
}

test('a session begins on one node, is approved on another and watched on a third', {
  timeout: 120_000,
}, async t => {
  const cluster = await processes(t, 10_000)
  const [a, b, c] = [await cluster.start(), await cluster.start(), await cluster.start()]
  const id = await begin(a.url)
  const seen: string[] = []
  const watching = (async () => {
    for await (const { id: event, type } of watch(c.url, id)) {
      seen.push(`${event} ${type}`)
      if (type === 'turn.ended') return
    }
  })()
  const asked = await say(a.url, id, 'Send the mail')
  assert.equal(asked.stopReason, 'tool_use')
  const permission = {
    messages: [{ role: 'tool_permission', toolCallId: toolCallIn(asked), granted: true }],
  }
  const answer = await post<Answer>(b.url, `/sessions/${id}/turns`, permission)
  assert.equal(answer.stopReason, 'end_turn')
  await watching
  // Every event once, in order, as the log has them.
  assert.deepEqual(
    seen.map(each => each.split(' ')[1]),
    [
      'session.created',
      'turn.started',
      'model.answered',
      'approval.requested',
      'approval.decided',
      'call.started',
      'call.settled',
      'model.answered',
      'turn.ended',
    ],
  )
  assert.deepEqual(
    seen.map(each => Number(each.split(' ')[0])),
    seen.map((_, index) => index + 1),
  )
  assert.equal(cluster.effects().length, 1)
  for (const { url } of [a, b, c]) assert.equal((await fetch(`${url}/health`)).status, 200)
  // The node that made it is gone in good order: the session stays.
  a.child.kill('SIGTERM')
  await ended(a.child)
  assert.equal((await say(c.url, id, 'Hello')).stopReason, 'end_turn')
})

test('turns of a node that was killed go on elsewhere within its lease, and nothing takes effect twice', {
  timeout: 180_000,
}, async t => {
  const cluster = await processes(t, leaseMs)
  const [a, b, c] = [await cluster.start(), await cluster.start(), await cluster.start()]
  const paying = await begin(a.url)
  const slow = await Promise.all(Array.from({ length: 10 }, () => begin(a.url)))
  // These answers are lost with their connections.
  void say(a.url, paying, 'Please pay').catch(() => {})
  for (const id of slow) void say(a.url, id, 'A slow one').catch(() => {})
  await until(() => cluster.effects().length === 1)
  // B is asked about a session of the dead node and holds the request until it can go on.
  const events: string[] = []
  const watching = (async () => {
    for await (const { type } of watch(b.url, slow[0]!)) {
      events.push(type)
      if (type === 'turn.ended') return
    }
  })()
  await until(async () => (await stateOf(b.url, slow[9]!)).status === 'running')
  a.child.kill('SIGKILL')
  await ended(a.child)
  await watching
  await until(async () => {
    const states = await Promise.all([...slow, paying].map(id => stateOf(c.url, id)))
    return states.every(({ status }) => status === 'idle')
  })
  assert.deepEqual(events, ['session.created', 'turn.started', 'model.answered', 'turn.ended'])
  // The payment may have happened: it was not repeated, and the model was told.
  assert.equal(cluster.effects().length, 1)
  const history = await (await fetch(`${c.url}/sessions/${paying}/history?type=full`)).text()
  assert.match(history, /not known whether it took effect/)
  const rows = await cluster.query<{ id: string; late: boolean }>(
    `SELECT id, epoch <> 2 AS late FROM $schema.sessions WHERE status <> 'idle' OR epoch < 2`,
  )
  assert.deepEqual([...rows], [])
})

test('a node that was stopped past its lease with a tool under way writes nothing when it wakes', {
  timeout: 180_000,
}, async t => {
  const cluster = await processes(t, leaseMs)
  const [a, b] = [await cluster.start(), await cluster.start()]
  const id = await begin(a.url)
  void say(a.url, id, 'Please pay').catch(() => {})
  await until(() => cluster.effects().length === 1)
  a.child.kill('SIGSTOP')
  await until(async () => (await stateOf(b.url, id)).status === 'idle')
  const before = await cluster.query(
    `SELECT session, first_seq, epoch, body FROM $schema.events ORDER BY 1, 2`,
  )
  // Its tool returns as soon as it wakes.
  cluster.release()
  a.child.kill('SIGCONT')
  await until(() => a.log().includes('It was discarded.'))
  await until(async () => (await fetch(`${a.url}/health`)).status === 200)
  const after = await cluster.query(
    `SELECT session, first_seq, epoch, body FROM $schema.events ORDER BY 1, 2`,
  )
  assert.deepEqual([...after], [...before])
  assert.equal(cluster.effects().length, 1)
  assert.match(a.log(), /lost its lease/)
  // It came back as another node, and passes the session's requests on.
  const nodes = await cluster.query<{ id: string }>(`SELECT id FROM $schema.nodes`)
  assert.equal(nodes.length, 3)
  assert.equal((await say(a.url, id, 'Hello')).stopReason, 'end_turn')
  const epochs = await cluster.query<{ epoch: string }>(`SELECT epoch FROM $schema.events ORDER BY first_seq`)
  const numbers = epochs.map(({ epoch }) => Number(epoch))
  assert.deepEqual(
    numbers,
    [...numbers].sort((one, other) => one - other),
  )
})

test('a node that was stopped while a session was being made answers as the node does that has it now', {
  timeout: 180_000,
}, async t => {
  const cluster = await processes(t, leaseMs)
  const network = await networkTo(await databaseUrl())
  t.after(() => network.close())
  const [a, b] = [await cluster.start({ database: network.url }), await cluster.start()]
  const answer = network.holdAnswer('session.created')
  const making = begin(a.url)
  making.catch(() => {})
  await until(() => answer.bytes > 0)
  a.child.kill('SIGSTOP')
  const [row] = await cluster.query<{ id: string; node: string }>('SELECT id, node FROM $schema.sessions')
  const { id, node: before } = row!
  const asked = await insist(() => say(b.url, id, 'Send the mail', 'turn-1'))
  assert.equal(asked.stopReason, 'tool_use')
  a.child.kill('SIGCONT')
  // It lost its lease, and has another one.
  await until(() => a.log().includes('joined again'))
  await until(async () => (await fetch(`${a.url}/health`)).status === 200)
  answer.release()
  assert.equal(await making, id, 'it was made, so the client is told its id')
  const [here, there] = [await stateOf(a.url, id), await stateOf(b.url, id)]
  assert.deepEqual(here, there)
  const [holder] = await cluster.query<{ node: string }>('SELECT node FROM $schema.sessions')
  assert.notEqual(holder?.node, before)
  const permission = { role: 'tool_permission', toolCallId: toolCallIn(asked), granted: true }
  const ended = await post<Answer>(a.url, `/sessions/${id}/turns`, { messages: [permission] })
  assert.equal(ended.stopReason, 'end_turn')
  assert.equal(cluster.effects().length, 1)
})

test('a node that was stopped while a session was being opened answers as the node does that has it now', {
  timeout: 240_000,
}, async t => {
  const cluster = await processes(t, leaseMs)
  const network = await networkTo(await databaseUrl())
  t.after(() => network.close())
  const [a, b, c] = [
    await cluster.start({ database: network.url, prepare: false }),
    await cluster.start(),
    await cluster.start(),
  ]
  const openings = [
    ['open', 'SET epoch = s.epoch + 1'],
    ['open', 'OVER (ORDER BY first_seq)'],
    ['attach', 'SET epoch = s.epoch + 1'],
    ['claim', 'SET epoch = s.epoch + 1'],
  ] as const
  const sessions = await Promise.all(openings.map(() => begin(c.url)))
  c.child.kill('SIGTERM')
  await ended(c.child)
  for (const [at, [order, statement]] of openings.entries()) {
    const id = sessions[at]!
    const answer = network.holdAnswer(statement, id)
    const opening = a.order(order, id)
    await until(() => answer.bytes > 0)
    a.child.kill('SIGSTOP')
    const asked = await insist(() => say(b.url, id, 'Send the mail', `turn-${at}`))
    assert.equal(asked.stopReason, 'tool_use')
    const joined = a.log().split('joined again').length
    a.child.kill('SIGCONT')
    await until(() => a.log().split('joined again').length > joined)
    await until(async () => (await fetch(`${a.url}/health`)).status === 200)
    answer.release()
    await opening
    const [here, there] = [await stateOf(a.url, id), await stateOf(b.url, id)]
    assert.deepEqual(here, there, order)
    const permission = { role: 'tool_permission', toolCallId: toolCallIn(asked), granted: true }
    const answered = await post<Answer>(a.url, `/sessions/${id}/turns`, { messages: [permission] })
    assert.equal(answered.stopReason, 'end_turn', order)
    assert.equal(cluster.effects().length, at + 1, order)
  }
})

test('a rolling restart under load loses no turn and no stream', { timeout: 240_000 }, async t => {
  const cluster = await processes(t, leaseMs)
  const nodes = [await cluster.start(), await cluster.start(), await cluster.start()]
  const any = (): string => nodes[Math.floor(Math.random() * nodes.length)]!.url
  const sessions = await Promise.all(Array.from({ length: 12 }, () => begin(any())))
  const load = startLoad(sessions, any)
  for (let index = 0; index < nodes.length; index++) {
    await pause(1_500)
    const [old] = nodes.splice(index, 1)
    old!.child.kill('SIGTERM')
    await ended(old!.child)
    assert.equal(old!.child.exitCode, 0, old!.log())
    nodes.splice(index, 0, await cluster.start())
  }
  await pause(1_000)
  await load.stop()
  await load.check()
})
