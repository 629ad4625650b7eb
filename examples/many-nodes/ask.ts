// Asks one node and watches on the other. The stream goes on when the first node is killed in the middle of the call.
import { AapClient } from 'turnwire/client'

const { NODE_1 = 'http://127.0.0.1:4117', NODE_2 = 'http://127.0.0.1:4127', TURNWIRE_KEY = '' } = process.env
const first = new AapClient({ baseUrl: NODE_1, apiKey: TURNWIRE_KEY })
const second = new AapClient({ baseUrl: NODE_2, apiKey: TURNWIRE_KEY })

const agent = { name: 'clerk', tools: [{ name: 'count_stock', trust: true }] }
const id = await first.createSession({ agent })
await first.say(id, 'Count stock of the article "pens"')

let starts = 0
const left = new AbortController()
for await (const item of second.watch(id, { signal: left.signal })) {
  if (!('event' in item)) continue // Text while it arrives.
  const { event } = item
  if (event.type === 'call.started') {
    starts += 1
    if (starts === 1) console.log('count_stock runs. Now kill its node: docker compose kill node-1')
    else console.log('count_stock runs again, on the other node')
  }
  if (event.type === 'model.answered')
    for (const part of event.parts) if (part.type === 'text') console.log(part.text)
  if (event.type === 'turn.ended') left.abort()
}
