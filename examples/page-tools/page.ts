// The page: its session declares tools that only this page can run, since they read and change what the visitor sees.
import { AapClient, type ClientTool } from 'turnwire/client'

const cart = document.querySelector<HTMLUListElement>('#cart')!
const log = document.querySelector<HTMLDivElement>('#log')!
const form = document.querySelector<HTMLFormElement>('#say')!
const input = form.querySelector('input')!

const declared = [
  {
    name: 'read_cart',
    description: 'What is in the cart of the page.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
  },
  {
    name: 'add_to_cart',
    description: 'Adds something to the cart of the page.',
    parameters: { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] },
  },
]

// The server has checked the arguments against the schema. Text of a model is text, never HTML.
const tools: Record<string, ClientTool> = {
  read_cart: () => [...cart.children].map(row => row.textContent).join(', '),
  add_to_cart: ({ item }) => {
    const row = document.createElement('li')
    row.textContent = typeof item === 'string' ? item : ''
    cart.append(row)
    return `The cart has ${cart.children.length} rows.`
  },
}

const client = new AapClient({ baseUrl: `${location.origin}/agent` })
const session = client.session(await client.createSession({ agent: { name: 'helper' }, tools: declared }))

form.addEventListener('submit', event => {
  event.preventDefault()
  void say(input.value)
  input.value = ''
})

async function say(text: string): Promise<void> {
  show(`You: ${text}`)
  try {
    for await (const item of session.send(text, { tools })) {
      if (item.type === 'call' && item.call.state === 'settled')
        show(`${item.call.name} ran in this page`, 'tool')
      if (item.type === 'done') show(`Assistant: ${item.text}`)
    }
  } catch (cause) {
    show(cause instanceof Error ? cause.message : String(cause))
  }
}

function show(text: string, kind = ''): void {
  const line = document.createElement('p')
  line.className = kind
  line.textContent = text
  log.append(line)
}
