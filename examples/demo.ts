// One whole tool-call flow, over real HTTP, with no key: three calls in one batch, of which one is run by the application,
// one by the server on its own, and one by the server once a person has allowed it. Then what the log kept of it.
import { styleText } from 'node:util'
import { rehearsal, startServer, Turnwire, tool } from 'turnwire'
import { AapClient, type ToolCall, type TurnEvent, textOfContent } from 'turnwire/client'
import * as z from 'zod'

type Format = Parameters<typeof styleText>[0]
const paint = (format: Format, text: string): string => styleText(format, text)
const say = (text = ''): void => void process.stdout.write(`${text}\n`)
const chapter = (title: string): void => say(`\n${paint(['bold', 'cyan'], title)}`)

// ---- the server: an agent with two tools --------------------------------------------------------------------

const weather = tool({
  name: 'get_weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  readOnly: true,
  run: ({ city }) => `${city}: 18 °C, light rain`,
})
const mail = tool({
  name: 'send_mail',
  description: 'Sends an e-mail.',
  input: z.object({ to: z.email(), body: z.string() }),
  run: ({ to, body }) => `Sent to ${to}: ${body}`,
})
const turnwire = await Turnwire.open({
  agents: [
    { name: 'helper', model: rehearsal({ delayMs: process.stdout.isTTY ? 30 : 0 }), tools: [weather, mail] },
  ],
  data: 'memory',
})
const server = await startServer(turnwire, { port: 0 })

// ---- the application: a client with a tool of its own ---------------------------------------------------------

const client = new AapClient({ baseUrl: server.url })

chapter('1  A session')
const sessionId = await client.createSession({
  agent: { name: 'helper', tools: [{ name: 'get_weather', trust: true }, { name: 'send_mail' }] },
  tools: [
    {
      name: 'local_time',
      description: 'The local time of the user.',
      parameters: { type: 'object', properties: {}, additionalProperties: false },
    },
  ],
})
say(`   POST ${server.url}/sessions → ${paint('dim', sessionId)}`)
say(`   ${paint('green', 'get_weather')}  the server may run it without asking`)
say(`   ${paint('yellow', 'send_mail')}    the server must ask first`)
say(`   ${paint('magenta', 'local_time')}   this application runs it`)

chapter('2  A message')
const text = 'What is my local time, what is the weather in Lisbon, and mail ana@example.org that I am late'
say(`   ${paint('bold', '›')} ${text}`)

let started = 0
let speaking = false

function show(event: TurnEvent): void {
  if (speaking && event.event !== 'text_delta') say()
  switch (event.event) {
    case 'turn_start':
      chapter(started === 0 ? '3  The model asks for three tools at once' : '5  The turn goes on')
      started += 1
      break
    case 'text_delta':
      process.stdout.write(speaking ? event.delta : `   ${event.delta}`)
      break
    case 'tool_call':
      say(`   ${paint('yellow', '→')} ${paint('bold', event.name)} ${JSON.stringify(event.input)}`)
      break
    case 'tool_result':
      say(`   ${paint('green', '←')} ${textOfContent(event.content)}`)
      break
    case 'turn_stop':
      say(`   ${paint('dim', `turn_stop: ${event.stopReason}`)}`)
      if (event.stopReason === 'tool_use') chapter('4  What only the application can answer')
      break
    default:
      break
  }
  speaking = event.event === 'text_delta'
}

function permit({ name, input }: ToolCall): { granted: true; input: typeof input } {
  const edited = { ...input, body: 'I am late, sorry. Start without me.' }
  say(`   ${paint('yellow', '?')} ${name} asks for permission. A person changes the text and allows it:`)
  say(`     ${paint('dim', JSON.stringify(edited))}`)
  return { granted: true, input: edited }
}

await client.runTurn({
  sessionId,
  text,
  onEvent: show,
  tools: {
    local_time: () => '09:41 in Lisbon',
  },
  onResult: ({ name }, content) =>
    say(`   ${paint('magenta', '⌂')} ${name} ran here: ${textOfContent(content)}`),
  onPermission: permit,
})

chapter('6  What the log kept')
for await (const watched of client.watch(sessionId)) {
  if (!('seq' in watched)) continue
  const { seq, event } = watched
  const by = 'by' in event ? paint('dim', ` by ${event.by}`) : ''
  const outcome = event.type === 'call.settled' ? ` ${event.outcome.kind}` : ''
  say(`   ${paint('dim', String(seq).padStart(2))} ${event.type}${outcome}${by}`)
  if (event.type === 'turn.ended') break
}

await server.stop()
say(`\n${paint('dim', 'Talk to it yourself: npm run turnwire -- chat')}`)
