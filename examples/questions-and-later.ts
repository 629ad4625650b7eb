// A tool that asks a person while it runs, and one whose result comes later.
import { later, scripted, Turnwire, tool, withDetails } from 'turnwire'

const common = { input: { type: 'object' }, trust: 'trusted' } as const
const seats = { type: 'object', properties: { seats: { type: 'integer' } }, required: ['seats'] } as const
const book = tool({
  ...common,
  name: 'book',
  description: 'Books seats.',
  run: async (_, { ask }) => {
    const schema = { ...seats, required: [...seats.required] }
    const answer = await ask({ message: 'How many seats?', schema })
    return withDetails(`booked: ${JSON.stringify(answer)}`, { asked: true })
  },
})
const print = tool({
  ...common,
  name: 'print',
  description: 'Prints the tickets, which takes a while.',
  run: () => later({ expires: 3_600_000 }),
})

const steps = [...['book', 'print'].map(name => ({ calls: [{ name, input: {} }] })), { text: 'Printed.' }]
const agent = { name: 'helper', model: scripted(steps), tools: [book, print] }
const turnwire = await Turnwire.open({ agents: [agent], data: 'memory' })
const session = await turnwire.session('helper')
const asked = await session.send('Two tickets, please.')
const [pending] = asked.status === 'waiting' ? asked.pending : []
if (pending?.needs !== 'answer') throw new Error('Nothing was asked.')
console.log(pending.question.message)

let callId = ''
const answer = { action: 'accept', content: { seats: 2 } } as const
for await (const item of session.answerQuestion(pending.question.id, answer))
  if (item.type === 'call') callId = item.callId
console.log((await session.result(callId, 'On printer 3.')).text)
await turnwire.close()
