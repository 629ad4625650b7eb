// A session in this process: no server, no key, nothing kept.
import { rehearsal, Turnwire, tool } from 'turnwire'
import * as z from 'zod'

const weather = tool({
  name: 'get_weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  readOnly: true,
  trust: 'trusted',
  run: ({ city }) => `${city}: 18 °C, light rain`,
})

const turnwire = await Turnwire.open({
  agents: [{ name: 'helper', model: rehearsal(), tools: [weather] }],
  data: 'memory',
})
const session = await turnwire.session('helper')
const reply = await session.send('What is the weather in Paris?')
console.log(reply.text)
await turnwire.close()
