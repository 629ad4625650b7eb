// The loop by hand: look at what comes next, do it, change it, or speak in the model's place; then hand it back.
import { scripted, Turnwire, tool } from 'turnwire'
import * as z from 'zod'

const multiply = tool({
  name: 'multiply',
  description: 'Multiplies two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  readOnly: true,
  trust: 'trusted',
  run: ({ a, b }) => String(a * b),
})
const model = scripted([{ calls: [{ name: 'multiply', input: { a: 6, b: 6 } }] }, { text: 'It is 36.' }])
const turnwire = await Turnwire.open({
  agents: [{ name: 'sums', model, tools: [multiply] }],
  data: 'memory',
})
const session = await turnwire.session('sums')
const hand = await turnwire.takeOver(session.id, 'maria')
await hand.session.say({ parts: [{ type: 'text', text: 'What is 6 times 7?' }], wire: 'library' })
const did = [await hand.perform()] // ask-model: the model wants 6 times 6
const next = hand.look()
if (next.do === 'judge') await hand.replaceArguments(next.calls[0]!.part.id, '{"a":6,"b":7}')
did.push(await hand.perform(), await hand.perform()) // judge, run
await hand.answerModel({ parts: [{ type: 'text', text: 'It is 42.' }], stop: 'end' })
did.push(await hand.perform()) // end
await hand.release()
console.log(did.map(action => action.do).join(', '))
console.log(JSON.stringify((await session.history()).at(-1)))
await turnwire.close()
