// The messages of a Chat Completions request into our history. Calls and their answers are paired as the vendor demands
// it: directly after one another, each call once. Reasoning that a compatible server wants back is kept for it.
import type { CallPart } from '../../language/calls.ts'
import type { InputPart } from '../../language/content.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import { filePart, HistoryBuilder, imagePart, originFor, type Target } from '../stateless/index.ts'
import { absent, list, missing, object, refuse, text, unsupported, wrongType } from './refuse.ts'

const callId = { max: 40 }
const name = { max: 64, pattern: /^[a-zA-Z0-9_-]+$/ }
const mostCalls = 128
const roles = ['system', 'developer', 'user', 'assistant', 'tool'] as const

type Open = { at: number; ids: Map<string, string>; waiting: Set<string> }

export function decodeMessages(messages: readonly Json[], target: Target): Entry[] {
  return new Decoder(target).decode(messages)
}

class Decoder {
  readonly #target: Target
  readonly #history: HistoryBuilder
  /** Ids may come again in a later message: ours may not. */
  readonly #used = new Set<string>()
  #open: Open | undefined

  constructor(target: Target) {
    this.#target = target
    this.#history = new HistoryBuilder(target.agent)
  }

  decode(messages: readonly Json[]): Entry[] {
    for (const [at, item] of messages.entries()) {
      const path = `messages[${at}]`
      const message = object(item, path)
      if (message['role'] === 'tool') this.#result(message, at)
      else {
        this.#refuseUnanswered()
        this.#message(message, at, path)
      }
    }
    this.#refuseUnanswered()
    return this.#history.done()
  }

  #message(message: JsonObject, at: number, path: string): void {
    const { role } = message
    if (role === undefined) missing(`${path}.role`)
    if (role === 'system' || role === 'developer')
      this.#history.system(words(message['content'], `${path}.content`))
    else if (role === 'user') this.#history.user(this.#input(message['content'], `${path}.content`))
    else if (role === 'assistant') this.#assistant(message, at, path)
    else unsupported(`${path}.role`, role, roles)
  }

  // ---- users ------------------------------------------------------------------------------------------------

  #input(content: Json | undefined, path: string): InputPart[] {
    if (content === undefined) return missing(path)
    if (typeof content === 'string') return [{ type: 'text', text: content }]
    if (!Array.isArray(content)) return wrongType(path, 'one of a string or array of objects', content)
    return list(content, path).map((item, index) =>
      this.#part(object(item, `${path}[${index}]`), `${path}[${index}]`),
    )
  }

  #part(part: JsonObject, path: string): InputPart {
    switch (part['type']) {
      case 'text':
        return { type: 'text', text: text(part['text'], `${path}.text`) }
      case 'image_url': {
        const at = `${path}.image_url.url`
        const image = imagePart(
          text(object(part['image_url'], `${path}.image_url`)['url'], at),
          this.#target.agent.images,
        )
        return 'refused' in image ? refuse(`Invalid '${at}'. ${image.refused}`, at, 'invalid_value') : image
      }
      case 'file':
        return decodeFile(object(part['file'], `${path}.file`), `${path}.file`)
      case 'input_audio':
        return refuse(`Invalid '${path}.type': audio is not taken here.`, `${path}.type`, 'invalid_value')
      default:
        return unsupported(`${path}.type`, part['type'], ['text', 'image_url', 'file'])
    }
  }

  // ---- assistants -------------------------------------------------------------------------------------------

  #assistant(message: JsonObject, at: number, path: string): void {
    const calls = absent(message['tool_calls'])
      ? []
      : list(message['tool_calls'], `${path}.tool_calls`, mostCalls)
    const said = absent(message['content'])
      ? ''
      : words(message['content'], `${path}.content`, ['text', 'refusal'])
    const refusal = absent(message['refusal']) ? '' : text(message['refusal'], `${path}.refusal`)
    if (absent(message['content']) && absent(message['refusal']) && calls.length === 0)
      refuse(`Invalid value for 'content': expected a string, got null.`, `messages.[${at}].content`)
    const open: Open = { at, ids: new Map(), waiting: new Set() }
    const parts: AnswerPart[] = [
      ...this.#reasoning(message),
      ...(said + refusal === '' ? [] : [{ type: 'text' as const, text: said === '' ? refusal : said }]),
      ...calls.map((call, index) =>
        this.#call(object(call, `${path}.tool_calls[${index}]`), `${path}.tool_calls[${index}]`, open),
      ),
    ]
    this.#history.assistant(parts, originFor(this.#target.model, 'openai-chat'))
    this.#open = calls.length > 0 ? open : undefined
  }

  /** No field of the vendor's own; servers that show it this way want it back this way. */
  #reasoning(message: JsonObject): AnswerPart[] {
    const { reasoning_content: said, reasoning_details: details } = message
    const thinking = typeof said === 'string' ? said : ''
    if (thinking === '' && !Array.isArray(details)) return []
    const origin = originFor(this.#target.model, 'openai-chat')
    const data: JsonObject = {
      ...(thinking !== '' && { reasoning_content: thinking }),
      ...(Array.isArray(details) && { reasoning_details: details }),
    }
    return [{ type: 'thinking', text: thinking, ...(origin && { native: { origin, data } }) }]
  }

  #call(call: JsonObject, path: string, open: Open): CallPart {
    const type = call['type'] ?? 'function'
    if (type !== 'function' && type !== 'custom')
      return unsupported(`${path}.type`, type, ['function', 'custom'])
    const nativeId = text(call['id'], `${path}.id`, callId)
    if (open.ids.has(nativeId))
      refuse(
        `Invalid '${path}.id': '${nativeId}' is the id of another call of this message.`,
        `${path}.id`,
        'invalid_value',
      )
    const inner = object(call[type], `${path}.${type}`)
    const field = type === 'function' ? 'arguments' : 'input'
    const id = this.#free(nativeId)
    open.ids.set(nativeId, id)
    open.waiting.add(nativeId)
    return {
      type: 'call',
      id,
      name: text(inner['name'], `${path}.${type}.name`, name),
      form: type === 'function' ? 'json' : 'text',
      text: text(inner[field], `${path}.${type}.${field}`),
      nativeId,
    }
  }

  #free(nativeId: string): string {
    let id = nativeId
    for (let turn = 2; this.#used.has(id); turn++) id = `${nativeId}_${turn}`
    this.#used.add(id)
    return id
  }

  // ---- results ----------------------------------------------------------------------------------------------

  #result(message: JsonObject, at: number): void {
    const path = `messages[${at}]`
    const open = this.#open
    if (message['tool_call_id'] === undefined)
      refuse(
        "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
        `messages.[${at}].tool_call_id`,
      )
    const nativeId = text(message['tool_call_id'], `${path}.tool_call_id`, callId)
    const content = words(message['content'], `${path}.content`)
    if (!open)
      refuse(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        `messages.[${at}].role`,
      )
    const id = open.ids.get(nativeId)
    if (id === undefined)
      refuse(
        `Invalid parameter: 'tool_call_id' of '${nativeId}' not found in 'tool_calls' of previous message.`,
        `messages.[${at}].tool_call_id`,
      )
    if (!open.waiting.delete(nativeId))
      refuse(
        `Duplicate value for 'tool_call_id' of '${nativeId}' in message[${at}].`,
        `messages.[${at}].tool_call_id`,
      )
    this.#history.result(id, [{ type: 'text', text: content }], false)
  }

  #refuseUnanswered(): void {
    const open = this.#open
    this.#open = undefined
    if (!open || open.waiting.size === 0) return
    refuse(
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open.waiting].join(', ')}`,
      `messages.[${open.at}].role`,
    )
  }
}

/** Text, or parts that are text. */
function words(content: Json | undefined, path: string, types: readonly string[] = ['text']): string {
  if (content === undefined) return missing(path)
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return wrongType(path, 'one of a string or array of objects', content)
  return list(content, path)
    .map((item, index) => {
      const part = object(item, `${path}[${index}]`)
      const { type } = part
      if (typeof type !== 'string' || !types.includes(type))
        return unsupported(`${path}[${index}].type`, type, types)
      return text(part[type], `${path}[${index}].${type}`)
    })
    .join('\n')
}

function decodeFile(file: JsonObject, path: string): InputPart {
  if (absent(file['file_data']))
    return refuse(
      `Invalid '${path}': files are not kept here. Send the file itself as '${path}.file_data'.`,
      path,
      'invalid_value',
    )
  const data = text(file['file_data'], `${path}.file_data`)
  const called = absent(file['filename']) ? undefined : text(file['filename'], `${path}.filename`)
  const mediaType = /^data:([^;,]+)/i.exec(data.slice(0, 200))?.[1] ?? 'application/octet-stream'
  const part = filePart(data, mediaType, called)
  return 'refused' in part
    ? refuse(`Invalid '${path}.file_data'. ${part.refused}`, `${path}.file_data`, 'invalid_value')
    : part
}
