// Many tools, of which the model is shown two: it searches, and what it finds can be called next.
import { scripted, Turnwire, tool } from 'turnwire'

const things = ['invoice', 'ticket', 'contact', 'document', 'parcel']
const tools = ['create', 'list', 'change', 'delete', 'share', 'archive'].flatMap(verb =>
  things.map(thing =>
    tool({
      name: `${verb}_${thing}`,
      description: `Use it to ${verb} a ${thing}.`,
      input: { type: 'object', properties: { what: { type: 'string' } } },
      trust: verb === 'delete' ? 'ask' : 'trusted',
      run: () => `${verb}: done`,
    }),
  ),
)

const shown: string[] = []
const look = (request: { tools: readonly { name: string }[] }) =>
  shown.push(request.tools.map(({ name }) => name).join(', ')) > 0
const model = scripted([
  { expect: look, calls: [{ name: 'find_tools', input: { query: 'create an invoice', limit: 2 } }] },
  { expect: look, calls: [{ name: 'create_invoice', input: { what: 'pens' } }] },
  { text: 'The invoice is there.' },
])

const office = { name: 'office', model, tools, search: true, always: ['list_ticket'] }
const turnwire = await Turnwire.open({ agents: [office], data: 'memory' })
const session = await turnwire.session('office')
const reply = await session.send('Make an invoice for pens.')
console.log(`${tools.length} tools; the model was shown:`)
for (const names of shown) console.log(`- ${names}`)
console.log(reply.text)
await turnwire.close()
