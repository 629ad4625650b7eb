// Checks the answers of attached machines. Their owners are strangers: only messages, thoughts and calls of tools that
// the request declared pass; anything else ends the answer. The protocol's own decoder reads the rest.
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import type { TokenUsage } from '../frames.ts'

/** Events that are read. Others are ignored, as clients of this protocol do. */
const eventTypes: ReadonlySet<string> = new Set([
  'response.created',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.output_item.added',
  'response.output_item.done',
  'response.content_part.added',
  'response.content_part.done',
  'response.output_text.delta',
  'response.output_text.done',
  'response.refusal.delta',
  'response.refusal.done',
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'response.reasoning_summary_text.delta',
  'response.reasoning_summary_text.done',
  'response.reasoning_text.delta',
  'response.reasoning_text.done',
])

/** Items of one answer. */
const mostItems = 256

export class AnswerCheck {
  readonly #tools: ReadonlySet<string>

  /** `tools`: the names that the request declared. */
  constructor(tools: Iterable<string>) {
    this.#tools = new Set(tools)
  }

  /** The event as it may be read; undefined for one that says nothing. Throws for one that no honest machine sends. */
  event(event: JsonObject): JsonObject | undefined {
    const { type, item, response, output_index: index } = event
    if (typeof type !== 'string' || !eventTypes.has(type)) return undefined
    if (
      index !== undefined &&
      !(Number.isSafeInteger(index) && Number(index) >= 0 && Number(index) < mostItems)
    )
      throw new Error('An event names an item that cannot be.')
    return {
      ...event,
      ...(isJsonObject(item) && { item: this.#item(item) }),
      ...(isJsonObject(response) && { response: this.response(response) }),
    }
  }

  /** The same for a whole response. */
  response(response: JsonObject): JsonObject {
    const { output } = response
    if (output === undefined) return response
    if (!Array.isArray(output) || output.length > mostItems)
      throw new Error('The output of a response cannot be read.')
    const items = output.map(item => {
      if (!isJsonObject(item)) throw new Error('The output of a response cannot be read.')
      return this.#item(item)
    })
    return { ...response, output: items }
  }

  #item(item: JsonObject): JsonObject {
    const { type, name } = item
    if (type === 'message') return item
    if (type === 'reasoning')
      return { ...item, summary: thoughts(item['summary']), content: thoughts(item['content']) }
    if (type !== 'function_call') throw new Error('An answer holds an item that is neither text nor a call.')
    if (typeof name !== 'string' || !this.#tools.has(name))
      throw new Error('An answer calls a tool that the request did not declare.')
    return item
  }
}

/** The relay's protocol writes thoughts as one text, OpenAI's as a list of parts. */
function thoughts(value: Json | undefined): Json[] {
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'summary_text', text: value }]
  return Array.isArray(value) ? value : []
}

/**
 * The tokens that are charged: of two statements the smaller, and never more output than the request allowed. A machine
 * that says nothing is paid for nothing.
 */
export function countedTokens(
  stated: readonly (TokenUsage | undefined)[],
  mostOutput: number | undefined,
): { input: number; output: number } {
  const given = stated.filter(usage => usage !== undefined)
  if (given.length === 0) return { input: 0, output: 0 }
  const output = Math.min(...given.map(usage => usage.output_tokens), mostOutput ?? Infinity)
  return { input: Math.min(...given.map(usage => usage.input_tokens)), output }
}
