// The AI SDK behind a plain server, as its documentation shows it: what the vendor streams goes out as UI messages, and
// nothing is stored. The path says which of the vendor's answers is asked for.
import { createServer } from 'node:http'
import { createAnthropic } from '@ai-sdk/anthropic'
import {
  convertToModelMessages,
  jsonSchema,
  pipeUIMessageStreamToResponse,
  stepCountIs,
  streamText,
  tool,
  toUIMessageStream,
} from 'ai'

const take = tool({
  description: 'Takes a text.',
  inputSchema: jsonSchema({ type: 'object', properties: {}, additionalProperties: true }),
  execute: () => 'ok',
})

const number = { type: 'number' }
const add = tool({
  description: 'Adds two numbers.',
  inputSchema: jsonSchema({
    type: 'object',
    properties: { a: number, b: number },
    required: ['a', 'b'],
    additionalProperties: false,
  }),
  execute: ({ a, b }) => String(a + b),
})

const server = createServer((request, response) => void answer(request, response))

async function answer(request, response) {
  let text = ''
  for await (const piece of request) text += piece
  const anthropic = createAnthropic({ baseURL: `${process.env.VENDOR_URL}${request.url}/v1`, apiKey: 'none' })
  const result = streamText({
    model: anthropic('claude-sonnet-4-6'),
    tools: request.url === '/cycle' ? { add } : { take },
    messages: await convertToModelMessages(JSON.parse(text).messages),
    stopWhen: stepCountIs(10),
  })
  await pipeUIMessageStreamToResponse({ response, stream: toUIMessageStream({ stream: result.stream }) })
}

// Its clients wait while other variants run.
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`))
