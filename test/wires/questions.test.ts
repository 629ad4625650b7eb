// A question of a running call on several wires: shown in the wire's own words, and answered there.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { scripted, startServer, Turnwire, tool, withDetails } from '../../src/index.ts'

const book = tool({
  name: 'book',
  description: 'Books seats.',
  input: { type: 'object' },
  trust: 'trusted',
  run: async (_, { ask }) => {
    const schema = {
      type: 'object' as const,
      properties: { seats: { type: 'integer' } },
      required: ['seats'],
    }
    const answer = await ask({ message: 'How many seats?', schema })
    return withDetails(`answer ${JSON.stringify(answer)}`, { answer })
  },
})
const turnwire = await Turnwire.open({
  agents: [
    {
      name: 'helper',
      tools: [book],
      model: scripted(({ history }) =>
        history.at(-1)?.role === 'tool' ? { text: 'Booked.' } : { calls: [{ name: 'book', input: {} }] },
      ),
    },
  ],
  data: 'memory',
  server: { log: 'error' },
})
const server = await startServer(turnwire, { port: 0 })
after(() => server.stop())

async function post(path: string, body: object): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return answer.text()
}

const idIn = (text: string): string => /question_(?!id)\w+/.exec(text)?.[0] ?? assert.fail(text)

test('AAP: the stop carries the question, a tool_answer answers it, and the result has its details', async () => {
  const create = { agent: { name: 'helper', tools: [{ name: 'book', trust: true }] } }
  const { sessionId } = JSON.parse(await post('/aap/v3/sessions', create)) as { sessionId: string }
  const turn = `/aap/v3/sessions/${sessionId}/turns`
  const asked = await post(turn, { messages: [{ role: 'user', content: 'Book.' }] })
  assert.match(asked, /"stopReason":"tool_use".*How many seats/)
  const answer = { role: 'tool_answer', questionId: idIn(asked), action: 'accept', content: { seats: 2 } }
  const done = await post(turn, { messages: [answer], stream: 'message' })
  assert.match(done, /"details":\{"answer":\{"action":"accept","content":\{"seats":2\}\}\}/)
  assert.match(done, /Booked\./)
})

test('DeltaKit: tool_question, and answers', async () => {
  const asked = await post('/api/chat', { message: 'Book.' })
  assert.match(asked, /"type":"tool_question"/)
  const sessionId = /sess_\w+/.exec(asked)?.[0]
  const answers = [{ question_id: idIn(asked), action: 'decline' }]
  const done = await post('/api/chat/answer', { sessionId, answers })
  assert.match(done, /"type": ?"tool_result".*"details": ?\{"answer": ?\{"action": ?"decline"/)
  assert.match(done, /decline[\s\S]*Booked\./)
})

test('AG-UI: an interrupt with the form, and resume', async () => {
  const run = {
    threadId: 't1',
    runId: 'r1',
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
    protocolVersion: '1.0',
  }
  const messages = [{ id: 'm1', role: 'user', content: 'Book.' }]
  const asked = await post('/agui/helper', { ...run, messages })
  assert.match(asked, /"reason":"input_required"/)
  const resume = [{ interruptId: idIn(asked), status: 'resolved', payload: { seats: 4 } }]
  const done = await post('/agui/helper', { ...run, runId: 'r2', messages, resume })
  assert.match(done, /"type":"CUSTOM","name":"turnwire\/details","value":\{"toolCallId":"[^"]+","details":\{/)
  assert.match(done, /Booked\./)
})

test('AI SDK UI: a data part shows the question, and answers in the body answer it, once', async () => {
  const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Book.' }] }]
  const chat = { id: 'c1', messages, trigger: 'submit-message' }
  const asked = await post('/ui/helper', chat)
  assert.match(asked, /"type":"data-question"[\s\S]*How many seats/)
  const questionId = idIn(asked)
  const answer = (content: object) => ({ ...chat, answers: [{ questionId, action: 'accept', content }] })
  // An answer that does not fit the form changes nothing.
  assert.match(await post('/ui/helper', answer({ seats: 'two' })), /"code":"bad_request"/)
  assert.match(await post('/ui/helper', { ...chat, answers: [{ questionId }] }), /"code":"bad_request"/)
  const done = await post('/ui/helper', answer({ seats: 2 }))
  assert.match(done, /"type":"data-details"[\s\S]*"seats":2/)
  assert.match(done, /Booked\./)
  // The same answers with the next message are old: the message is said.
  const again = { ...messages[0], id: 'm2', parts: [{ type: 'text', text: 'Book more.' }] }
  const next = await post('/ui/helper', { ...answer({ seats: 9 }), messages: [...messages, again] })
  assert.match(next, /"type":"data-question"/)
  assert.doesNotMatch(next, new RegExp(questionId))
})
