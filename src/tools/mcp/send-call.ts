// One tools/call, from its request to its output: progress, cancellation, questions in between, tasks. An error of the protocol
// and a failure of the tool are two things: the first is thrown, the second is a result.
import { type Client, ProtocolError } from '@modelcontextprotocol/client'
import { ProtocolFailure, type Tool, type ToolContext, type ToolOutput } from '../../engine/ports.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { printable } from '../../lib/text.ts'
import type { RunningCalls } from './from-server.ts'
import { toToolOutput } from './result.ts'

export type SentCall = {
  client: Client
  calls: RunningCalls
  server: string
  /** The tool's name on the server. */
  raw: string
  tool: Tool
  input: Json
  context: ToolContext
}

const headerMismatch = -32020
/** The longest time that a timer can take. */
const longest = 2 ** 31 - 1

/** The server declared other header parameters than we know: its tools are listed again. Nothing was run. */
export function isHeaderMismatch(error: unknown): boolean {
  return error instanceof ProtocolFailure && error.code === headerMismatch
}

export async function sendCall(call: SentCall): Promise<ToolOutput> {
  const { calls, context, server } = call
  try {
    return toToolOutput(await calls.run(context, () => request(call)))
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    const words = printable(error.message.replace(/^MCP error -?\d+: /, ''), 1_000)
    throw new ProtocolFailure(
      error.code,
      `The MCP server "${server}" refused the request with the protocol error ${error.code}: ${words}`,
      { cause: error },
    )
  }
}

async function request({ client, raw, tool, input, context }: SentCall): Promise<JsonObject> {
  const result = await client.callTool(
    {
      name: raw,
      arguments: isJsonObject(input) ? input : {},
      ...(context.trace && { _meta: { ...context.trace } }),
    },
    {
      signal: context.signal,
      // The engine's own deadline ends the call. It stands still while a person is asked.
      timeout: longest,
      // Without the output schema, because the gate checks results itself, within its limits.
      toolDefinition: {
        name: raw,
        inputSchema: { ...(tool.input.form === 'json' && tool.input.schema), type: 'object' },
      },
      onprogress: ({ progress, total, message }) =>
        context.progress({
          done: progress,
          ...(total !== undefined && { total }),
          ...(message !== undefined && { message }),
        }),
    },
  )
  return result as JsonObject // it was parsed from JSON
}
