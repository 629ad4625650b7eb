// Manual control: look at the next action, perform it, change it, or answer in the model's place; then release the session.
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
const control = await turnwire.control(session.id, { by: 'maria' })
await session.send('What is 6 times 7?').accepted
const did = [await control.perform()] // ask-model: the model wants 6 times 6
const next = await control.next()
if (next.do === 'judge') await control.replaceArguments(next.calls![0]!, { a: 6, b: 7 })
did.push(await control.perform(), await control.perform()) // judge, run
await control.answerModel({ parts: [{ type: 'text', text: 'It is 42.' }], stop: 'end' })
did.push(await control.perform()) // end
await control.release()
console.log(did.map(action => action.do).join(', '))
console.log(JSON.stringify((await session.history()).at(-1)))
await turnwire.close()
