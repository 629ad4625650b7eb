// Finds the unanswered calls of a conversation. A call is the application's if the application has a tool of that name.
import type { HistoryMessage, ToolCall } from './types.ts'

/** `client`: run them and send the results. `server`: grant or deny them. */
export type PendingCalls = { client: ToolCall[]; server: ToolCall[] }

/** `clientTools`: the application's own tools, as declarations or as names. */
export function pendingCalls(
  history: readonly HistoryMessage[],
  clientTools: readonly (string | { name: string })[] = [],
): PendingCalls {
  const own = new Set(clientTools.map(tool => (typeof tool === 'string' ? tool : tool.name)))
  const pending: PendingCalls = { client: [], server: [] }
  for (const call of openCalls(history)) pending[own.has(call.name) ? 'client' : 'server'].push(call)
  return pending
}

function openCalls(history: readonly HistoryMessage[]): ToolCall[] {
  const at = history.findLastIndex(message => message.role === 'assistant' || message.role === 'user')
  const last = history[at]
  if (last?.role !== 'assistant' || typeof last.content === 'string') return []
  const answered = new Set<string>()
  for (const message of history.slice(at + 1)) if (message.role === 'tool') answered.add(message.toolCallId)
  return last.content.flatMap(block =>
    block.type === 'tool_use' && !answered.has(block.toolCallId)
      ? [{ toolCallId: block.toolCallId, name: block.name, input: block.input }]
      : [],
  )
}
