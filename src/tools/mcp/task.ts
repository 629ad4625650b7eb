// A call that a server carries out as a task: it answers with a task at once, and the result is asked for later. In the
// revision of 2026-07-28 a server does so on its own, and is asked how the task is; in 2025-11-25 the tool declares that it
// must be called so, and one request waits for the result. A task outlives its connection, so it is followed on another one.
import { setTimeout as pause } from 'node:timers/promises'
import { type Client, type JSONRPCMessage, ProtocolError, type Transport } from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { ToolContext } from '../../engine/ports/index.ts'
import { longestTimerMs } from '../../lib/async/abort.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** Where the task stands in a result that `showTasks` rewrote. */
const taskKey = 'turnwire/task'
const shortestPollMs = 100
const longestPollMs = 30_000

const anything = z.looseObject({})

/** The SDK refuses a task in place of a result. It is shown an empty result, with the task in its `_meta`. */
export function showTasks(transport: Transport): void {
  transport.onmessage = (message: JSONRPCMessage) => {
    if (!('result' in message) || message.result['resultType'] !== 'task') return
    const { resultType: _, ...task } = message.result
    message.result = { resultType: 'complete', content: [], _meta: { [taskKey]: task } }
  }
}

/** The id of the task that a call became. Undefined: it is a result. */
export function taskIn(result: JsonObject): string | undefined {
  const { _meta, task } = result
  const shown = isJsonObject(_meta) ? _meta[taskKey] : undefined
  const { taskId } = isJsonObject(task) ? task : isJsonObject(shown) ? shown : {}
  return typeof taskId === 'string' ? taskId : undefined
}

/** The connection is of the revision of 2026-07-28, or of a later one. */
export function speaksModern(client: Client): boolean {
  return (client.getNegotiatedProtocolVersion() ?? '') >= '2026'
}

export type FollowedTask = {
  client: Client
  id: string
  context: ToolContext
  /** Answers what the server asks meanwhile (2026-07-28). */
  answer: (method: string, params: JsonObject) => Promise<JsonObject>
}

/** The result of the call. Rejects with a ProtocolError if the task failed. The task is cancelled with the call. */
export async function followTask(task: FollowedTask): Promise<JsonObject> {
  const { client, id, context } = task
  try {
    return speaksModern(client) ? await poll(task) : await waitForResult(task)
  } catch (error) {
    if (context.signal.aborted)
      void client
        .request({ method: 'tasks/cancel', params: { taskId: id } }, anything, { timeout: 10_000 })
        .catch(() => {})
    throw error
  }
}

/** The result of a task that has ended well. Undefined: it goes on, or it failed, which may be after it took effect. */
export async function taskOutcome(
  client: Client,
  id: string,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const params = { taskId: id }
  // It was parsed from JSON.
  const now = (await client.request({ method: 'tasks/get', params }, anything, { signal })) as JsonObject
  if (now['status'] !== 'completed') return undefined
  if (speaksModern(client)) return taskResult(now, id)
  return (await client.request({ method: 'tasks/result', params }, anything, { signal })) as JsonObject
}

async function waitForResult({ client, id, context: { signal } }: FollowedTask): Promise<JsonObject> {
  const options = { signal, timeout: longestTimerMs }
  const result = await client.request({ method: 'tasks/result', params: { taskId: id } }, anything, options)
  return result as JsonObject // It was parsed from JSON.
}

async function poll(task: FollowedTask): Promise<JsonObject> {
  const { client, id, context } = task
  const { signal } = context
  const answered = new Set<string>()
  let said = ''
  for (;;) {
    const params = { taskId: id }
    // It was parsed from JSON.
    const now = (await client.request({ method: 'tasks/get', params }, anything, { signal })) as JsonObject
    const { status, statusMessage, pollIntervalMs } = now
    const ended = taskResult(now, id)
    if (ended) return ended
    if (typeof statusMessage === 'string' && statusMessage !== said) {
      said = statusMessage
      context.progress({ message: printable(statusMessage, 500) })
    }
    if (status === 'input_required') await answerRequests(task, now['inputRequests'], answered)
    else await pause(pauseMs(pollIntervalMs), undefined, { signal })
  }
}

/** Undefined: it goes on. */
function taskResult({ status, result, error }: JsonObject, id: string): JsonObject | undefined {
  if (status === 'completed') return isJsonObject(result) ? result : {}
  if (status === 'cancelled') throw new Error(`The server cancelled the task ${printable(id, 100)}.`)
  if (status === 'working' || status === 'input_required') return undefined
  const { code, message } = isJsonObject(error) ? error : {}
  throw new ProtocolError(
    typeof code === 'number' ? code : -32603,
    typeof message === 'string' ? message : `The task is in the state ${JSON.stringify(status)}.`,
  )
}

/** A request that was answered is not asked again, although the server may still list it. */
async function answerRequests(
  { client, id, answer, context: { signal } }: FollowedTask,
  requests: Json | undefined,
  answered: Set<string>,
): Promise<void> {
  const open = Object.entries(isJsonObject(requests) ? requests : {}).filter(([key]) => !answered.has(key))
  if (open.length === 0) await pause(shortestPollMs, undefined, { signal })
  const inputResponses: JsonObject = {}
  for (const [key, request] of open) {
    const { method, params } = isJsonObject(request) ? request : {}
    if (typeof method !== 'string') continue
    inputResponses[key] = await answer(method, isJsonObject(params) ? params : {})
    answered.add(key)
  }
  if (Object.keys(inputResponses).length > 0)
    await client.request({ method: 'tasks/update', params: { taskId: id, inputResponses } }, anything, {
      signal,
    })
}

function pauseMs(wanted: Json | undefined): number {
  const ms = typeof wanted === 'number' && Number.isFinite(wanted) ? wanted : 1_000
  return Math.min(longestPollMs, Math.max(shortestPollMs, ms))
}
