// Runs one of the application's own tools, and turns its return value or error into the result that the model reads.

import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'
import { errorMessage } from '../lib/text/error-message.ts'
import type { Content, ToolCall } from './types.ts'

/** Returns text, blocks, or any JSON value. If it throws, the model is told that it failed. */
export type ClientTool = (input: JsonObject, call: ToolCall & { signal: AbortSignal }) => unknown

/** `timeoutMs`: after it the tool's signal is aborted, and the model is told. Absent: it may take any time. */
export async function runClientTool(
  tool: ClientTool,
  call: ToolCall,
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<{ content: Content; failed: boolean }> {
  const stop = new AbortController()
  const leave = (): void => stop.abort(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  const late = Promise.withResolvers<never>()
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => {
          const error = new Error(`It did not finish within ${timeoutMs} ms.`)
          stop.abort(error)
          late.reject(error)
        }, timeoutMs)
  try {
    const running = Promise.resolve(tool(call.input, { ...call, signal: stop.signal }))
    return { content: toContent(await Promise.race([running, late.promise])), failed: false }
  } catch (error) {
    return { content: `The tool failed: ${errorMessage(error)}`, failed: true }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}

function toContent(value: unknown): Content {
  if (typeof value === 'string') return value
  if (value === undefined) return '(no output)'
  // Values with the shape of the protocol's blocks are sent as blocks, any other value as JSON.
  if (Array.isArray(value) && value.length > 0 && value.every(isBlock)) return value as Content
  return JSON.stringify(value) ?? '(no output)'
}

function isBlock(value: Json): boolean {
  if (!isJsonObject(value)) return false
  const { type, text, url } = value
  return (type === 'text' && typeof text === 'string') || (type === 'image' && typeof url === 'string')
}
