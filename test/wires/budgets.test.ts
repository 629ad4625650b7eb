// The question of a budget that is spent: shown and answered on the wires as the questions of tools are, and in the list that
// the console's inbox reads.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { scripted, startServer, Turnwire } from '../../src/index.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { acpHost } from '../../src/server/acp.ts'
import { connect } from './acp/rig.ts'
import { until } from './rig.ts'

type Job = { status: string; waiting?: true }
type Item = { type: string; id: string; name?: string }

const usage = { input: 90, output: 10, cost: 5 }
const turnwire = await Turnwire.open({
  agents: [
    {
      name: 'helper',
      model: scripted(() => ({ text: 'Here you are.', usage })),
      responses: { serverTools: true },
    },
  ],
  budgets: { session: { money: 5, then: 'ask' }, ownerMonth: { money: 1_000 } },
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
const words = /This session has cost \$5\.00 of \$5\.00\. Go on for another \$5\.00\?/

test('AAP: the stop carries the question; accepted, the turn goes on, and the history is valid', async () => {
  const { sessionId } = JSON.parse(await post('/aap/v3/sessions', { agent: { name: 'helper' } })) as {
    sessionId: string
  }
  const turn = `/aap/v3/sessions/${sessionId}/turns`
  await post(turn, { messages: [{ role: 'user', content: 'One.' }] })
  const asked = await post(turn, { messages: [{ role: 'user', content: 'Two.' }] })
  assert.match(asked, words)
  const list = await (await fetch(`${server.url}/operator/sessions?status=waiting`)).text()
  assert.match(list, /raise_budget/)
  const answer = { role: 'tool_answer', questionId: idIn(asked), action: 'accept', content: {} }
  assert.match(await post(turn, { messages: [answer], stream: 'message' }), /Here you are\./)
})

test('DeltaKit: declined, the turn ends with the limit', async () => {
  const first = await post('/api/chat', { message: 'One.' })
  const sessionId = /sess_\w+/.exec(first)?.[0]
  const asked = await post('/api/chat', { sessionId, message: 'Two.' })
  assert.match(asked, words)
  const answers = [{ question_id: idIn(asked), action: 'decline' }]
  const done = await post('/api/chat/answer', { sessionId, answers })
  assert.doesNotMatch(done, /Here you are/)
  assert.match(done, /limit|money/)
})

test('DeltaKit: a job that asks says that it waits, and goes on with the answer', async () => {
  const sessionId = /sess_\w+/.exec(await post('/api/chat', { message: 'One.' }))?.[0]
  const { runId } = JSON.parse(await post('/api/jobs', { sessionId, message: 'Two.' })) as { runId: string }
  const job = async () => (await (await fetch(`${server.url}/api/jobs/${runId}`)).json()) as Job
  await until(async () => (await job()).waiting === true)
  const inbox = await (await fetch(`${server.url}/operator/approvals`)).text()
  const question = JSON.parse(inbox) as { questions: { session: string; question: { id: string } }[] }
  const { id } = question.questions.find(({ session }) => session === sessionId)?.question ?? assert.fail()
  const answers = [{ question_id: id, action: 'accept', content: {} }]
  assert.match(await post('/api/chat/answer', { sessionId, answers, stream: false }), /"ok"/)
  await until(async () => (await job()).status === 'completed')
})

test('Responses: a request for approval, and its response', async () => {
  const first = JSON.parse(await post('/v1/responses', { model: 'helper', input: 'One.' })) as { id: string }
  const again = { model: 'helper', previous_response_id: first.id, input: 'Two.' }
  const asked = JSON.parse(await post('/v1/responses', again)) as { id: string; output: Item[] }
  const request = asked.output.find(({ type }) => type === 'mcp_approval_request')
  assert.equal(request?.name, 'raise_budget')
  const answer = { type: 'mcp_approval_response', approval_request_id: request?.id, approve: true }
  const next = { model: 'helper', previous_response_id: asked.id, input: [answer] }
  assert.match(await post('/v1/responses', next), /"status":"completed".*Here you are\./)
})

test('ACP: an elicitation of the session, in the middle of the prompt', async t => {
  const host = await acpHost(runtimeOf(turnwire), { principal: { owner: 'local', name: 'local' } })
  const seen: unknown[] = []
  const editor = await connect(t, host, {
    capabilities: { elicitation: { form: {} } },
    elicit: request => {
      seen.push(request)
      return { action: 'accept', content: {} }
    },
  })
  const session = await editor.newSession()
  await editor.prompt(session, 'One.')
  assert.deepEqual(await editor.prompt(session, 'Two.'), { stopReason: 'end_turn' })
  assert.equal(seen.length, 1)
  assert.match(JSON.stringify(seen), words)
})

test('AG-UI: an interrupt with the form, and resume with another amount', async () => {
  const run = {
    threadId: 'b1',
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
    protocolVersion: '1.0',
  }
  const one = { id: 'm1', role: 'user', content: 'One.' }
  const done = await post('/agui/helper', { ...run, runId: 'r1', messages: [one] })
  assert.match(done, /Here you are\./)
  const messages = [
    one,
    { id: 'm2', role: 'assistant', content: 'Here you are.' },
    { id: 'm3', role: 'user', content: 'Two.' },
  ]
  const asked = await post('/agui/helper', { ...run, runId: 'r2', messages })
  assert.match(asked, words)
  const resume = [{ interruptId: idIn(asked), status: 'resolved', payload: { more: 7 } }]
  assert.match(await post('/agui/helper', { ...run, runId: 'r3', messages, resume }), /Here you are\./)
})

test('AI SDK UI: a data part shows the question, and answers in the body answer it', async () => {
  const say = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] })
  const chat = { id: 'b2', trigger: 'submit-message' }
  await post('/ui/helper', { ...chat, messages: [say('m1', 'One.')] })
  const messages = [say('m1', 'One.'), say('m2', 'Two.')]
  const asked = await post('/ui/helper', { ...chat, messages })
  assert.match(asked, words)
  const answers = [{ questionId: idIn(asked), action: 'accept', content: {} }]
  assert.match(await post('/ui/helper', { ...chat, messages, answers }), /Here you are\./)
})

test('library: pending() has the question, and an answer lets the turn go on', async () => {
  const session = await turnwire.session('helper')
  await session.send('One.')
  await session.send('Two.')
  const pending = JSON.stringify(await session.pending())
  assert.match(pending, words)
  const answers = [{ question: idIn(pending), action: 'accept' as const, content: {} }]
  assert.equal((await session.answer({ answers })).text, 'Here you are.')
  assert.deepEqual(await session.pending(), [])
})
