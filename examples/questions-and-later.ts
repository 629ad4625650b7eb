// A tool that asks a person while it runs, and one whose result comes later.
import { later, scripted, Turnwire, tool, withDetails } from 'turnwire'

const book = tool({
  name: 'book',
  description: 'Books seats.',
  input: { type: 'object' },
  trust: 'trusted',
  run: async (_, { ask }) => {
    const answer = await ask({
      message: 'How many seats?',
      schema: { type: 'object', properties: { seats: { type: 'integer', minimum: 1 } }, required: ['seats'] },
    })
    if (answer.action !== 'accept') return 'The person did not answer.'
    return withDetails(`booked ${JSON.stringify(answer.content)}`, { asked: true })
  },
})
const print = tool({
  name: 'print_tickets',
  description: 'Prints the tickets, which takes a while.',
  input: { type: 'object' },
  trust: 'trusted',
  run: () => later({ expires: 3_600_000 }),
})

const model = scripted([
  { calls: [{ name: 'book', input: {} }] },
  { calls: [{ name: 'print_tickets', input: {} }] },
  { text: 'Your tickets are printed.' },
])
const turnwire = await Turnwire.open({
  agents: [{ name: 'helper', model, tools: [book, print] }],
  data: 'memory',
})
const session = await turnwire.session('helper')
const asked = await session.send('Two tickets, please.')
const [pending] = asked.status === 'waiting' ? asked.pending : []
if (pending?.needs !== 'answer') throw new Error('Nothing was asked.')
console.log(pending.question.message)

let callId = ''
for await (const item of session.answerQuestion(pending.question.id, {
  action: 'accept',
  content: { seats: 2 },
}))
  if (item.type === 'call') callId = item.callId
const reply = await session.result(callId, 'Printed on printer 3.')
console.log(reply.text)
await turnwire.close()
