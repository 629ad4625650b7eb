// AG-UI's client of the 0.0.5x line, which CopilotKit ships: it says no version, and refuses what 1.0 has added.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpAgent, type Message, type RunFinishedEvent, type Tool } from 'ag-ui-client-before-1'
import { type Rig, rig, until } from '../rig.ts'

const clipboard: Tool = {
  name: 'clipboard',
  description: 'Text on the clipboard',
  parameters: { type: 'object', properties: {} },
}

type Finished = Omit<RunFinishedEvent, 'outcome'> & {
  outcome?: { type: string; interrupts?: { id: string }[] }
}

function client(at: Rig): { agent: HttpAgent; run: (options?: object) => Promise<Finished> } {
  const agent = new HttpAgent({ url: `${at.url}/agui/helper`, headers: at.headers(), threadId: 'older' })
  const finished: Finished[] = []
  return {
    agent,
    run: async (options = {}) => {
      await agent.runAgent(options, {
        onRunFinishedEvent: ({ event }) => void finished.push(event as unknown as Finished),
      })
      return finished.at(-1)!
    },
  }
}

const contents = ({ messages }: HttpAgent): string[] =>
  messages.map((message: Message) =>
    'toolCalls' in message && message.toolCalls
      ? `${message.role} calls ${message.toolCalls.map(call => call.function.name).join(' ')}`
      : `${message.role}: ${typeof message.content === 'string' ? message.content : ''}`,
  )

test('a whole turn with reasoning, own tools and usage is read', async t => {
  const at = await rig(t, {
    script: [
      {
        thinking: 'hm',
        calls: [{ name: 'search', input: { q: 'a' } }, { name: 'fails' }],
        chunk: 3,
        usage: { input: 10, output: 5, thinking: 2 },
      },
      { text: 'Found it.' },
    ],
  })
  const { agent, run } = client(at)
  agent.addMessage({ id: 'u1', role: 'user', content: 'find it' })
  assert.deepEqual((await run()).outcome, { type: 'success' })
  assert.deepEqual(contents(agent), [
    'user: find it',
    'reasoning: hm',
    'assistant calls search fails',
    'tool: found a',
    'tool: The tool failed: no such luck',
    'assistant: Found it.',
  ])
})

test('tools of the front end: the run ends, the client runs them, the next run continues', async t => {
  const at = await rig(t, {
    script: [
      { calls: [{ name: 'clipboard' }] },
      { text: 'Thanks.', expect: { results: [{ text: 'pasted' }] } },
    ],
  })
  const { agent, run } = client(at)
  agent.addMessage({ id: 'u1', role: 'user', content: 'go' })
  assert.deepEqual((await run({ tools: [clipboard] })).outcome, { type: 'success' })
  const last = agent.messages.at(-1)
  assert.ok(last?.role === 'assistant' && last.toolCalls)
  agent.addMessage({ id: 'r1', role: 'tool', toolCallId: last.toolCalls[0]!.id, content: 'pasted' })
  await run({ tools: [clipboard] })
  assert.equal(agent.messages.at(-1)?.content, 'Thanks.')
})

test('an approval is an interrupt, and a resume', async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'Done.' }],
  })
  const { agent, run } = client(at)
  agent.addMessage({ id: 'u1', role: 'user', content: 'go' })
  const { outcome } = await run()
  assert.equal(outcome?.type, 'interrupt')
  const interruptId = outcome?.interrupts?.[0]?.id
  await run({ resume: [{ interruptId, status: 'resolved', payload: { approved: true } }] })
  assert.deepEqual(contents(agent).slice(-2), ['tool: sent to ana', 'assistant: Done.'])
})

test('a turn that is cancelled elsewhere ends the run, and its result says why', async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }] })
  const { agent, run } = client(at)
  agent.addMessage({ id: 'u1', role: 'user', content: 'go' })
  const running = run()
  await until(() => at.runs.length === 1)
  const [row] = (await at.sessions.list('alice', { limit: 1 })).rows
  await (await at.sessions.open('alice', row!.id)).cancel()
  const { outcome, result } = await running
  assert.deepEqual([outcome, result], [{ type: 'success' }, { stopReason: 'cancelled' }])
})
