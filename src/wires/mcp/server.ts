// An MCP server for one agent and one caller: lists the tools, and runs calls as turns of sessions. Both revisions of the
// protocol, and both transports, use it.
import {
  type CallToolResult,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  ProtocolError,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Engine } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { readTrace, type TraceContext, traceInMeta } from '../../language/trace.ts'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'
import { agentNamed, type Principal, type RequestPayment, type WireHost } from '../host.ts'
import { toFailure } from '../http/failure.ts'
import { askTool, encodeTool, failedResult } from './encode.ts'
import { paymentRequired, withReceipt } from './payment.ts'
import type { CanAsk } from './questions.ts'
import { servePrompts, serveResources } from './resources.ts'
import {
  clientCapabilities,
  createdTask,
  defaultTaskAfterMs,
  isModern,
  knowsTasks,
  serveTasks,
  TaskServer,
  type TaskServing,
  taskCapabilities,
  tasksWanted,
} from './task-server.ts'
import { McpTasks } from './tasks.ts'
import { McpTask, McpTurn } from './turn.ts'
import type { TurnProgress } from './turn-result.ts'

/** The parts of an agent that are served: its exposed tools, the agent itself as a tool, its resources, its prompts. */
export type McpServing = {
  tools?: boolean
  ask?: boolean
  resources?: boolean
  prompts?: boolean
  /** How calls become tasks, for clients that know them. */
  tasks?: TaskServing
}

export type McpCaller = {
  principal: Principal
  /** Bound to the caller. */
  engine: Engine
  agent: string
  serving: McpServing
  version: string
  /** The payment of a request. Each request of a session pays for itself. Absent: payments are not taken. */
  paymentOf?: (request: Request | undefined) => RequestPayment | undefined
}

export function mcpServerFor(host: WireHost, caller: McpCaller): Server {
  const { principal, engine, agent: name, serving, version } = caller
  const agent = agentNamed(host, name)
  const server = new TaskServer(
    { name: `turnwire-${agent.name}`, version, ...(agent.title !== undefined && { title: agent.title }) },
    {
      capabilities: {
        tools: {},
        ...taskCapabilities,
        ...(serving.resources && { resources: {} }),
        ...(serving.prompts && { prompts: {}, completions: {} }),
      },
      ...(agent.description !== undefined && { instructions: agent.description }),
      requestState: { verify: state => void host.unseal(state, 'mcp request state') },
    },
  )
  const tasks = new McpTasks(engine, principal, agent)
  serveTools(server, host, caller, tasks)
  serveTasks(server, tasks, canAsk)
  if (serving.resources) serveResources(server, engine, agent.name)
  if (serving.prompts) servePrompts(server, engine, agent.name)
  return server
}

function serveTools(server: Server, host: WireHost, caller: McpCaller, tasks: McpTasks): void {
  const { agent: name, serving } = caller
  const agent = agentNamed(host, name)
  const { afterMs = defaultTaskAfterMs, required = [] } = serving.tasks ?? {}
  const served = serving.tools ? agent.tools.filter(tool => tool.exposed && tool.trust !== 'deny') : []
  const tools = [...served.map(encodeTool), ...(serving.ask ? [askTool(agent)] : [])].map(tool => ({
    ...tool,
    execution: {
      taskSupport: required.includes(tool.name) ? ('required' as const) : ('optional' as const),
    },
  }))
  server.setRequestHandler('tools/list', () => ({ tools }))
  server.setRequestHandler('tools/call', async (request, context) => {
    const { name: tool, arguments: input = {} } = request.params
    if (!tools.some(each => each.name === tool))
      throw new ProtocolError(INVALID_PARAMS, `There is no tool named ${JSON.stringify(tool)}.`)
    const capabilities = clientCapabilities(server, context)
    const modern = isModern(context)
    const wantsTask = modern ? knowsTasks(capabilities) : isJsonObject(request.params['task'])
    if (!wantsTask && required.includes(tool))
      throw modern
        ? tasksWanted()
        : new ProtocolError(METHOD_NOT_FOUND, `The tool ${JSON.stringify(tool)} must be called as a task.`)
    const can = canAsk(capabilities)
    const payment = caller.paymentOf?.(context.http?.req)
    const engine = payment ? host.engineFor({ ...caller.principal, payment }) : caller.engine
    const call = {
      name: tool,
      arguments: (isJsonObject(input) ? input : {}) satisfies JsonObject,
      state: context.mcpReq.requestState<string>(),
      answers: context.mcpReq.inputResponses,
      can,
      // A legacy client asks for the task itself. A caller without a key could not ask for it later.
      ...(wantsTask && !payment?.bare && { taskAfterMs: modern ? afterMs : 0 }),
      signal: context.mcpReq.signal,
      progress: progressTo(context),
      trace: traceInMeta(context.mcpReq._meta) ?? traceInHeaders(context),
    }
    try {
      const answer = await new McpTurn(host, { ...caller, engine }, call).run()
      if (!(answer instanceof McpTask)) return withReceipt(answer, payment?.receipt)
      return createdTask(await tasks.get(answer.id, can), modern)
    } catch (error) {
      return encodeRefusal(error, host, payment)
    }
  })
}

function traceInHeaders({ http }: ServerContext): TraceContext | undefined {
  const headers = http?.req?.headers
  return readTrace(headers?.get('traceparent'), headers?.get('tracestate'))
}

/** A refusal of ours is something that the model can act on. */
function encodeRefusal(error: unknown, host: WireHost, payment: RequestPayment | undefined): CallToolResult {
  if (error instanceof TurnwireError) {
    const refusal = error.code === 'payment_required' ? payment?.refusal : undefined
    return refusal ? paymentRequired(refusal.required) : failedResult(error.message)
  }
  return failedResult(toFailure(error, host.log).message)
}

/** A client that says no more than `elicitation: {}` can show forms only. */
function canAsk({ elicitation }: JsonObject): CanAsk {
  if (!isJsonObject(elicitation)) return { form: false, url: false }
  const url = elicitation['url'] !== undefined
  return { form: elicitation['form'] !== undefined || !url, url }
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
