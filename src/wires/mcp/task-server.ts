// The SDK's server with tasks, which it leaves to its users. In the revision of 2026-07-28 they are an extension: the server
// answers a call with a task if the client said that it knows them. In 2025-11-25 they are part of the protocol: the client
// asks for a task with its call. Both are encoded here; tasks.ts knows what a task is. The error for a resource that is not
// there also differs between the revisions, and the SDK sends the newer one to all.
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  RELATED_TASK_META_KEY,
  type RequestId,
  Server,
  type ServerContext,
  type Transport,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { longestTimerMs } from '../../lib/async/abort.ts'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'
import type { CanAsk } from './questions.ts'
import { type McpTasks, pollMs, type TaskFacts, tasksExtension } from './tasks.ts'

/** `afterMs`: how long a call may take before it becomes a task. `required`: tools that are served as tasks only. */
export type TaskServing = { afterMs?: number; required?: readonly string[] }

export const defaultTaskAfterMs = 5_000

export const taskCapabilities = {
  tasks: { cancel: {}, requests: { tools: { call: {} } } },
  extensions: { [tasksExtension]: {} },
}

type Handler = Parameters<Server['_wrapHandler']>[1]

/** In the revision of 2025-11-25 and before. Later it is INVALID_PARAMS. */
const resourceNotFound = -32002

export class TaskServer extends Server {
  readonly #notFound = new Set<RequestId>()

  /** The error of `resources/read` for an unknown resource. The SDK knows the newer code only. */
  resourceNotFound(uri: string, context: ServerContext): ProtocolError {
    if (!isModern(context)) this.#notFound.add(context.mcpReq.id)
    return new ProtocolError(INVALID_PARAMS, 'There is no such resource.', { uri })
  }

  override async connect(transport: Transport): Promise<void> {
    const send = transport.send.bind(transport)
    transport.send = (message, options) => {
      if ('error' in message && message.id !== undefined && this.#notFound.delete(message.id))
        message.error.code = resourceNotFound
      return send(message, options)
    }
    await super.connect(transport)
  }

  /** A task in place of a result is not checked as a result. */
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    if (method !== 'tools/call') return super._wrapHandler(method, handler)
    return async (request, context) => {
      let task: Awaited<ReturnType<Handler>> | undefined
      const checked = super._wrapHandler(method, async (...args) => {
        const result = await handler(...args)
        if (result['taskId'] === undefined && result['task'] === undefined) return result
        task = result
        return { content: [] }
      })
      const result = await checked(request, context)
      return task ?? result
    }
  }
}

export function isModern({ mcpReq }: ServerContext): boolean {
  return mcpReq.envelope !== undefined
}

/** The capabilities that the client declares: a legacy one at the beginning, a modern one with every request. */
export function clientCapabilities(server: Server, context: ServerContext): JsonObject {
  // The SDK's type of the envelope names none of its members.
  const envelope = context.mcpReq.envelope as Record<string, unknown> | undefined
  const given = envelope ? envelope[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities()
  return isJsonObject(given) ? given : {}
}

export function knowsTasks(capabilities: JsonObject): boolean {
  const { extensions } = capabilities
  return isJsonObject(extensions) && extensions[tasksExtension] !== undefined
}

export function tasksWanted(): Error {
  return new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  })
}

/** The answer to a call that became a task. */
export function createdTask(facts: TaskFacts, modern: boolean): CallToolResult {
  const created = modern ? { resultType: 'task', ...modernTask(facts) } : { task: legacyTask(facts) }
  return created as unknown as CallToolResult // The SDK has no type for a task in place of a result.
}

/** A task lives as long as its session: there is no time after which it ends. */
function modernTask(facts: TaskFacts): JsonObject {
  return { ...commonPart(facts), ttlMs: null, pollIntervalMs: pollMs }
}

function legacyTask(facts: TaskFacts): JsonObject {
  return { ...commonPart(facts), ttl: null, pollInterval: pollMs }
}

function commonPart({ id, status, message, createdAt, updatedAt }: TaskFacts): JsonObject {
  return {
    taskId: id,
    status,
    ...(message !== undefined && { statusMessage: message }),
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
  }
}

function wholeTask(facts: TaskFacts): JsonObject {
  const { requests, result, error } = facts
  return {
    ...modernTask(facts),
    // The results and requests of the protocol are JSON.
    ...(requests.length > 0 && { inputRequests: Object.fromEntries(requests) as unknown as JsonObject }),
    ...(result && { result: { resultType: 'complete', ...result } as unknown as JsonObject }),
    ...(error && { error }),
  }
}

const byId = z.looseObject({ taskId: z.string() })

export function serveTasks(
  server: Server,
  tasks: McpTasks,
  canAsk: (capabilities: JsonObject) => CanAsk,
): void {
  const can = (context: ServerContext): CanAsk => {
    const capabilities = clientCapabilities(server, context)
    if (isModern(context) && !knowsTasks(capabilities)) throw tasksWanted()
    return canAsk(capabilities)
  }
  server.setRequestHandler('tasks/get', { params: byId }, async ({ taskId }, context) => {
    const facts = await tasks.get(taskId, can(context))
    return isModern(context) ? wholeTask(facts) : legacyTask(facts)
  })
  server.setRequestHandler('tasks/cancel', { params: byId }, async ({ taskId }, context) => {
    can(context)
    const was = await tasks.cancel(taskId)
    if (isModern(context)) return {}
    if (!was) throw new ProtocolError(INVALID_PARAMS, 'The task is over.')
    return legacyTask(await tasks.untilStop(taskId, { form: false, url: false }, context.mcpReq.signal))
  })
  server.setRequestHandler(
    'tasks/update',
    { params: z.looseObject({ taskId: z.string() }) },
    async ({ taskId }, context) => {
      if (!isModern(context)) throw new ProtocolError(METHOD_NOT_FOUND, 'Method not found')
      can(context)
      await tasks.update(taskId, context.mcpReq.inputResponses ?? {})
      return {}
    },
  )
  server.setRequestHandler('tasks/result', { params: byId }, ({ taskId }, context) =>
    legacyResult(tasks, taskId, can(context), context),
  )
}

/** Waits for the end of a task. Its questions go to the client with this request. */
async function legacyResult(
  tasks: McpTasks,
  id: string,
  can: CanAsk,
  { mcpReq }: ServerContext,
): Promise<JsonObject> {
  const _meta = { [RELATED_TASK_META_KEY]: { taskId: id } }
  for (;;) {
    const { status, requests, result, error } = await tasks.untilStop(id, can, mcpReq.signal)
    if (result) return { ...(result as unknown as JsonObject), _meta } // A result of the protocol is JSON.
    if (error) throw new ProtocolError(error.code, error.message)
    if (status !== 'input_required') throw new ProtocolError(INTERNAL_ERROR, `The task is ${status}.`)
    const answers: Record<string, unknown> = {}
    for (const [key, { method, params }] of requests)
      answers[key] = await mcpReq.send(
        { method, params: { ...params, _meta } },
        z.looseObject({ action: z.string() }),
        { signal: mcpReq.signal, timeout: longestTimerMs },
      )
    await tasks.update(id, answers)
  }
}
