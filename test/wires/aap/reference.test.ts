// Every flow of the protocol, driven by a client that knows nothing of us.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Script } from '../../../src/models/scripted/index.ts'
import { cites } from '../../requirements/manifest.ts'
import {
  ClientError,
  Conversation,
  type Hands,
  ReferenceClient,
  resolvePendingToolUse,
  resume,
} from './reference-client.ts'
import { clipboard, rig } from './rig.ts'

const script: Script = [
  {
    thinking: 'plan',
    text: 'Looking it up.',
    calls: [
      { name: 'search', input: { q: 'clip' } },
      { name: 'clipboard' },
      { name: 'mail', input: { to: 'ana' } },
      { name: 'hidden', input: { q: 'x' } },
    ],
  },
  { text: 'And again.', calls: [{ name: 'mail', input: { to: 'bob' } }, { name: 'clipboard' }] },
  { text: 'All done.' },
]
const config = {
  agent: {
    name: 'helper',
    tools: [{ name: 'search', trust: true }, { name: 'mail' }],
    options: { key: 'secret' },
  },
  messages: [{ role: 'system', content: 'Be brief.' }],
  tools: [clipboard],
}
const hands: Hands = {
  run: call => `ran ${call.name}`,
  decide: call =>
    call.input['to'] === 'ana' ? { granted: true } : { granted: false, reason: 'not to them' },
}
const streams = ['none', 'message', 'delta']

test(cites('AAP-MODE-17', 'AAP-CALL-04', 'the whole conversation, in each mode'), async t => {
  for (const stream of streams) {
    const at = await rig(t, { script })
    const client = new ReferenceClient(`${at.url}/aap/v3/`)
    const meta = await client.getMeta()
    assert.equal(meta.agents[0]?.['name'], 'helper')
    const id = await client.createSession(config)
    const info = await client.getSession(id)
    const talk = new Conversation(client, info!, [], stream)
    const first = await talk.send({ role: 'user', content: 'Mail Ana what is on my clipboard' })
    assert.equal(first.stopReason, 'tool_use')
    const open = resolvePendingToolUse(talk.messages, info!.tools!)
    assert.deepEqual(
      [open.client.map(call => call.name), open.server.map(call => call.name)],
      [['clipboard'], ['mail']],
    )
    const last = await talk.settle(first, hands)
    assert.equal(last.stopReason, 'end_turn')
    assert.deepEqual(
      at.runs.map(run => [run.tool, run.input]),
      [
        ['search', { q: 'clip' }],
        ['hidden', { q: 'x' }],
        ['mail', { to: 'ana' }],
      ],
    )
    const told = talk.messages.flatMap(message => (message.role === 'tool' ? [message.content] : []))
    for (const text of ['found clip', 'from behind', 'sent to ana', 'Tool call denied: not to them'])
      assert.ok(told.includes(text), `${stream}: ${text}`)
    const kept = await client.getHistory(id, 'full')
    assert.deepEqual(
      kept?.map(message => message.role),
      [
        'system',
        'user',
        'assistant',
        ...Array<string>(4).fill('tool'),
        'assistant',
        'tool',
        'tool',
        'assistant',
      ],
    )
    assert.deepEqual((await client.listSessions()).sessions, [await client.getSession(id)])
    await client.deleteSession(id)
    assert.equal(await client.getSession(id), undefined)
    assert.equal(await client.getHistory(id, 'full'), undefined)
    assert.equal(await client.sendTurn(id, { messages: [{ role: 'user', content: 'x' }], stream }), undefined)
    await client.deleteSession(id)
  }
})

test(
  cites(
    'AAP-RESU-01',
    'AAP-RESU-02',
    'AAP-RESU-03',
    'AAP-RESU-04',
    'AAP-HIST-07',
    'a client without state continues, also after a restart',
  ),
  async t => {
    for (const stream of streams)
      for (const type of ['full', 'compacted'] as const) {
        const at = await rig(t, { script })
        const before = new ReferenceClient(at.url)
        const id = await before.createSession(config)
        await before.sendTurn(id, { messages: [{ role: 'user', content: 'go' }], stream })
        const after = await at.restart()
        const talk = await resume(new ReferenceClient(after.url), id, type, stream)
        assert.ok(talk)
        const pending = talk.pending(hands)
        assert.deepEqual(
          pending.map(message => message.role),
          ['tool', 'tool_permission'],
        )
        const last = await talk.settle(await talk.send(...pending), hands)
        assert.equal(last.stopReason, 'end_turn')
        assert.deepEqual(
          after.runs.map(run => run.tool),
          ['mail'],
          'only what was granted here ran here',
        )
        assert.equal(await resume(new ReferenceClient(after.url), 'nope', type, stream), undefined)
      }
  },
)

test(
  cites('AAP-RESU-01', 'AAP-HIST-08', 'a client without state continues after a partial submission'),
  async t => {
    const at = await rig(t, { script })
    const client = new ReferenceClient(at.url)
    const id = await client.createSession(config)
    const first = await client.sendTurn(id, { messages: [{ role: 'user', content: 'go' }] })
    const own = resolvePendingToolUse(first!.messages, [clipboard]).client[0]!
    await client.sendTurn(id, { messages: [{ role: 'tool', toolCallId: own.toolCallId, content: 'x' }] })
    const talk = await resume(client, id, 'full', 'message')
    assert.deepEqual(
      talk?.pending(hands).map(message => message.role),
      ['tool_permission'],
    )
  },
)

test(cites('AAP-ERR-01', 'the words of an error reach the application'), async t => {
  const at = await rig(t)
  const client = new ReferenceClient(at.url)
  await assert.rejects(client.createSession({ agent: { name: 'nobody' } }), (error: unknown) => {
    assert.ok(error instanceof ClientError)
    assert.equal(error.status, 400)
    assert.match(error.message, /There is no agent named/)
    return true
  })
  const id = await client.createSession({ agent: { name: 'helper' } })
  await assert.rejects(client.sendTurn(id, { messages: [], stream: 'delta' }), { status: 400 })
})
