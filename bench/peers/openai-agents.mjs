// OpenAI's Agents SDK: a streamed run whose history goes into the next one, with a model that plays a script.
import { Agent, Runner, tool } from '@openai/agents'

export const name = 'OpenAI Agents'

/** One conversation; each call of what it gives is one turn. */
export function converse({ tools, question, first, then }) {
  const runner = new Runner({ tracingDisabled: true })
  const model = {
    getResponse: () => Promise.reject(new Error('Only streams are played.')),
    getStreamedResponse: ({ input }) =>
      play(typeof input === 'string' || input.at(-1)?.role === 'user' ? first : then),
  }
  const agent = new Agent({
    name: 'bench',
    instructions: 'You are a careful assistant.',
    model,
    tools: tools.map(toolOf),
  })
  let history = []
  let shown = 0
  return async () => {
    const input = [...history, { role: 'user', content: question }]
    const result = await runner.run(agent, input, { stream: true, maxTurns: 1000 })
    for await (const event of result) {
      if (event.type !== 'raw_model_stream_event') continue
      shown += (event.data.delta ?? event.data.event?.delta ?? '').length
    }
    history = result.history
    return shown
  }
}

function toolOf({ name: toolName, description, schema, run }) {
  return tool({
    name: toolName,
    description,
    parameters: schema,
    strict: false,
    execute: input => run(input),
  })
}

let made = 0

async function* play({ text, calls }) {
  const id = `resp_${made++}`
  yield { type: 'response_started' }
  for (const delta of text) yield { type: 'output_text_delta', delta }
  const output = []
  if (text.length > 0) {
    const content = [{ type: 'output_text', text: text.join('') }]
    output.push({ type: 'message', id: `msg_${made}`, role: 'assistant', status: 'completed', content })
  }
  for (const [index, { name: toolName, pieces }] of calls.entries()) {
    for (const delta of pieces) yield { type: 'model', event: { type: 'arguments', delta } }
    const [callId, joined] = [`call_${made}_${index}`, pieces.join('')]
    output.push({
      type: 'function_call',
      id: callId,
      callId,
      name: toolName,
      arguments: joined,
      status: 'completed',
    })
  }
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
  yield { type: 'response_done', response: { id, usage, output } }
}
