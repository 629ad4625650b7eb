// One tools/call, from its request to its output: progress, cancellation, questions in between, tasks. An error of the protocol
// and a failure of the tool are two things: the first is thrown, the second is a result.
import {
  type Client,
  LOG_LEVEL_META_KEY,
  type ProgressCallback,
  ProtocolError,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import { ProtocolFailure, type Tool, type ToolContext, type ToolOutput } from '../../engine/ports/index.ts'
import { longestTimerMs } from '../../lib/async/abort.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'
import { answerRequest, type RunningCalls } from './from-server.ts'
import type { McpOptions } from './index.ts'
import { perMinute } from './pace.ts'
import { toToolOutput } from './result.ts'
import { followTask, speaksModern, taskIn } from './task.ts'
import { withAddressesOpened } from './url-questions.ts'

export type SentCall = {
  client: Client
  calls: RunningCalls
  server: string
  /** The tool's name on the server. */
  raw: string
  /** It must be called as a task, in the revision of 2025-11-25. */
  asTask: boolean
  tool: Tool
  input: Json
  context: ToolContext
  options: McpOptions
  /** Of the server. */
  url: string
  /** The state of the call on the server, kept across connections: the task that it became, and its payment. */
  started: { task?: string; payment?: JsonObject }
}

const headerMismatch = -32020
/** Of progress, in a minute. */
const mostUpdates = 600

/** The server declared other header parameters than we know: its tools are listed again. Nothing was run. */
export function isHeaderMismatch(error: unknown): boolean {
  return error instanceof ProtocolFailure && error.code === headerMismatch
}

export async function sendCall(call: SentCall): Promise<ToolOutput> {
  const { calls, context, server } = call
  try {
    const send = () => withAddressesOpened(() => begin(call), call)
    return toToolOutput(await calls.run(context, async () => afterPayment(await send(), call, send)))
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

const paymentKey = 'x402/payment'
const receiptKey = 'x402/payment-response'

/** A call that the server wants money for is sent again with a payment, if someone pays. A call is paid for once. */
async function afterPayment(
  result: JsonObject,
  { started, url, options: { pay } }: SentCall,
  send: () => Promise<JsonObject>,
): Promise<JsonObject> {
  const { isError, structuredContent: required } = result
  const isAsked = isError === true && isJsonObject(required) && Array.isArray(required['accepts'])
  if (!isAsked || required['x402Version'] === undefined || !pay || started.payment) return result
  const { payment, settled } = await pay.pay(required, url)
  started.payment = payment as JsonObject // It is sent as JSON.
  const answer = await send()
  const { _meta } = answer
  if (isJsonObject(_meta) && _meta[receiptKey] !== undefined) settled(_meta[receiptKey])
  return answer
}

/** Sends the request, or follows the task that it became before its connection was lost. */
async function begin(call: SentCall): Promise<JsonObject> {
  const { client, started, context, server, calls, options } = call
  if (started.task === undefined) {
    const result = await request(call)
    const task = taskIn(result)
    if (task === undefined) return result
    started.task = task
    await context.refer(task)
  }
  return followTask({
    client,
    id: started.task,
    context,
    answer: (method, params) =>
      answerRequest(method, params, { server, options, calls, context, signal: context.signal }),
  })
}

async function request(call: SentCall): Promise<JsonObject> {
  const { client, raw, asTask, tool, input, context } = call
  const { signal } = context
  const isLegacy = !speaksModern(client)
  const { payment } = call.started
  const _meta = {
    ...context.trace,
    ...(!isLegacy && wantedLog(call)),
    ...(payment && { [paymentKey]: payment }),
  }
  const params = {
    name: raw,
    arguments: isJsonObject(input) ? input : {},
    ...(Object.keys(_meta).length > 0 && { _meta }),
  }
  // The engine's own deadline ends the call. It stands still while a person is asked.
  const timeout = longestTimerMs
  const isShown = perMinute(mostUpdates)
  const onprogress: ProgressCallback = ({ progress, total, message }) => {
    if (!isShown()) return
    context.progress({
      done: progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message: message.slice(0, 2_000).toWellFormed() }),
    })
  }
  if (asTask && isLegacy) {
    const wanted = { method: 'tools/call', params: { ...params, task: {} } }
    return (await client.request(wanted, z.looseObject({}), { signal, timeout, onprogress })) as JsonObject
  }
  const result = await client.callTool(params, {
    signal,
    timeout,
    // Without the output schema, because the gate checks results itself, within its limits.
    toolDefinition: {
      name: raw,
      inputSchema: { ...(tool.input.form === 'json' && tool.input.schema), type: 'object' },
    },
    onprogress,
  })
  return result as JsonObject // it was parsed from JSON
}

/** A server of 2026-07-28 sends its log with a call only if that call asks for it. An older one was told when it was connected. */
function wantedLog({ client, options: { logLevel } }: SentCall): JsonObject {
  const isServed = client.getServerCapabilities()?.logging !== undefined
  return logLevel !== undefined && isServed ? { [LOG_LEVEL_META_KEY]: logLevel } : {}
}
