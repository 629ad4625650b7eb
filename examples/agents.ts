// One agent asks another, whose mail a person allows in the session of the first; then it hands the conversation over. No key
// is needed: the models are scripted.
import { agentTool, handOverTool, scripted, Turnwire, tool } from '../src/index.ts'

const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  run: () => 'sent',
})

const turnwire = await Turnwire.open({
  data: 'memory',
  agents: [
    {
      name: 'desk',
      tools: [agentTool('writer', { description: 'Writes and sends mails.' }), handOverTool('billing')],
      model: scripted([
        { calls: [{ name: 'ask_writer', input: { task: 'Tell Ana that her invoice is on its way.' } }] },
        { calls: [{ name: 'hand_over_to_billing', input: { reason: 'The rest is about invoices.' } }] },
      ]),
    },
    {
      name: 'writer',
      tools: [mail],
      model: scripted([{ calls: [{ name: 'send_mail', input: { to: 'ana' } }] }, { text: 'Ana has mail.' }]),
    },
    { name: 'billing', model: scripted(() => ({ text: 'Billing here: your invoice is on its way.' })) },
  ],
})

const session = await turnwire.session('desk')
const asked = await session.send('Where is my invoice?')
if (asked.status === 'waiting') {
  const [call] = asked.pending
  console.log(`the writer asks here: ${call?.tool} ${JSON.stringify(call?.input)}`)
  console.log((await session.approve(call?.callId ?? '')).text)
}
await turnwire.close()
