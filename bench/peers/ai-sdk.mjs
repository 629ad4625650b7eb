// The AI SDK's streamText with tools, as its documentation shows the loop, with a model that plays a script; and with
// its own Anthropic provider, for trials over HTTP.
import { createAnthropic } from '@ai-sdk/anthropic'
import { jsonSchema, stepCountIs, streamText, tool } from 'ai'

export const name = 'AI SDK'

/** One conversation; each call of what it gives is one turn. */
export function converse({ tools, question, first, then }) {
  return talk(tools, question, {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    doStream: async ({ prompt }) => ({ stream: play(prompt.at(-1)?.role === 'user' ? first : then) }),
  })
}

/** The same over HTTP: the vendor's API is at `url`. */
export function converseOver(url, { tools, question }) {
  return talk(tools, question, createAnthropic({ baseURL: `${url}/v1`, apiKey: 'none' })('claude-sonnet-4-6'))
}

export function toolsOf(tools) {
  return Object.fromEntries(
    tools.map(({ name: toolName, description, schema, run }) => [
      toolName,
      tool({ description, inputSchema: jsonSchema(schema), execute: input => run(input) }),
    ]),
  )
}

function talk(list, question, model) {
  const tools = toolsOf(list)
  const messages = []
  let shown = 0
  return async () => {
    messages.push({ role: 'user', content: question })
    const result = streamText({
      model,
      tools,
      messages,
      instructions: 'You are a careful assistant.',
      stopWhen: stepCountIs(1000),
    })
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') shown += part.text.length
      else if (part.type === 'tool-input-delta') shown += part.delta.length
      else if (part.type === 'error') throw part.error
    }
    messages.push(...(await result.response).messages)
    return shown
  }
}

function play({ text, calls }) {
  const parts = [{ type: 'stream-start', warnings: [] }]
  if (text.length > 0) {
    parts.push({ type: 'text-start', id: '0' })
    for (const delta of text) parts.push({ type: 'text-delta', id: '0', delta })
    parts.push({ type: 'text-end', id: '0' })
  }
  for (const [index, { name: toolName, pieces }] of calls.entries()) {
    const id = `call_${index}`
    parts.push({ type: 'tool-input-start', id, toolName })
    for (const delta of pieces) parts.push({ type: 'tool-input-delta', id, delta })
    parts.push({ type: 'tool-input-end', id })
    parts.push({ type: 'tool-call', toolCallId: id, toolName, input: pieces.join('') })
  }
  const finish = calls.length > 0 ? 'tool-calls' : 'stop'
  parts.push({
    type: 'finish',
    finishReason: { unified: finish, raw: finish },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
  })
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}
