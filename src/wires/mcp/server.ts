// An MCP server for one agent and one caller: lists the tools, and runs calls as turns of sessions. Both revisions of the
// protocol, and both transports, use it.
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  INVALID_PARAMS,
  ProtocolError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { TurnwireError } from '../../language/errors.ts'
import { traceInMeta } from '../../language/trace.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { agentNamed, type Principal, type WireHost } from '../host.ts'
import { failureOf } from '../http/failure.ts'
import { askTool, encodeTool, failedResult } from './encode.ts'
import { McpTurn, type TurnProgress } from './turn.ts'

/** What of an agent is served. */
export type McpServing = { tools?: boolean; ask?: boolean }

export type McpCaller = { principal: Principal; agent: string; serving: McpServing; version: string }

export function mcpServerFor(
  host: WireHost,
  { principal, agent: name, serving, version }: McpCaller,
): Server {
  const agent = agentNamed(host, name)
  const served = serving.tools ? agent.tools.filter(tool => tool.exposed && tool.trust !== 'deny') : []
  const tools = [...served.map(encodeTool), ...(serving.ask ? [askTool(agent)] : [])]
  const server = new Server(
    { name: `turnwire-${agent.name}`, version, ...(agent.title !== undefined && { title: agent.title }) },
    {
      capabilities: { tools: {} },
      ...(agent.description !== undefined && { instructions: agent.description }),
      requestState: { verify: state => void host.unseal(state) },
    },
  )
  server.setRequestHandler('tools/list', () => ({ tools }))
  server.setRequestHandler('tools/call', async (request, context) => {
    const { name: tool, arguments: input = {} } = request.params
    if (!tools.some(each => each.name === tool))
      throw new ProtocolError(INVALID_PARAMS, `There is no tool named ${JSON.stringify(tool)}.`)
    const call = {
      name: tool,
      arguments: (isJsonObject(input) ? input : {}) satisfies JsonObject,
      state: context.mcpReq.requestState<string>(),
      answers: context.mcpReq.inputResponses,
      canAsk: canElicit(server, context),
      signal: context.mcpReq.signal,
      progress: progressTo(context),
      trace: traceInMeta(context.mcpReq._meta),
    }
    try {
      return await new McpTurn(host, principal, name, call).run()
    } catch (error) {
      return refusalOf(error, host)
    }
  })
  return server
}

/** A refusal of ours is something that the model can act on. */
function refusalOf(error: unknown, host: WireHost): CallToolResult {
  if (error instanceof TurnwireError) return failedResult(error.message)
  return failedResult(failureOf(error, host.log).message)
}

/** A legacy client says it at the beginning, a modern one with every request. */
function canElicit(server: Server, { mcpReq }: ServerContext): boolean {
  // The SDK's type of the envelope names none of its members.
  const envelope = mcpReq.envelope as Record<string, unknown> | undefined
  const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities()
  return typeof capabilities === 'object' && capabilities !== null && 'elicitation' in capabilities
}

/** Does nothing for a client that did not ask for progress. */
function progressTo({ mcpReq }: ServerContext): (update: TurnProgress) => void {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return () => {}
  let last = -1
  return ({ message, done, total }) => {
    // The protocol wants a number that grows. Words alone count as a little more.
    const progress = done !== undefined && done > last ? done : last + (last < 0 ? 1 : 1e-3)
    last = progress
    const params = {
      progressToken,
      progress,
      ...(message !== undefined && { message }),
      ...(total !== undefined && { total }),
    }
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
  }
}
