// The events of an answer in the form of the relay's protocol: the types that it has and no others, without numbers, and
// with the call's id in the events about its arguments. A whole response is what the last event holds.
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { asString } from '../../models/common/json-read.ts'
import { type TokenUsage, usageIn } from '../frames.ts'

const fieldsOf: Readonly<Record<string, readonly string[]>> = {
  'response.created': ['response'],
  'response.in_progress': ['response'],
  'response.completed': ['response'],
  'response.incomplete': ['response'],
  'response.failed': ['response'],
  'response.output_item.added': ['output_index', 'item'],
  'response.output_item.done': ['output_index', 'item'],
  'response.content_part.added': ['item_id', 'output_index', 'content_index', 'part'],
  'response.content_part.done': ['item_id', 'output_index', 'content_index', 'part'],
  'response.output_text.delta': ['item_id', 'output_index', 'content_index', 'delta'],
  'response.output_text.done': ['item_id', 'output_index', 'content_index', 'text'],
  'response.function_call_arguments.delta': ['item_id', 'output_index', 'delta'],
  'response.function_call_arguments.done': ['item_id', 'output_index', 'arguments'],
}

const terminal: ReadonlySet<Json | undefined> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
])

export class RelayEvents {
  /** Undefined until the answer is whole. */
  response: JsonObject | undefined
  /** By the id of their items. */
  readonly #calls = new Map<string, { call_id: string; name: string }>()

  get usage(): TokenUsage {
    return usageIn(this.response) ?? { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
  }

  /** Undefined: the protocol has no such event. */
  take(event: JsonObject): JsonObject | undefined {
    const { type } = event
    const fields = typeof type === 'string' && Object.hasOwn(fieldsOf, type) ? fieldsOf[type] : undefined
    if (!fields || type === undefined) return undefined
    const taken: JsonObject = { type }
    for (const name of fields) if (event[name] !== undefined) taken[name] = event[name]
    if (isJsonObject(taken['item'])) taken['item'] = this.#item(taken['item'])
    if (isJsonObject(taken['part'])) taken['part'] = part(taken['part'])
    if (isJsonObject(taken['response'])) taken['response'] = this.#response(taken['response'])
    if (type === 'response.function_call_arguments.delta' || type === 'response.function_call_arguments.done')
      Object.assign(taken, this.#findCall(event, type))
    if (terminal.has(type) && isJsonObject(taken['response'])) this.response = taken['response']
    return taken
  }

  #findCall({ item_id }: JsonObject, type: string): JsonObject {
    const call = this.#calls.get(asString(item_id)) ?? { call_id: '', name: '' }
    return type.endsWith('.done') ? call : { call_id: call.call_id }
  }

  #response(response: JsonObject): JsonObject {
    const { id, created_at, status, model, output, error } = response
    const items = Array.isArray(output) ? output.filter(isJsonObject).map(item => this.#item(item)) : []
    const usage = usageIn(response)
    return {
      id: id ?? '',
      object: 'response',
      created_at: created_at ?? 0,
      status: status ?? 'in_progress',
      model: model ?? 'default',
      output: items,
      usage: usage ?? { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
      ...(isJsonObject(error) && { error: { code: error['code'] ?? '', message: error['message'] ?? '' } }),
    }
  }

  #item(item: JsonObject): JsonObject {
    const { type, id = '', status } = item
    const state =
      status === undefined ? {} : { status: status === 'in_progress' ? 'in_progress' : 'completed' }
    if (type === 'function_call') {
      const { call_id = id, name = '', arguments: text = '' } = item
      this.#calls.set(asString(id), { call_id: asString(call_id), name: asString(name) })
      return { type, id, call_id, name, arguments: text, ...state }
    }
    if (type === 'reasoning') {
      const [content, summary] = [outputText(item['content']), outputText(item['summary'])]
      return { type, id, ...(content !== '' && { content }), ...(summary !== '' && { summary }) }
    }
    if (type !== 'message') throw new Error('The answer holds an item that cannot be relayed.')
    const parts = Array.isArray(item['content']) ? item['content'].filter(isJsonObject).map(part) : []
    return { type, id, role: 'assistant', content: parts, ...state }
  }
}

/** A refusal is said as text. */
function part({ text, refusal }: JsonObject): JsonObject {
  return { type: 'output_text', text: text ?? refusal ?? '' }
}

function outputText(parts: Json | undefined): string {
  if (typeof parts === 'string') return parts
  if (!Array.isArray(parts)) return ''
  return parts
    .map(each => (isJsonObject(each) && typeof each['text'] === 'string' ? each['text'] : ''))
    .join('\n\n')
}
