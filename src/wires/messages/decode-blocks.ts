// Content blocks of a Messages request into our parts. What only the vendor can read (thinking with its signature,
// server tools, citations) is kept byte for byte for a model of the same vendor, and left out whole for any other.
import type { Agent } from '../../engine/index.ts'
import type { CallPart } from '../../language/calls.ts'
import type { InputPart, Native, Origin, ResultPart } from '../../language/content.ts'
import type { AnswerPart } from '../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { filePart, imagePart, type Refusal } from '../stateless/index.ts'
import { flag, list, matching, object, refuse, required, text, unexpectedTag } from './refuse.ts'

/** A block, the path of its message, and its own. */
export type Placed = { block: JsonObject; message: string; place: string }

const callId = /^[a-zA-Z0-9_-]+$/
const toolName = /^[a-zA-Z0-9_-]{1,128}$/
const userTypes = ['text', 'image', 'document', 'search_result', 'tool_result']
const answerTypes = ['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use']
const resultTypes = ['text', 'image', 'search_result', 'document']
const hosted = /^(server_tool_use|mcp_tool_use|mcp_tool_result|container_upload|compaction|\w+_tool_result)$/

export class Blocks {
  /** Set when the model behind is one of this vendor's. */
  readonly origin: Origin | undefined
  readonly #images: Agent['images']
  readonly #ids = new Set<string>()

  constructor(agent: Agent, origin: Origin | undefined) {
    this.#images = agent.images
    this.origin = origin
  }

  // ---- answers ----------------------------------------------------------------------------------------------

  answer(placed: Placed): AnswerPart[] {
    const { block, message, place } = placed
    const type = text(block['type'], `${place}.type`)
    switch (type) {
      case 'text':
        return [this.#text(block, place)]
      case 'thinking':
        return [this.#thinking(block, `${place}.thinking`)]
      case 'redacted_thinking':
        return this.#redacted(block, `${place}.redacted_thinking`)
      case 'tool_use':
        return [this.#call(block, place)]
      case 'tool_result':
        return refuse(`${message}: \`tool_result\` blocks can only be in \`user\` messages`)
    }
    if (!hosted.test(type)) return unexpectedTag(place, type, answerTypes)
    return this.origin
      ? [
          {
            type: 'hosted',
            tool: hostedName(block, type),
            summary: type,
            native: { origin: this.origin, data: block },
          },
        ]
      : []
  }

  #text(block: JsonObject, place: string): AnswerPart {
    const said = spoken(block, place)
    const { citations } = block
    if (!Array.isArray(citations) || citations.length === 0 || !this.origin)
      return { type: 'text', text: said }
    return { type: 'text', text: said, native: { origin: this.origin, data: { citations } } }
  }

  /** Without its signature the block is of no use to its maker, and it is dropped whole on the way there. */
  #thinking(block: JsonObject, path: string): AnswerPart {
    const thinking = text(block['thinking'], `${path}.thinking`)
    const signature = text(block['signature'], `${path}.signature`)
    return { type: 'thinking', text: thinking, ...(signature !== '' && this.#native(block)) }
  }

  #redacted(block: JsonObject, path: string): AnswerPart[] {
    text(block['data'], `${path}.data`)
    return this.origin ? [{ type: 'thinking', text: '', ...this.#native(block) }] : []
  }

  #native(data: JsonObject): { native?: Native } {
    return this.origin ? { native: { origin: this.origin, data } } : {}
  }

  #call(block: JsonObject, place: string): CallPart {
    const path = `${place}.tool_use`
    const id = matching(block['id'], `${path}.id`, callId)
    if (this.#ids.has(id)) refuse(`${place}: \`tool_use\` ids must be unique`)
    this.#ids.add(id)
    const name = matching(block['name'], `${path}.name`, toolName)
    const { input, caller, toolset_name } = block
    if (input === undefined) required(`${path}.input`)
    if (!isJsonObject(input)) return refuse(`${path}.input: Input should be a valid dictionary`)
    const data: JsonObject = {
      ...(isJsonObject(caller) && { caller }),
      ...(typeof toolset_name === 'string' && { toolset_name }),
    }
    const native = Object.keys(data).length > 0 ? this.#native(data) : {}
    return { type: 'call', id, name, form: 'json', text: JSON.stringify(input), nativeId: id, ...native }
  }

  // ---- users and results ------------------------------------------------------------------------------------

  input({ block, message, place }: Placed): InputPart[] {
    const type = text(block['type'], `${place}.type`)
    if (type === 'tool_use') refuse(`${message}: \`tool_use\` blocks can only be in \`assistant\` messages`)
    return this.#content(block, type, place, userTypes)
  }

  result({ block, place }: Placed): { id: string; content: ResultPart[]; failed: boolean } {
    const path = `${place}.tool_result`
    const id = matching(block['tool_use_id'], `${path}.tool_use_id`, callId)
    const failed = flag(block['is_error'], `${path}.is_error`)
    const { content = '' } = block
    if (failed && (content === '' || (Array.isArray(content) && content.length === 0)))
      refuse(`${path}: content cannot be empty if \`is_error\` is true`)
    return { id, failed, content: this.#resultParts(content, path) }
  }

  #resultParts(content: Json, path: string): ResultPart[] {
    if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
    return list(content, `${path}.content`).flatMap((item, at) => {
      const place = `${path}.content.${at}`
      const part = object(item, place)
      return this.#content(part, text(part['type'], `${place}.type`), place, resultTypes)
    })
  }

  #content(block: JsonObject, type: string, place: string, types: readonly string[]): InputPart[] {
    switch (type) {
      case 'text':
        return [{ type: 'text', text: spoken(block, place) }]
      case 'image':
        return [this.#image(object(block['source'], `${place}.image.source`), `${place}.image.source`)]
      case 'document':
        return [this.#document(block, `${place}.document`)]
      case 'search_result':
        return [{ type: 'text', text: searchResult(block, `${place}.search_result`) }]
      default:
        return unexpectedTag(place, type, types)
    }
  }

  #image(source: JsonObject, path: string): InputPart {
    switch (source['type']) {
      case 'base64': {
        const media = text(source['media_type'], `${path}.base64.media_type`)
        const url = `data:${media};base64,${text(source['data'], `${path}.base64.data`)}`
        return taken(imagePart(url, this.#images), `${path}.base64.data`)
      }
      case 'url':
        return taken(imagePart(text(source['url'], `${path}.url.url`), this.#images), `${path}.url.url`)
      default:
        return unexpectedTag(path, source['type'], ['base64', 'url'])
    }
  }

  #document(block: JsonObject, path: string): InputPart {
    const source = object(block['source'], `${path}.source`)
    const at = `${path}.source`
    const title = typeof block['title'] === 'string' ? block['title'] : undefined
    switch (source['type']) {
      case 'base64': {
        const media = text(source['media_type'], `${at}.base64.media_type`)
        const url = `data:${media};base64,${text(source['data'], `${at}.base64.data`)}`
        return taken(filePart(url, media, title), `${at}.base64.data`)
      }
      case 'url':
        return taken(
          filePart(text(source['url'], `${at}.url.url`), 'application/pdf', title),
          `${at}.url.url`,
        )
      case 'text': {
        const data = Buffer.from(text(source['data'], `${at}.text.data`)).toString('base64')
        return taken(filePart(`data:text/plain;base64,${data}`, 'text/plain', title), `${at}.text.data`)
      }
      case 'content':
        return { type: 'text', text: innerText(source['content'], `${at}.content.content`) }
      default:
        return unexpectedTag(at, source['type'], ['base64', 'url', 'text', 'content'])
    }
  }
}

function taken<Part extends InputPart>(part: Part | Refusal, path: string): Part {
  return 'refused' in part ? refuse(`${path}: ${part.refused}`) : part
}

function spoken(block: JsonObject, place: string): string {
  const said = text(block['text'], `${place}.text.text`)
  if (said === '') refuse('messages: text content blocks must be non-empty')
  return said.trim() === '' ? refuse('messages: text content blocks must contain non-whitespace text') : said
}

function innerText(content: Json | undefined, path: string): string {
  if (typeof content === 'string') return content
  return list(content, path)
    .map((item, at) => spoken(object(item, `${path}.${at}`), `${path}.${at}`))
    .join('\n')
}

function searchResult(block: JsonObject, path: string): string {
  const title = text(block['title'], `${path}.title`)
  const source = text(block['source'], `${path}.source`)
  return `${title}\n${source}\n${innerText(block['content'], `${path}.content`)}`
}

function hostedName(block: JsonObject, type: string): string {
  return typeof block['name'] === 'string' ? block['name'] : type.replace(/_tool_result$/, '')
}
