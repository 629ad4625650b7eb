// A tool that your program runs itself: the turn stops for it, and goes on with the result that you send back.
import { rehearsal, Turnwire } from 'turnwire'

const turnwire = await Turnwire.open({
  agents: [{ name: 'helper', model: rehearsal() }],
  data: 'memory',
})
const session = await turnwire.session('helper', {
  ownTools: [
    {
      name: 'read_clipboard',
      description: 'Reads the text on the clipboard.',
      input: { type: 'object', properties: {}, additionalProperties: false },
    },
  ],
})
let reply = await session.send('What is on my clipboard?')
while (reply.status === 'waiting')
  for (const call of reply.pending) {
    console.log(`the model asks for ${call.tool}, which needs a ${call.needs}`)
    reply = await session.result(call.callId, 'Buy milk')
  }
console.log(reply.text)
await turnwire.close()
