// The messages of a Chat Completions request as our history. Results must follow their calls directly, one for each, as
// the vendor demands. Reasoning that a compatible server wants back is kept for it.
import * as says from '../../apis/openai/chat-wordings.ts'
import { missingParameter, parameterRefusal, wrongParameterType } from '../../apis/openai/refusal.ts'
import type { CallPart } from '../../language/calls.ts'
import type { InputPart, Origin } from '../../language/content.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import { isAbsent, optional } from '../../lib/json/fields.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { filePart, HistoryBuilder, imagePart, type ModelTarget, originFor } from '../stateless/index.ts'
import { chatRefusals, object, objects, oneOf, text } from './wordings.ts'

const callIdRule = { min: 1, max: 40 }
export const chatNameRule = { min: 1, max: 64, pattern: /^[a-zA-Z0-9_-]+$/ }
const mostCalls = 128
const roles = ['system', 'developer', 'user', 'assistant', 'tool'] as const

/** The calls of the last message: our ids by the client's, and the client's ids that have no result yet. */
type ChatCalls = { at: number; ids: Map<string, string>; waiting: Set<string> }

export function decodeChatMessages(messages: Json | undefined, target: ModelTarget): Entry[] {
  return new ChatHistory(target).decode(messages)
}

class ChatHistory {
  readonly #images: ModelTarget['agent']['images']
  readonly #origin: Origin | undefined
  readonly #history = new HistoryBuilder()
  /** A client's id may come again in a later message; ours may not. */
  readonly #usedIds = new Set<string>()
  #open: ChatCalls | undefined

  constructor(target: ModelTarget) {
    this.#images = target.agent.images
    this.#origin = originFor(target, 'openai-chat')
  }

  decode(messages: Json | undefined): Entry[] {
    objects(messages, 'messages', (message, path, at) => this.#message(message, path, at), { min: 1 })
    this.#refuseUnanswered()
    return this.#history.done()
  }

  #message(message: JsonObject, path: string, at: number): void {
    const role = oneOf(message['role'], `${path}.role`, roles)
    if (role !== 'tool') this.#refuseUnanswered()
    if (role === 'tool') this.#result(message, path, at)
    else if (role === 'user') this.#history.user(this.#input(message['content'], `${path}.content`))
    else if (role === 'assistant') this.#assistant(message, path, at)
    else this.#history.system(plainText(message['content'], `${path}.content`))
  }

  // ---- users ------------------------------------------------------------------------------------------------

  #input(content: Json | undefined, path: string): InputPart[] {
    if (typeof content === 'string') return [{ type: 'text', text: content }]
    return contentParts(content, path, (part, at) => this.#part(part, at))
  }

  #part(part: JsonObject, path: string): InputPart {
    if (part['type'] === 'input_audio')
      throw chatRefusals.invalid(`${path}.type`, ': audio is not taken here.')
    switch (oneOf(part['type'], `${path}.type`, ['text', 'image_url', 'file'])) {
      case 'text':
        return { type: 'text', text: text(part['text'], `${path}.text`) }
      case 'image_url': {
        const at = `${path}.image_url.url`
        const url = text(object(part['image_url'], `${path}.image_url`)['url'], at)
        return imagePart(url, this.#images, refuser(at))
      }
      case 'file':
        return decodeFile(object(part['file'], `${path}.file`), `${path}.file`)
    }
  }

  // ---- assistants -------------------------------------------------------------------------------------------

  #assistant(message: JsonObject, path: string, at: number): void {
    const open: ChatCalls = { at, ids: new Map(), waiting: new Set() }
    const calls = optional(message['tool_calls'], `${path}.tool_calls`, (value, where) =>
      objects(value, where, (call, each) => this.#call(call, each, open), { min: 1, max: mostCalls }),
    )
    const content = optional(message['content'], `${path}.content`, (value, where) =>
      plainText(value, where, ['text', 'refusal']),
    )
    const refusal = optional(message['refusal'], `${path}.refusal`, text)
    if ((content ?? refusal ?? calls) === undefined) throw parameterRefusal(says.emptyAnswer(at))
    const parts: AnswerPart[] = this.#reasoning(message)
    const said = content || refusal
    if (said) parts.push({ type: 'text', text: said })
    this.#history.assistant([...parts, ...(calls ?? [])], this.#origin)
    this.#open = calls && open
  }

  /** Not a field of the vendor's own. Servers that give reasoning this way want it back this way. */
  #reasoning(message: JsonObject): AnswerPart[] {
    const { reasoning_content: content, reasoning_details: details } = message
    const thinking = typeof content === 'string' ? content : ''
    if (thinking === '' && !Array.isArray(details)) return []
    const origin = this.#origin
    const data: JsonObject = {
      ...(thinking !== '' && { reasoning_content: thinking }),
      ...(Array.isArray(details) && { reasoning_details: details }),
    }
    return [{ type: 'thinking', text: thinking, ...(origin && { native: { origin, data } }) }]
  }

  #call(call: JsonObject, path: string, open: ChatCalls): CallPart {
    const type = oneOf(call['type'] ?? 'function', `${path}.type`, ['function', 'custom'])
    const nativeId = text(call['id'], `${path}.id`, callIdRule)
    if (open.ids.has(nativeId))
      throw chatRefusals.invalid(`${path}.id`, `: '${nativeId}' is the id of another call of this message.`)
    const inner = object(call[type], `${path}.${type}`)
    const field = type === 'function' ? 'arguments' : 'input'
    const id = this.#unusedId(nativeId)
    open.ids.set(nativeId, id)
    open.waiting.add(nativeId)
    return {
      type: 'call',
      id,
      name: text(inner['name'], `${path}.${type}.name`, chatNameRule),
      form: type === 'function' ? 'json' : 'text',
      text: text(inner[field], `${path}.${type}.${field}`),
      nativeId,
    }
  }

  #unusedId(nativeId: string): string {
    let id = nativeId
    for (let number = 2; this.#usedIds.has(id); number++) id = `${nativeId}_${number}`
    this.#usedIds.add(id)
    return id
  }

  // ---- results ----------------------------------------------------------------------------------------------

  #result(message: JsonObject, path: string, at: number): void {
    if (message['tool_call_id'] === undefined) throw parameterRefusal(says.noCallId(at))
    const nativeId = text(message['tool_call_id'], `${path}.tool_call_id`, callIdRule)
    const content = plainText(message['content'], `${path}.content`)
    const open = this.#open
    if (!open) throw parameterRefusal(says.noCallsBefore(at))
    const id = open.ids.get(nativeId)
    if (id === undefined) throw parameterRefusal(says.unknownCallId(at, nativeId))
    if (!open.waiting.delete(nativeId)) throw parameterRefusal(says.secondResult(at, nativeId))
    this.#history.result(id, [{ type: 'text', text: content }], false)
  }

  #refuseUnanswered(): void {
    const open = this.#open
    this.#open = undefined
    if (open && open.waiting.size > 0) throw parameterRefusal(says.unanswered(open.at, open.waiting))
  }
}

function contentParts<T>(
  content: Json | undefined,
  path: string,
  read: (part: JsonObject, path: string) => T,
): T[] {
  if (content === undefined) throw missingParameter(path)
  if (!Array.isArray(content)) throw wrongParameterType(path, 'one of a string or array of objects', content)
  return objects(content, path, read, { min: 1 })
}

/** Text, or parts that are text. */
function plainText(content: Json | undefined, path: string, types: readonly string[] = ['text']): string {
  if (typeof content === 'string') return content
  const texts = contentParts(content, path, (part, at) => {
    const type = oneOf(part['type'], `${at}.type`, types)
    return text(part[type], `${at}.${type}`)
  })
  return texts.join('\n')
}

function decodeFile(file: JsonObject, path: string): InputPart {
  if (isAbsent(file['file_data']))
    throw chatRefusals.invalid(
      path,
      `: files are not kept here. Send the file itself as '${path}.file_data'.`,
    )
  const data = text(file['file_data'], `${path}.file_data`)
  const name = optional(file['filename'], `${path}.filename`, text)
  const mediaType = /^data:([^;,]+)/i.exec(data.slice(0, 200))?.[1] ?? 'application/octet-stream'
  return filePart(data, mediaType, name, refuser(`${path}.file_data`))
}

function refuser(path: string): (reason: string) => never {
  return reason => {
    throw chatRefusals.invalid(path, `. ${reason}`)
  }
}
