// Webhooks of a whole server: what is told when, to whom, and what operators see of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../wires/rig.ts'
import { receive, secret, serveHooks } from './rig.ts'

const mail = { name: 'mail', input: { to: 'bob@example.org', text: 'the secret plan' } }

test('what waits, what may have happened and how a turn ended is told, once, and without arguments or words of the conversation', async t => {
  const receiver = await receive(t)
  const script = [
    { calls: [mail] },
    { calls: [{ name: 'survey', input: {} }] },
    { calls: [{ name: 'pay', input: {} }] },
    { calls: [{ name: 'clipboard', input: {} }] },
    { text: 'All done, says the secret plan.' },
  ]
  const served = await serveHooks(t, script, { ops: { url: receiver.url, secret } })
  const id = await served.say('tell nobody: xyzzy')
  const command = async (body: object): Promise<void> => {
    const answer = await served.as('ada', 'POST', `/operator/sessions/${id}/commands`, body)
    assert.equal(answer.status, 200, await answer.text())
  }

  const asked = await receiver.next('approval.requested')
  assert.deepEqual(
    [asked.data.session, asked.data['owner'], asked.data['agent'], asked.data['tool']],
    [id, 'ada', 'helper', 'mail'],
  )
  await command({ do: 'decide', callId: asked.data['call'], granted: true })
  const question = await receiver.next('question.asked')
  assert.deepEqual([question.data['tool'], question.data['message']], ['survey', 'How many?'])
  await command({
    do: 'answer',
    question: question.data['question'],
    action: 'accept',
    content: { n: 3 },
  })
  const unknown = await receiver.next('call.unknown')
  assert.equal(unknown.data['tool'], 'pay')
  const handed = await receiver.next('client_tool.requested')
  assert.equal(handed.data['tool'], 'clipboard')
  await command({
    do: 'result',
    callId: handed.data['call'],
    text: 'copied',
  })
  const ended = await receiver.next('turn.ended')
  assert.equal(ended.data['stop'], 'end')
  assert.equal(receiver.messages.length, 5)
  assert.equal(new Set(receiver.messages.map(message => message.id)).size, 5)
  const all = receiver.messages.map(({ body }) => body).join()
  for (const word of ['secret plan', 'bob@example', 'xyzzy', 'copied', 'whsec_'])
    assert.ok(!all.includes(word), word)
})

test('a turn that failed and a budget that asks are told', async t => {
  const receiver = await receive(t)
  const webhooks = { ops: { url: receiver.url, secret } }
  const failing = await serveHooks(t, [{ fail: { code: 'model_rejected', message: 'no' } }], webhooks)
  const id = await failing.say()
  const failed = await receiver.next('turn.failed')
  assert.deepEqual(
    [failed.data.session, failed.data['stop'], failed.data['error']],
    [id, 'error', 'model_rejected'],
  )
  const spending = await serveHooks(
    t,
    [{ calls: [{ name: 'pay', input: {} }], usage: { input: 90, output: 20 } }, { text: 'done' }],
    webhooks,
    { agent: { budgets: { session: { tokens: 100, then: 'ask' } } } },
  )
  await spending.say()
  const reached = await receiver.next('budget.reached')
  assert.match(String(reached.data['message']), /100/)
})

test('an endpoint gets what it filters for, and a failing one does not keep another waiting', async t => {
  const [one, two] = [await receive(t), await receive(t)]
  one.answers.push(500)
  const served = await serveHooks(t, [{ text: 'hello' }], {
    one: { url: one.url, secret, events: ['turn.*'] },
    two: { url: two.url, secret, owners: ['ada'] },
    three: { url: two.url, secret, owners: ['bob'] },
    four: { url: two.url, secret, agents: ['nobody'] },
  })
  await served.say()
  await two.next('turn.ended')
  await one.next('turn.ended')
  assert.equal(two.messages.length, 1)
  const read = async () =>
    (await (await served.as('root', 'GET', '/operator/webhooks/one/deliveries')).json()) as {
      deliveries: { id: string; state: string; attempts: number; tries: { status: number }[] }[]
    }
  await until(async () => (await read()).deliveries[0]?.tries.length === 1)
  const { deliveries } = await read()
  assert.deepEqual([deliveries[0]?.state, deliveries[0]?.tries[0]?.status], ['waiting', 500])

  const list = await served.as('root', 'GET', '/operator/webhooks')
  assert.deepEqual(
    ((await list.json()) as { webhooks: { name: string }[] }).webhooks.map(({ name }) => name),
    ['one', 'two', 'three', 'four'],
  )
  const again = await served.as(
    'root',
    'POST',
    `/operator/webhooks/two/deliveries/${two.messages[0]!.id}/resend`,
  )
  assert.equal(again.status, 200)
  await two.next('turn.ended')
  assert.equal(two.messages[1]?.id, two.messages[0]?.id)
  const shown = await served.as('root', 'GET', '/operator/webhooks/two/secret')
  assert.deepEqual(await shown.json(), { secret })
  for (const path of ['', '/two/deliveries', '/two/secret'])
    assert.equal((await served.as('ada', 'GET', `/operator/webhooks${path}`)).status, 403)
  assert.equal((await served.as('root', 'GET', '/operator/webhooks/nine/deliveries')).status, 404)
  assert.ok(served.logs.every(line => !line.includes(secret)))
})

test('an address that the egress rule forbids is not reached, and the list says why', async t => {
  const receiver = await receive(t)
  const served = await serveHooks(
    t,
    [{ text: 'hello' }],
    { ops: { url: receiver.url, secret } },
    { egress: {} },
  )
  await served.say()
  const read = async () =>
    (await (await served.as('root', 'GET', '/operator/webhooks/ops/deliveries')).json()) as {
      deliveries: { tries: { error?: string }[] }[]
    }
  await until(async () => (await read()).deliveries[0]?.tries.length === 1)
  assert.match((await read()).deliveries[0]?.tries[0]?.error ?? '', /private address 127\.0\.0\.1/)
  assert.equal(receiver.messages.length, 0)
})

test('a server without webhooks keeps no messages', async t => {
  const served = await serveHooks(t, [{ text: 'hello' }], {})
  await served.say()
  assert.deepEqual(await (await served.as('root', 'GET', '/operator/webhooks')).json(), { webhooks: [] })
})
