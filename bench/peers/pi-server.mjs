// pi's agent behind a plain server, over its own Anthropic provider: each request is a new conversation of one turn, whose text goes
// out as it comes. Nothing is stored. The path says which of the vendor's answers is asked for.
import { createServer } from 'node:http'
import { Agent } from '@earendil-works/pi-agent-core'
import { createModels, createProvider } from '@earendil-works/pi-ai'
import { anthropicMessagesApi } from '@earendil-works/pi-ai/api/anthropic-messages.lazy'

const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
const model = {
  id: 'claude-sonnet-4-6',
  name: 'Claude',
  api: 'anthropic-messages',
  provider: 'double',
  baseUrl: `${process.env.VENDOR_URL}/cycle`,
  reasoning: false,
  input: ['text'],
  cost,
  contextWindow: 200_000,
  maxTokens: 4096,
}
const models = createModels()
models.setProvider(
  createProvider({
    id: model.provider,
    auth: { apiKey: { name: 'Double', resolve: async () => ({ auth: { apiKey: 'none' } }) } },
    models: [model],
    api: anthropicMessagesApi(),
  }),
)

const number = { type: 'number' }
const add = {
  name: 'add',
  label: 'add',
  description: 'Adds two numbers.',
  parameters: {
    type: 'object',
    properties: { a: number, b: number },
    required: ['a', 'b'],
    additionalProperties: false,
  },
  execute: async (_id, { a, b }) => ({ content: [{ type: 'text', text: String(a + b) }], details: {} }),
}

const server = createServer((request, response) => void answer(request, response))

async function answer(request, response) {
  let text = ''
  for await (const piece of request) text += piece
  response.setHeader('content-type', 'text/event-stream')
  const send = event => response.write(`data: ${JSON.stringify(event)}\n\n`)
  const agent = new Agent({
    initialState: { systemPrompt: 'You are a careful assistant.', model, tools: [add] },
    streamFn: models.streamSimple.bind(models),
  })
  agent.subscribe(event => {
    if (event.type === 'message_update') send(event.assistantMessageEvent.delta ?? '')
    else if (event.type === 'tool_execution_end') send(event.result)
  })
  await agent.prompt(JSON.parse(text).messages.at(-1).parts[0].text)
  response.end('data: [DONE]\n\n')
}

// Its clients wait while other variants run.
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`))
