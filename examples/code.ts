// A model writes a program that calls its tools: it reads many orders at the same time and mails only where that is needed.
// The mail waits for a person, inside the program. No key is needed: the model is scripted.
import { scripted, Turnwire, tool } from '../src/index.ts'

const orders = [
  { id: 1, customer: 'ana', late: false },
  { id: 2, customer: 'bo', late: true },
  { id: 3, customer: 'cy', late: false },
]

const code = `
  const all = await Promise.all([1, 2, 3].map(id => tools.read_order({ id })))
  const late = all.filter(order => order.late)
  for (const { customer } of late) await tools.send_mail({ to: customer })
  return { read: all.length, mailed: late.map(order => order.customer) }`

const turnwire = await Turnwire.open({
  data: 'memory',
  agents: [
    {
      name: 'shop',
      code: true,
      tools: [
        tool({
          name: 'read_order',
          description: 'Reads an order.',
          input: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
          readOnly: true,
          trust: 'trusted',
          run: ({ id }) => orders.find(order => order.id === id) ?? {},
        }),
        tool({
          name: 'send_mail',
          description: 'Mails a customer that the order is late.',
          input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
          run: () => 'sent',
        }),
      ],
      model: scripted([{ calls: [{ name: 'run_code', input: { code } }] }, { text: 'Bo was told.' }]),
    },
  ],
})

const session = await turnwire.session('shop')
let reply = await session.send('Tell customers whose orders are late.')
while (reply.status === 'waiting') {
  const [call] = reply.pending
  if (!call) break
  console.log(`${call.tool} waits inside the program: ${JSON.stringify(call.input)}`)
  reply = await session.approve(call.callId)
}
const results = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
for (const { outcome } of results)
  for (const part of outcome.parts) if (part.type === 'text') console.log(`the program returned ${part.text}`)
console.log(reply.text)
await turnwire.close()
