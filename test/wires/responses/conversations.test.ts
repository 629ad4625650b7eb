// Conversations, summaries and counts, with the official SDK and the Agents SDK as clients.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Agent, OpenAIConversationsSession, OpenAIProvider, Runner, setTracingDisabled } from '@openai/agents'
import OpenAI from 'openai'
import { rehearsal } from '../../../src/models/rehearsal/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { agentOf } from '../aap/rig.ts'
import { latch, output, type Rig, refused, rig, weather } from './rig.ts'

setTracingDisabled(true)

const sdk = ({ url }: Rig, headers: Record<string, string> = {}): OpenAI =>
  new OpenAI({ apiKey: 'any', baseURL: `${url}/v1`, maxRetries: 0, defaultHeaders: headers })

const user = (content: string) => ({ type: 'message' as const, role: 'user' as const, content })

test(cites('RESP-CONV-01', 'a conversation is made, read, changed and deleted'), async t => {
  const at = await rig(t, { script: [{ text: 'x' }] })
  const client = sdk(at)
  const made = await client.conversations.create({ metadata: { topic: 'tea' }, items: [user('Hello.')] })
  assert.match(made.id, /^conv_/)
  assert.deepEqual([made.object, made.metadata], ['conversation', { topic: 'tea' }])
  const again = await at.restart()
  assert.deepEqual(await sdk(again).conversations.retrieve(made.id), made)
  const changed = await client.conversations.update(made.id, { metadata: { topic: 'milk' } })
  assert.deepEqual(changed.metadata, { topic: 'milk' })
  const other = sdk(at, { 'x-owner': 'mallory' })
  await assert.rejects(other.conversations.retrieve(made.id), { status: 404, code: 'conversation_not_found' })
  assert.deepEqual(await client.conversations.delete(made.id), {
    id: made.id,
    object: 'conversation.deleted',
    deleted: true,
  })
  await assert.rejects(client.conversations.retrieve(made.id), { status: 404 })
  await assert.rejects(client.responses.create({ model: 'helper', conversation: made.id, input: 'x' }), {
    status: 404,
  })
  await assert.rejects(client.conversations.items.list('conv_none'), { status: 404 })
})

test(cites('RESP-CONV-02', 'items are added, listed in pages, read and deleted'), async t => {
  const at = await rig(t)
  const { conversations } = sdk(at)
  const { id } = await conversations.create({ items: [user('1')] })
  const added = await conversations.items.create(id, { items: [user('2'), user('3'), user('4')] })
  assert.equal(added.data.length, 3)
  assert.deepEqual([added.first_id, added.has_more], [added.data[0]?.id, false])
  const ids: (string | undefined)[] = []
  for await (const item of conversations.items.list(id, { limit: 2, order: 'asc' })) ids.push(item.id)
  assert.equal(new Set(ids).size, 4)
  assert.deepEqual(
    ids.slice(1),
    added.data.map(item => item.id),
  )
  const [latest] = (await conversations.items.list(id, { limit: 1 })).data
  assert.equal(latest?.id, ids[3])
  const one = await conversations.items.retrieve(ids[1]!, { conversation_id: id })
  assert.deepEqual(one.type === 'message' && one.content, [{ type: 'input_text', text: '2' }])
  assert.equal((await conversations.items.delete(ids[1]!, { conversation_id: id })).id, id)
  const left = (await conversations.items.list(id, { order: 'asc' })).data.map(item => item.id)
  assert.deepEqual(left, [ids[0], ids[2], ids[3]], 'items keep their ids')
  await assert.rejects(conversations.items.retrieve(ids[1]!, { conversation_id: id }), { status: 404 })
})

test(cites('RESP-CONV-03', 'responses read the conversation and are added to it, by any agent'), async t => {
  const heard: string[] = []
  const script = [
    { calls: [{ name: 'get_weather', input: { city: 'Paris' } }] },
    {
      text: 'Sunny.',
      expect: ({ history }: { history: unknown }) => void heard.push(JSON.stringify(history)),
    },
  ]
  const second = agentOf({ script: [{ text: 'a' }, { text: 'b' }, { text: 'Also here.' }] }, [], latch())
  const at = await rig(t, { script, more: [{ ...second, name: 'other' }] })
  const client = sdk(at)
  const { id } = await client.conversations.create({ items: [user('My name is Ann.')] })
  const tools: OpenAI.Responses.Tool[] = [{ ...weather, type: 'function', strict: false }]
  const asked = { model: 'helper', conversation: id, tools }
  const first = await client.responses.create({ ...asked, input: 'How is it in Paris?' })
  assert.deepEqual(first.conversation, { id })
  const call = first.output.find(item => item.type === 'function_call')
  const answer = await client.responses.create({ ...asked, input: [output(call!.call_id) as never] })
  assert.equal(answer.output_text, 'Sunny.')
  assert.match(heard.join(''), /My name is Ann\./)
  const third = await client.responses.create({ model: 'other', conversation: id, input: 'And you?' })
  assert.equal(third.output_text, 'Also here.')
  assert.deepEqual(third.conversation, { id })
  const items = (await client.conversations.items.list(id, { order: 'asc' })).data
  assert.deepEqual(
    items.map(item => item.type),
    ['message', 'message', 'function_call', 'function_call_output', 'message', 'message', 'message'],
  )
})

test(cites('RESP-CONV-04', 'one response at a time'), async t => {
  const at = await rig(t, { script: [{ text: 'half', hang: true }] })
  const client = sdk(at)
  const { id } = await client.conversations.create()
  const asked = { model: 'helper', conversation: id, input: 'x' }
  const running = await client.responses.create({ ...asked, background: true })
  await assert.rejects(client.responses.create(asked), { status: 400, code: 'conversation_locked' })
  await client.responses.cancel(running.id)
  const both = { ...asked, previous_response_id: running.id }
  await assert.rejects(client.responses.create(both), { code: 'mutually_exclusive_parameters' })
})

test(cites('RESP-CONV-05', '@openai/agents: a session of the server’s conversations'), async t => {
  const at = await rig(t, { model: rehearsal() })
  const client = sdk(at)
  const provider = new OpenAIProvider({ openAIClient: client, useResponses: true })
  t.after(() => provider.close?.())
  const agent = new Agent({ name: 'Helper', model: 'helper' })
  const session = new OpenAIConversationsSession({ client })
  const runner = new Runner({ modelProvider: provider })
  await runner.run(agent, 'Say apple.', { session })
  await runner.run(agent, 'And pear.', { session })
  const items = await session.getItems()
  assert.deepEqual(
    items.map(item => ('role' in item ? item.role : item.type)),
    ['user', 'assistant', 'user', 'assistant'],
  )
  assert.ok(await session.popItem())
  assert.equal((await session.getItems()).length, 3)
  await session.clearSession()
})

test(cites('RESP-CONV-06', 'a conversation is made short, and goes on from there'), async t => {
  const heard: string[] = []
  const at = await rig(t, {
    script: {
      position: 'counter',
      steps: [
        { text: 'Oslo.' },
        { text: 'They spoke of Oslo.', usage: { input: 9, output: 4 } },
        { text: 'Still Oslo.', expect: ({ history }) => void heard.push(JSON.stringify(history)) },
      ],
    },
  })
  const client = sdk(at)
  const first = await client.responses.create({ model: 'helper', input: 'Which city?' })
  const short = await client.responses.compact({ model: 'helper', previous_response_id: first.id })
  assert.equal(short.object, 'response.compaction')
  assert.deepEqual(
    short.output.map(item => item.type),
    ['message', 'compaction'],
  )
  assert.equal(short.usage.total_tokens, 13)
  const input = [...short.output, user('Sure?')] as OpenAI.Responses.ResponseInput
  const last = await client.responses.create({ model: 'helper', input })
  assert.equal(last.output_text, 'Still Oslo.')
  assert.match(heard.join(''), /Which city\?.*They spoke of Oslo\..*Sure\?/)
  const missing = await refused(at.post({ input: 'x' }, {}, '/v1/responses/compact'))
  assert.deepEqual(
    [missing.status, missing.code, missing.param],
    [400, 'missing_required_parameter', 'model'],
  )
  assert.equal((await refused(at.post({ model: 'helper' }, {}, '/v1/responses/compact'))).param, 'input')
})

test(cites('RESP-CONV-07', 'input tokens are counted, and nothing is asked or kept'), async t => {
  const at = await rig(t, { script: [] })
  const client = sdk(at)
  const short = await client.responses.inputTokens.count({ model: 'helper', input: 'Hi.' })
  assert.equal(short.object, 'response.input_tokens')
  const long = await client.responses.inputTokens.count({
    model: 'helper',
    input: 'Hi there. '.repeat(100),
    instructions: 'Be brief.',
    tools: [{ ...weather, type: 'function', strict: false }],
  })
  assert.ok(long.input_tokens > short.input_tokens + 200)
  assert.ok((await client.responses.inputTokens.count({})).input_tokens >= 0)
  assert.deepEqual((await at.engine.list(null, { limit: 1 })).rows, [])
})
