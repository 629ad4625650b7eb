// A server asks for an answer of a model (sampling). It is off unless the operator allows it for this server. It runs through
// the call that is under way: the session's own model, counted to the turn's tokens and money, in the log. The server gets no
// history, no tools and no system text of ours.
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  CreateMessageResultWithTools,
} from '@modelcontextprotocol/client'
import type { SampleMessage, ToolContext } from '../../engine/ports/index.ts'
import type { InputPart } from '../../language/content.ts'
import type { McpOptions } from './index.ts'
import { toResultPart } from './result.ts'

export type SamplingSettings = {
  /** Tokens of one answer. A server that asks for more gets this many. Default 1,000. */
  maxTokens?: number
  /** Answers during one call. Default 3. */
  perCall?: number
}

type AskedSample = {
  server: string
  settings: SamplingSettings
  context: ToolContext | undefined
  signal: AbortSignal
  log: McpOptions['log']
}

const sampleCounts = new WeakMap<ToolContext, number>()

export async function sample(
  params: CreateMessageRequestParams,
  { server, settings, context, signal, log }: AskedSample,
): Promise<CreateMessageResult | CreateMessageResultWithTools> {
  if (!context) throw new Error('No call is under way that this request could belong to.')
  const { maxTokens = 1_000, perCall = 3 } = settings
  const count = (sampleCounts.get(context) ?? 0) + 1
  sampleCounts.set(context, count)
  if (count > perCall) throw new Error(`A call may ask for at most ${perCall} answers of a model.`)
  if (params.tools !== undefined && params.tools.length > 0)
    throw new Error('Tools are not offered to a model on behalf of a server.')
  log?.('info', 'An MCP server asks for an answer of a model.', { server, callId: context.callId })
  const answer = await context.sample({
    by: server,
    messages: params.messages.map(toMessage),
    ...(params.systemPrompt !== undefined && { system: params.systemPrompt }),
    maxTokens: Math.min(maxTokens, params.maxTokens),
    signal,
  })
  return {
    role: 'assistant',
    content: { type: 'text', text: answer.text },
    model: answer.model,
    stopReason: answer.stop === 'length' ? 'maxTokens' : 'endTurn',
  }
}

function toMessage({ role, content }: CreateMessageRequestParams['messages'][number]): SampleMessage {
  const blocks = Array.isArray(content) ? content : [content]
  // A block is JSON: it was parsed from it.
  const parts = blocks.map(block => toResultPart(block as never) satisfies InputPart)
  return { role, parts }
}
