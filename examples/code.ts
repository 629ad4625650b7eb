// A model writes a program that calls its tools: it reads many orders at the same time and mails only where that is needed.
// The mail waits for a person, inside the program. No key is needed: the model is scripted.
import * as z from 'zod'
import { scripted, Turnwire, tool } from '../src/index.ts'

const readOrder = tool({
  name: 'read_order',
  description: 'Reads an order.',
  input: z.object({ id: z.int() }),
  readOnly: true,
  trust: 'trusted',
  run: ({ id }) => ({ id, customer: ['ana', 'bo', 'cy'][id - 1] ?? 'nobody', late: id === 2 }),
})
const sendMail = tool({
  name: 'send_mail',
  description: 'Mails a customer that the order is late.',
  input: z.object({ to: z.string() }),
  run: () => 'sent',
})
const code = `
  const all = await Promise.all([1, 2, 3].map(id => tools.read_order({ id })))
  const late = all.filter(order => order.late)
  for (const { customer } of late) await tools.send_mail({ to: customer })
  return { read: all.length, mailed: late.map(order => order.customer) }`

const model = scripted([{ calls: [{ name: 'run_code', input: { code } }] }, { text: 'Bo was told.' }])
const agents = [{ name: 'shop', code: true, tools: [readOrder, sendMail], model }]
const turnwire = await Turnwire.open({ data: 'memory', agents })
const session = await turnwire.session('shop')
let reply = await session.send('Tell customers whose orders are late.')
for (const call of reply.status === 'waiting' ? reply.pending : []) {
  console.log(`${call.tool} waits inside the program: ${JSON.stringify(call.input)}`)
  reply = await session.approve(call.callId)
}
const results = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
const [part] = results[0]?.outcome.parts ?? []
console.log(`the program returned ${part?.type === 'text' ? part.text : ''}\n${reply.text}`)
await turnwire.close()
