// What one wire recorded, no other wire loses: a session with thoughts, free text, images, failures, calls of the client
// and settings is continued on each wire, and what AAP reads back of it afterwards begins with what it read before.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textOf } from './acp/rig.ts'
import { type AllWires, allWires, wireDrivers } from './all-wires.ts'
import { clipboard, until } from './rig.ts'

const script = [
  {
    thinking: 'Hm. ',
    text: 'Let me see. ',
    calls: [{ name: 'picture' }, { name: 'fails' }, { name: 'weather' }],
  },
  {
    calls: [
      { name: 'patch', text: 'a\u2028b "c"' },
      { name: 'clipboard', input: {} },
    ],
  },
  { text: 'Here you are.' },
  { text: 'More.' },
  { calls: [{ name: 'clipboard', input: {} }] },
  { text: 'All done.' },
]

type Message = { role: string; content?: unknown }
type Turn = { stopReason: string; messages: Message[] }
type Block = { type: string; toolCallId: string; name: string }

async function json<T>(answer: Promise<Response>): Promise<T> {
  const given = await answer
  assert.equal(given.ok, true, `${given.status}`)
  return (await given.json()) as T // the tests look at every member that they rely on
}

const turn = (at: AllWires, id: string, ...messages: object[]): Promise<Turn> =>
  json(at.request('POST', `/sessions/${id}/turns`, { messages }))

async function history(at: AllWires, id: string): Promise<Message[]> {
  const { history: kinds } = await json<{ history: { full: Message[] } }>(
    at.request('GET', `/sessions/${id}/history?type=full`),
  )
  return kinds.full
}

/** The call of a tool in what a turn has shown. */
function callOf({ messages }: Turn, name: string): string {
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Block[]) : []))
  return blocks.findLast(block => block.name === name)?.toolCallId ?? assert.fail(`no call of ${name}`)
}

/** A session of AAP, with a tool of its application, whose first turn has a bit of everything. */
async function rich(at: AllWires): Promise<string> {
  const tools = ['picture', 'fails', 'weather', 'patch'].map(name => ({ name, trust: name !== 'patch' }))
  const made = { agent: { name: 'helper', tools }, tools: [clipboard] }
  const { sessionId } = await json<{ sessionId: string }>(at.request('POST', '/sessions', made))
  const first = await turn(at, sessionId, { role: 'user', content: 'Do it all.' })
  assert.equal(first.stopReason, 'tool_use')
  const last = await turn(
    at,
    sessionId,
    { role: 'tool_permission', toolCallId: callOf(first, 'patch'), granted: false, reason: 'not that one' },
    { role: 'tool', toolCallId: callOf(first, 'clipboard'), content: 'on the clipboard' },
  )
  assert.equal(last.stopReason, 'end_turn')
  return sessionId
}

for (const wire of wireDrivers)
  test(`a session of AAP keeps its history and settings when it is continued through ${wire.name}`, async t => {
    const at = await allWires(t, { script })
    const id = await rich(at)
    const before = await history(at, id)
    assert.deepEqual(
      before.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'tool', 'tool', 'assistant', 'tool', 'tool', 'assistant'],
    )
    assert.equal((await wire.say(at, id, 'Go on.')).text, 'More.')
    const after = await history(at, id)
    assert.deepEqual(after.slice(0, before.length), before)
    assert.deepEqual(after.slice(before.length), [
      { role: 'user', content: 'Go on.' },
      { role: 'assistant', content: 'More.' },
    ])
    // The application that made it comes back, and its own tool still is its own.
    const asked = await turn(at, id, { role: 'user', content: 'Once more.' })
    assert.equal(asked.stopReason, 'tool_use')
    const toolCallId = callOf(asked, 'clipboard')
    const ended = await turn(at, id, { role: 'tool', toolCallId, content: 'again' })
    assert.equal(ended.stopReason, 'end_turn')
  })

// ---- tools of several applications ---------------------------------------------------------------------------------

const parameters = { type: 'object', properties: {} }
const message = (content: string) => ({ id: `m-${content}`, role: 'user', content })
const part = (text: string) => ({ id: `m-${text}`, role: 'user', parts: [{ type: 'text', text }] })

/** How an application says something with a tool of its own, on each wire that takes one. */
const declaring: Record<
  string,
  (id: string, words: string, names: string[]) => [path: string, body: object]
> = {
  DeltaKit: (sessionId, words, names) => [
    '/api/chat',
    { sessionId, message: words, tools: names.map(name => ({ name, description: 'A tool.', parameters })) },
  ],
  'AG-UI': (threadId, words, names) => [
    '/agui/helper',
    {
      threadId,
      runId: `run-${words}`,
      messages: [message(words)],
      tools: names.map(name => ({ name, description: 'A tool.', parameters })),
      context: [],
    },
  ],
  'AI SDK UI': (id, words, names) => [
    '/ui/helper',
    {
      id,
      messages: [part(words)],
      trigger: 'submit-message',
      tools: names.map(name => ({ name, description: 'A tool.', inputSchema: parameters })),
    },
  ],
  Responses: (conversation, words, names) => [
    '/v1/responses',
    {
      model: 'helper',
      conversation,
      input: words,
      tools: names.map(name => ({ type: 'function', name, parameters })),
    },
  ],
}

for (const [name, declare] of Object.entries(declaring))
  test(`an application at ${name} changes its own tools only`, async t => {
    const at = await allWires(t, { script: [{ text: 'Yes.' }] })
    const made = { agent: { name: 'helper' }, tools: [clipboard] }
    const { sessionId } = await json<{ sessionId: string }>(at.request('POST', '/sessions', made))
    const say = async (words: string, names: string[]): Promise<string[]> => {
      const [path, body] = declare(sessionId, words, names)
      const answer = await at.request('POST', path, body)
      const shown = await answer.text()
      assert.equal(answer.status, 200, shown)
      if (name === 'Responses') {
        const { tools } = JSON.parse(shown) as { tools: { name: string }[] }
        assert.deepEqual(
          tools.map(tool => tool.name),
          names,
        )
      }
      const { tools = [] } = await json<{ tools?: { name: string }[] }>(
        at.request('GET', `/sessions/${sessionId}`),
      )
      return tools.map(tool => tool.name)
    }
    assert.deepEqual(await say('one', ['lamp', 'door']), ['clipboard', 'lamp', 'door'])
    assert.deepEqual(await say('two', ['door']), ['clipboard', 'door'])
    assert.deepEqual(await say('three', ['door']), ['clipboard', 'door'])
    assert.deepEqual(await say('four', []), ['clipboard'])
  })

// ---- editors -------------------------------------------------------------------------------------------------------

const asking = [{ text: 'May I? ', calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'So be it.' }]

for (const wire of wireDrivers)
  test(`an editor whose question is answered through ${wire.name} gets its answer`, async t => {
    const at = await allWires(t, { script: asking })
    let withdrawn: AbortSignal | undefined
    const editor = await at.edit({
      permission: (_request, signal) => {
        withdrawn = signal
        return new Promise(() => {})
      },
    })
    const id = await editor.newSession()
    const prompt = editor.prompt(id, 'Mail Ana.')
    await until(() => editor.permissions.length > 0)
    await wire.decide(at, id, editor.permissions[0]!.toolCall.toolCallId, true)
    assert.deepEqual(await prompt, { stopReason: 'end_turn' })
    assert.equal(textOf(editor.updates), 'May I? So be it.')
    assert.equal(withdrawn?.aborted, true)
    assert.deepEqual(at.runs, [{ tool: 'mail', input: { to: 'ana' } }])
  })

test('a response that other wires have continued past is continued beside them', async t => {
  const at = await allWires(t, { script: [{ text: 'One.' }, { text: 'Two.' }] })
  const post = (body: object) =>
    json<{ id: string; conversation: { id: string } }>(
      at.request('POST', '/v1/responses', { model: 'helper', store: true, ...body }),
    )
  const first = await post({ input: 'Begin.' })
  for (const wire of wireDrivers) {
    const before = await history(at, first.conversation.id)
    await wire.say(at, first.conversation.id, `Through ${wire.name}.`)
    const other = await post({ previous_response_id: first.id, input: 'Elsewhere.' })
    assert.notEqual(other.conversation.id, first.conversation.id)
    assert.deepEqual(await history(at, other.conversation.id), [
      { role: 'user', content: 'Begin.' },
      { role: 'assistant', content: 'One.' },
      { role: 'user', content: 'Elsewhere.' },
      { role: 'assistant', content: 'Two.' },
    ])
    assert.equal((await history(at, first.conversation.id)).length, before.length + 2)
  }
})
