// pi's agent over its model registry, as its README shows them, with a provider that plays a script. pi's own test
// provider counts tokens and clones every message; this one costs next to nothing.
import { Agent } from '@earendil-works/pi-agent-core'
import { createAssistantMessageEventStream, createModels, createProvider } from '@earendil-works/pi-ai'

export const name = 'pi'

const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
const model = {
  id: 'scripted',
  name: 'Scripted',
  api: 'scripted',
  provider: 'scripted',
  baseUrl: 'http://localhost:0',
  reasoning: false,
  input: ['text'],
  cost,
  contextWindow: 1e9,
  maxTokens: 1e9,
}

const registries = new WeakMap()

function registryOf(script) {
  const known = registries.get(script)
  if (known) return known
  const stream = (_model, { messages }) => play(messages.at(-1)?.role === 'user' ? script.first : script.then)
  const models = createModels()
  models.setProvider(
    createProvider({
      id: model.provider,
      auth: { apiKey: { name: 'Scripted', resolve: async () => ({ auth: {} }) } },
      models: [model],
      api: { stream, streamSimple: stream },
    }),
  )
  registries.set(script, models)
  return models
}

/** One conversation; each call of what it gives is one turn. */
export function converse(script) {
  const { tools, question } = script
  const models = registryOf(script)
  const agent = new Agent({
    initialState: { systemPrompt: 'You are a careful assistant.', model, tools: tools.map(toolOf) },
    streamFn: models.streamSimple.bind(models),
  })
  let shown = 0
  agent.subscribe(event => {
    if (event.type === 'message_update') shown += event.assistantMessageEvent.delta?.length ?? 0
  })
  return async () => {
    await agent.prompt(question)
    return shown
  }
}

function toolOf({ name: toolName, description, schema, run }) {
  return {
    name: toolName,
    label: toolName,
    description,
    parameters: schema,
    execute: async (_id, input) => ({ content: [{ type: 'text', text: await run(input) }], details: {} }),
  }
}

function play({ text, calls }) {
  const stream = createAssistantMessageEventStream()
  const partial = {
    role: 'assistant',
    content: [],
    api: 'scripted',
    provider: 'scripted',
    model: 'scripted',
    usage: { ...cost, totalTokens: 0, cost: { ...cost, total: 0 } },
    stopReason: calls.length > 0 ? 'toolUse' : 'stop',
    timestamp: Date.now(),
  }
  stream.push({ type: 'start', partial })
  if (text.length > 0) {
    const block = { type: 'text', text: '' }
    partial.content.push(block)
    stream.push({ type: 'text_start', contentIndex: 0, partial })
    for (const delta of text) {
      block.text += delta
      stream.push({ type: 'text_delta', contentIndex: 0, delta, partial })
    }
    stream.push({ type: 'text_end', contentIndex: 0, content: block.text, partial })
  }
  for (const [index, { name: toolName, pieces }] of calls.entries()) {
    const contentIndex = partial.content.length
    const toolCall = { type: 'toolCall', id: `call_${index}`, name: toolName, arguments: {} }
    partial.content.push(toolCall)
    stream.push({ type: 'toolcall_start', contentIndex, partial })
    for (const delta of pieces) stream.push({ type: 'toolcall_delta', contentIndex, delta, partial })
    toolCall.arguments = JSON.parse(pieces.join(''))
    stream.push({ type: 'toolcall_end', contentIndex, toolCall, partial })
  }
  stream.push({ type: 'done', reason: partial.stopReason, message: partial })
  stream.end(partial)
  return stream
}
