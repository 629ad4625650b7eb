// A tool that must not run by itself: a person looks at the call, changes its arguments, and lets it run.
import { rehearsal, Turnwire, tool } from 'turnwire'
import * as z from 'zod'

const transfer = tool({
  name: 'transfer_money',
  description: 'Transfers an amount of money to a person.',
  input: z.object({ amount: z.number().max(1000), person: z.string() }),
  trust: 'ask',
  run: ({ amount, person }) => `Transferred ${amount} to ${person}.`,
})

const turnwire = await Turnwire.open({
  agents: [{ name: 'bank', model: rehearsal(), tools: [transfer] }],
  data: 'memory',
})
const session = await turnwire.session('bank')
const asked = await session.send('Transfer 900 to Ana, please')
for (const call of asked.status === 'waiting' ? asked.pending : []) {
  console.log(`${call.tool} wants to run with ${JSON.stringify(call.input)}`)
  // The edit passes the same schema as the model's own arguments, and the model is told of it.
  const turn = session.approve(call.callId, { by: 'maria', input: { amount: 90, person: 'Ana' } })
  for await (const item of turn) if (item.type === 'text') process.stdout.write(item.text)
}
console.log()
await turnwire.close()
