// An agent wants to move money. The approver reads it in a chat, opens the link on a phone, and allows it there.
import { scripted, startServer, Turnwire, tool } from 'turnwire'
import * as z from 'zod'
import { startReceiver } from './receiver.ts'
import { postToSlack, slackMessage } from './slack.ts'

const slack = process.env['SLACK_WEBHOOK_URL']
const secret = `whsec_${Buffer.from('a secret that only the two know!').toString('base64')}`
const asked = Promise.withResolvers<string>()
const ended = Promise.withResolvers<void>()
const receiver = await startReceiver(secret, async message => {
  const posted = slackMessage(message)
  if (slack) await postToSlack(slack, posted)
  const { url } = message.data.link ?? {}
  console.log(`chat: ${posted.text}${url === undefined ? '' : ' [Look and decide]'}`)
  if (url !== undefined) asked.resolve(url)
  if (message.type === 'turn.ended') ended.resolve()
})

const transfer = tool({
  name: 'transfer_money',
  title: 'Transfer money',
  description: 'Moves money to a person.',
  input: z.object({ amount: z.number(), person: z.string() }),
  trust: 'ask',
  run: ({ amount, person }) => `Transferred ${amount} to ${person}.`,
})

const turnwire = await Turnwire.open({
  agents: [
    {
      name: 'bookkeeper',
      model: scripted([
        { calls: [{ name: 'transfer_money', input: { amount: 90, person: 'Ana' } }] },
        { text: 'Ana has her money.' },
      ]),
      tools: [transfer],
    },
  ],
  webhooks: { phone: { url: receiver.url, secret, links: { approver: 'grace' } } },
  // The receiver of this example runs on this machine. One elsewhere needs no such line.
  egress: { privateHosts: ['127.0.0.1'] },
  data: 'memory',
})
const server = await startServer(turnwire, { port: 0 })

const session = await turnwire.session('bookkeeper')
await session.send('Pay Ana what we owe her.')

// With Slack you are the person. Without, this is: it reads the page, and presses "Allow once".
const link = await asked.promise
if (!slack) {
  const page = await (await fetch(link)).text()
  console.log(
    `phone: ${/<h1>(.*?)<\/h1>/.exec(page)?.[1]?.replace(/<\/?code>/g, '')} ${page.includes('Ana') ? '(90 to Ana)' : ''}`,
  )
  const decided = await fetch(link, { method: 'POST', body: new URLSearchParams({ decision: 'allow' }) })
  console.log(`phone: ${/<h1>(.*?)<\/h1>/.exec(await decided.text())?.[1]}`)
}

await ended.promise
await server.stop()
receiver.close()
