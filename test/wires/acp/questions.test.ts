// A question of a running tool in an editor: a form, or an address to open, in the session that the call belongs to.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallQuestion } from '../../../src/language/questions.ts'
import { tool } from '../../../src/tools/index.ts'
import { until } from '../rig.ts'
import { makeAcp, only, textOf } from './rig.ts'

const form: CallQuestion = {
  message: 'How many seats?',
  schema: { type: 'object', properties: { seats: { type: 'integer' } }, required: ['seats'] },
}
const address: CallQuestion = { message: 'Pay here.', url: 'https://pay.example/1' }

function booking(question: CallQuestion) {
  return tool({
    name: 'book',
    description: 'Books seats.',
    input: { type: 'object' },
    trust: 'trusted',
    run: async (_, { ask }) => JSON.stringify(await ask(question)),
  })
}

const script = [{ calls: [{ name: 'book', input: {} }] }, { text: 'Done.' }]

type Asked = { mode?: string; message?: string; url?: string; sessionId?: string; toolCallId?: string }

async function play(t: Parameters<typeof makeAcp>[0], question: CallQuestion, answers: object[]) {
  const rig = makeAcp(t, { script, tools: [booking(question)] })
  const asked: Asked[] = []
  const client = await rig.connect({
    capabilities: { elicitation: { form: {}, url: {} } },
    elicit: request => {
      asked.push(request as Asked) // The SDK has checked it.
      return answers.shift() ?? { action: 'cancel' }
    },
  })
  const id = await client.newSession()
  await client.prompt(id, 'book')
  return { asked, id, client, result: JSON.stringify(client.updates), said: textOf(client.updates) }
}

test('a form is put to the user, and its answer goes on with the call', async t => {
  const { asked, id, client, result, said } = await play(t, form, [
    { action: 'accept', content: { seats: 2 } },
  ])
  assert.deepEqual([asked.length, asked[0]?.mode, asked[0]?.sessionId], [1, 'form', id])
  assert.equal(asked[0]?.toolCallId, only(client.updates, 'tool_call')[0]?.toolCallId)
  assert.match(result, /seats.{1,6}:2/)
  assert.match(said, /Done\./)
})

test('an address is put to the user', async t => {
  const { asked, result } = await play(t, address, [{ action: 'accept' }])
  assert.deepEqual([asked[0]?.mode, asked[0]?.url], ['url', 'https://pay.example/1'])
  assert.match(result, /accept/)
})

test('an answer that does not fit the form is asked for again, with the reason', async t => {
  const wrong = { action: 'accept', content: { seats: 'two' } }
  const { asked, said } = await play(t, form, [wrong, wrong, { action: 'accept', content: { seats: 2 } }])
  assert.equal(asked.length, 3)
  assert.match(asked[1]?.message ?? '', /^The answer does not fit the form: .*seats.*How many seats\?$/s)
  assert.match(said, /Done\./)
})

test('an editor that cannot be asked shows the question with its call, until it is answered elsewhere', async t => {
  const rig = makeAcp(t, { script, tools: [booking(form)] })
  const client = await rig.connect()
  const id = await client.newSession()
  const prompt = client.prompt(id, 'book')
  const shows = () => JSON.stringify(only(client.updates, 'tool_call_update'))
  await until(() => shows().includes('How many seats?'))
  assert.match(shows(), /Answer it elsewhere/)
  const ref = { owner: 'local', session: id }
  const { calls } = await rig.engine.summary(ref)
  const question = calls[0]?.questions?.[0]?.id ?? ''
  const answers = [{ question, action: 'accept' as const, content: { seats: 2 }, by: 'ada' }]
  await rig.engine.command(ref, { do: 'respond', results: [], decisions: [], answers })
  assert.deepEqual(await prompt, { stopReason: 'end_turn' })
  const last = only(client.updates, 'tool_call_update').at(-1)
  assert.equal(last?.status, 'completed')
  assert.doesNotMatch(JSON.stringify(last), /elsewhere/)
})
