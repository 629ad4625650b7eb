// Tools that run where the user is. In a page they would read the form or the clipboard; here a class stands for the page.
import { rehearsal, startServer, Turnwire } from 'turnwire'
import { AapClient } from 'turnwire/client'

const server = await startServer(
  await Turnwire.open({ agents: [{ name: 'helper', model: rehearsal() }], data: 'memory' }),
  { port: 0 },
)

const page = { cart: ['pens', 'paper'] }
const declared = [
  {
    name: 'read_cart',
    description: 'What is in the cart of the page.',
    parameters: { type: 'object', properties: {} },
  },
]
const tools = { read_cart: () => page.cart.join(', ') }

const client = new AapClient({ baseUrl: server.url })
const id = await client.createSession({ agent: { name: 'helper' }, tools: declared })
for await (const item of client.session(id).send('Read my cart', { tools })) {
  if (item.type === 'call' && item.call.state === 'settled') console.log(`${item.call.name} ran in the page`)
  if (item.type === 'done') console.log(item.text)
}
await server.stop()
