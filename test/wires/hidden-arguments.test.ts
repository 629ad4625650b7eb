// A secret in a call's arguments: no wire shows it, in its stream, its question or its history; the tool gets it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AllWires, allWires, wireDrivers } from './all-wires.ts'
import { clipboard, type RigOptions, rig } from './rig.ts'

const secret = 'sk-abcdefghij0123456789'
const hidden = '[redacted: api-keys]'
const script = [
  { text: 'May I? ', calls: [{ name: 'mail', input: { to: `ana with ${secret}` } }] },
  { text: 'So be it.' },
  { text: 'Goodbye.' },
]
const policy: RigOptions['policy'] = { redact: ['secrets'] }

/** The wires of a server, and all that they send. */
function tapped(at: AllWires): { at: AllWires; sent: () => Promise<string> } {
  const bodies: Promise<string>[] = []
  const editors: (() => string)[] = []
  return {
    at: {
      ...at,
      request: async (...args) => {
        const response = await at.request(...args)
        bodies.push(
          response
            .clone()
            .text()
            .catch(() => ''),
        )
        return response
      },
      edit: async options => {
        const editor = await at.edit(options)
        editors.push(() => JSON.stringify(editor.frames))
        return editor
      },
    },
    sent: async () => [...(await Promise.all(bodies)), ...editors.map(read => read())].join('\n'),
  }
}

async function readHistories(at: AllWires, session: string): Promise<void> {
  for (const path of [`/sessions/${session}/history?type=compacted`, `/api/history?sessionId=${session}`]) {
    const answer = await at.request('GET', path)
    assert.ok(answer.ok, path)
    assert.ok((await answer.text()).includes(hidden), path)
  }
  // Only of sessions that began on this wire.
  await at.request('GET', `/v1/conversations/${session}/items`)
}

for (const driver of wireDrivers)
  test(`${driver.name} shows arguments redacted, and the tool gets them whole`, async t => {
    const { at, sent } = tapped(await allWires(t, { script, policy }))
    const { sessionId, asks } = await driver.start(at, 'Mail Ana.')
    assert.ok(asks, 'the call waits')
    await readHistories(at, sessionId)
    assert.equal((await driver.decide(at, sessionId, asks, true)).text, 'So be it.')
    assert.deepEqual(at.runs, [{ tool: 'mail', input: { to: `ana with ${secret}` } }])
    await driver.say(at, sessionId, 'Thanks.')
    await readHistories(at, sessionId)
    const all = await sent()
    assert.ok(all.includes(hidden), 'the call is shown')
    assert.ok(!all.includes(secret), 'the secret is not')
    assert.ok(!all.includes(secret.slice(0, 12)), 'nor a piece of it')
  })

/** A session on AAP, and the turns that are sent to it. */
async function aapSession(at: Pick<AllWires, 'request'>, settings: object) {
  const made = await at.request('POST', '/sessions', settings)
  const { sessionId } = (await made.json()) as { sessionId: string }
  return async (message: object, stream = 'none'): Promise<string> => {
    const answer = await at.request('POST', `/sessions/${sessionId}/turns`, { messages: [message], stream })
    return answer.text()
  }
}

test('a client that sends the arguments back as it saw them has changed nothing', async t => {
  const at = await rig(t, { script, policy })
  const turn = await aapSession(at, { agent: { name: 'helper', tools: [{ name: 'mail' }] } })
  const asked = await turn({ role: 'user', content: 'Mail Ana.' })
  const toolCallId = /"toolCallId":"([^"]+)"/.exec(asked)?.[1]
  const input = { to: `ana with ${hidden}` }
  assert.match(await turn({ role: 'tool_permission', toolCallId, granted: true, input }), /So be it/)
  assert.deepEqual(at.runs, [{ tool: 'mail', input: { to: `ana with ${secret}` } }])
})

test('pieces of arguments are not shown while the model writes them', async t => {
  const calls = [{ name: 'search', input: { q: secret } }]
  const at = await rig(t, { script: [{ text: 'Hm. ', calls }, { text: 'Found.' }], policy })
  const turn = await aapSession(at, { agent: { name: 'helper', tools: [{ name: 'search', trust: true }] } })
  const stream = await turn({ role: 'user', content: 'Find it.' }, 'delta')
  assert.match(stream, /Found/)
  assert.ok(stream.includes(hidden))
  assert.ok(!stream.includes(secret.slice(3, 9)))
  assert.deepEqual(at.runs, [{ tool: 'search', input: { q: secret } }])
})

test('a client’s own tool gets the arguments as the model wrote them', async t => {
  const calls = [{ name: 'clipboard', input: { text: secret } }]
  const at = await rig(t, { script: [{ calls }, { text: 'Copied.' }], policy })
  const turn = await aapSession(at, { agent: { name: 'helper' }, tools: [clipboard] })
  assert.ok((await turn({ role: 'user', content: 'Copy it.' })).includes(secret))
})
