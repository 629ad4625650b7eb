// History as items that DeltaKit's converter reads, held against what was streamed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cites } from '../../requirements/manifest.ts'
import { type Rig, rig } from '../rig.ts'
import { Chat, fromItems, readEvents } from './reference-client.ts'

type Item = Record<string, unknown>
const history = async (at: Rig, id: string): Promise<Item[]> =>
  (await (await at.request('GET', `/api/history?sessionId=${id}`)).json()) as Item[]

test(cites('DK-HIST-01', 'DK-HIST-03', 'DK-HIST-04', 'what was streamed is what is read back'), async t => {
  const at = await rig(t, {
    script: [
      {
        thinking: 'hm',
        text: 'Looking. ',
        calls: [{ name: 'search', input: { q: 'a' } }, { name: 'fails' }],
      },
      { text: 'Found.' },
      { text: 'Bye.' },
    ],
  })
  const chat = new Chat()
  let id = ''
  for (const message of ['find it', 'thanks']) {
    const answer = await at.request('POST', '/api/chat', { message, ...(id !== '' && { sessionId: id }) })
    id = answer.headers.get('x-session-id')!
    chat.send(message)
    for (const event of await readEvents(answer)) chat.take(event)
  }
  const items = await history(at, id)
  const read = fromItems(items)
  assert.deepEqual(
    read.map(({ role, parts }) => ({ role, parts })),
    chat.messages.map(({ role, parts }) => ({ role, parts })),
  )
  assert.equal(new Set(read.map(message => message.id)).size, read.length)
  assert.deepEqual(items.find(item => item['type'] === 'reasoning')?.['summary'], [
    { type: 'summary_text', text: 'hm' },
  ])
})

test(cites('DK-HIST-02', 'calls and results share an id; a call that waits has no output'), async t => {
  const at = await rig(t, {
    script: [
      {
        calls: [
          { name: 'search', input: { q: 'a' } },
          { name: 'mail', input: { to: 'ana' } },
        ],
      },
    ],
  })
  const answer = await at.request('POST', '/api/chat', { message: 'x' })
  await readEvents(answer)
  const items = await history(at, answer.headers.get('x-session-id')!)
  const calls = items.filter(item => item['type'] === 'function_call')
  const outputs = items.filter(item => item['type'] === 'function_call_output')
  assert.deepEqual(
    calls.map(call => [call['name'], JSON.parse(String(call['arguments']))]),
    [
      ['search', { q: 'a' }],
      ['mail', { to: 'ana' }],
    ],
  )
  assert.deepEqual(
    outputs.map(output => [output['call_id'], output['output']]),
    [[calls[0]!['call_id'], 'found a']],
  )
  const [, assistant] = fromItems(items)
  assert.deepEqual(
    assistant!.parts.map(part => (part.type === 'tool_call' ? part.result : part)),
    ['found a', undefined],
  )
})

test(cites('DK-HIST-02', 'a tool of free text has an item of its own kind'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'patch', text: 'free' }] }] })
  const answer = await at.request('POST', '/api/chat', { message: 'x' })
  await readEvents(answer)
  const id = answer.headers.get('x-session-id')!
  const [call] = (await history(at, id)).filter(item => item['type'] === 'custom_tool_call')
  assert.equal(call?.['input'], 'free')
  const callId = call?.['call_id']
  await at.request('POST', '/api/chat/answer', {
    sessionId: id,
    stream: false,
    approvals: [{ call_id: callId, approved: false }],
  })
  const output = (await history(at, id)).find(item => item['type'] === 'custom_tool_call_output')
  assert.deepEqual([output?.['call_id'], output?.['output']], [callId, 'Tool call denied'])
})

test(cites('DK-HIST-01', 'a session must be named, and exist'), async t => {
  const at = await rig(t)
  assert.equal((await at.request('GET', '/api/history')).status, 400)
  assert.equal((await at.request('GET', '/api/history?sessionId=sess_none')).status, 404)
})
