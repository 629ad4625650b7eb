// The content blocks of a Messages request as our parts. Blocks that only the vendor can read (thinking with its
// signature, server tools, citations) are kept as they are for a model of this vendor, and left out for any other.
import * as says from '../../apis/anthropic/wordings.ts'
import type { CallPart } from '../../language/calls.ts'
import type { InputPart, Native, Origin, ResultPart } from '../../language/content.ts'
import type { AnswerPart } from '../../language/history.ts'
import { optional } from '../../lib/json/fields.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { filePart, imagePart, type ModelTarget, originFor } from '../stateless/index.ts'
import {
  anthropicRefusal,
  flag,
  messagesTexts,
  object,
  objects,
  readTag,
  text,
  unexpectedTag,
} from './wordings.ts'

/** `message`: the path of the message that the block is in. */
export type PlacedBlock = { block: JsonObject; path: string; message: string }

const useIdRule = { pattern: /^[a-zA-Z0-9_-]+$/ }
export const toolNameRule = { pattern: /^[a-zA-Z0-9_-]{1,128}$/ }
const userTypes = ['text', 'image', 'document', 'search_result', 'container_upload', 'tool_result']
const answerTypes = ['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use']
const resultTypes = ['text', 'image', 'search_result', 'document', 'tool_reference', 'browser_state']
const hostedType =
  /^(server_tool_use|mcp_tool_use|mcp_tool_result|mcp_tool_listing|container_upload|compaction|fallback|\w+_tool_result)$/
/** The signature of a summary that was made here: the vendor would not know it. */
export const ownSummary = 'turnwire'

export class BlockDecoder {
  /** Set if the model is one of this vendor. */
  readonly origin: Origin | undefined
  readonly #target: ModelTarget
  readonly #usedIds = new Set<string>()

  constructor(target: ModelTarget) {
    this.#target = target
    this.origin = originFor(target, 'anthropic')
  }

  // ---- answers ----------------------------------------------------------------------------------------------

  answerParts({ block, path, message }: PlacedBlock): AnswerPart[] {
    const type = text(block['type'], `${path}.type`)
    switch (type) {
      case 'text':
        return [this.#answerText(block, path)]
      case 'thinking':
        return [this.#thinking(block, `${path}.thinking`)]
      case 'redacted_thinking':
        text(block['data'], `${path}.redacted_thinking.data`)
        return this.origin ? [{ type: 'thinking', text: '', ...this.#native(block) }] : []
      case 'tool_use':
        return [this.#call(block, path)]
      case 'tool_result':
        throw anthropicRefusal(says.wrongRole(message, 'tool_result', 'user'))
    }
    const said = this.summaryIn(block)
    if (said !== undefined) return [{ type: 'text', text: said }]
    if (!hostedType.test(type)) throw unexpectedTag(path, type, answerTypes)
    const { name } = block
    const tool = typeof name === 'string' ? name : type.replace(/_tool_result$/, '')
    return this.origin
      ? [{ type: 'hosted', tool, summary: type, native: { origin: this.origin, data: block } }]
      : []
  }

  /** A summary that is read here, because the model is of another vendor, or because it was made here. */
  summaryIn({ type, content, signature }: JsonObject): string | undefined {
    if (type !== 'compaction' || typeof content !== 'string' || content.trim() === '') return undefined
    return this.origin === undefined || signature === ownSummary ? content : undefined
  }

  #answerText(block: JsonObject, path: string): AnswerPart {
    const { citations } = block
    const isCited = Array.isArray(citations) && citations.length > 0
    const data: JsonObject = { ...(isCited && { citations }), ...cacheMark(block) }
    return { type: 'text', text: blockText(block, path), ...this.#ifAny(data) }
  }

  /** Its maker takes thinking back only with its signature. Without one the block carries no native form. */
  #thinking(block: JsonObject, path: string): AnswerPart {
    const thinking = text(block['thinking'], `${path}.thinking`)
    const signature = text(block['signature'], `${path}.signature`)
    return { type: 'thinking', text: thinking, ...(signature !== '' && this.#native(block)) }
  }

  #native(data: JsonObject): { native?: Native } {
    return this.origin ? { native: { origin: this.origin, data } } : {}
  }

  #ifAny(data: JsonObject): { native?: Native } {
    return Object.keys(data).length > 0 ? this.#native(data) : {}
  }

  /** The vendor's fields of a system text: its cache mark. */
  systemNative(block: JsonObject): Native | undefined {
    return this.#ifAny(cacheMark(block)).native
  }

  #call(block: JsonObject, path: string): CallPart {
    const at = `${path}.tool_use`
    const id = text(block['id'], `${at}.id`, useIdRule)
    if (this.#usedIds.has(id)) throw anthropicRefusal(says.repeatedId(path))
    this.#usedIds.add(id)
    const name = text(block['name'], `${at}.name`, toolNameRule)
    const { input, caller, toolset_name } = block
    if (input !== undefined && !isJsonObject(input))
      throw anthropicRefusal(says.inputShouldBe(`${at}.input`, 'a valid dictionary'))
    const data: JsonObject = {
      ...(isJsonObject(caller) && { caller }),
      ...(typeof toolset_name === 'string' && { toolset_name }),
      ...cacheMark(block),
    }
    return {
      type: 'call',
      id,
      name,
      form: 'json',
      text: JSON.stringify(object(input, `${at}.input`)),
      nativeId: id,
      ...this.#ifAny(data),
    }
  }

  // ---- users and results ------------------------------------------------------------------------------------

  inputPart({ block, path, message }: PlacedBlock): InputPart {
    if (block['type'] === 'tool_use') throw anthropicRefusal(says.wrongRole(message, 'tool_use', 'assistant'))
    const part = this.#vendorFile(block, path) ?? this.#content(block, path, userTypes)
    return { ...part, ...this.#ifAny({ ...cacheMark(block), ...vendorMembers(block) }) }
  }

  /** A file that the vendor has, by its id. */
  #vendorFile(block: JsonObject, path: string): InputPart | undefined {
    const found = fileIn(block, path)
    if (!found) return undefined
    if (!this.origin) throw anthropicRefusal(messagesTexts.vendorFile(found.path, this.#target.name))
    return { type: 'text', text: `[file ${text(found.id, `${found.path}.file_id`)}]` }
  }

  result({ block, path }: PlacedBlock): {
    id: string
    parts: ResultPart[]
    failed: boolean
    loads?: string[]
    native?: Native
  } {
    const at = `${path}.tool_result`
    const id = text(block['tool_use_id'], `${at}.tool_use_id`, useIdRule)
    const failed = optional(block['is_error'], `${at}.is_error`, flag) ?? false
    const parts = this.#resultParts(block['content'] ?? '', `${at}.content`)
    if (failed && parts.length === 0) throw anthropicRefusal(says.emptyFailure(at))
    const loads = failed ? [] : references(block)
    return { id, failed, parts, ...(loads.length > 0 && { loads }), ...this.#ifAny(innerMark(block)) }
  }

  #resultParts(content: Json, path: string): ResultPart[] {
    if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
    return objects(content, path, (block, at) => {
      const file = fileIn(block, at)
      if (file) throw anthropicRefusal(messagesTexts.fileInResult(file.path))
      return this.#content(block, at, resultTypes)
    })
  }

  #content(block: JsonObject, path: string, types: readonly string[]): InputPart {
    const type = text(block['type'], `${path}.type`)
    switch (type) {
      case 'text':
        return { type: 'text', text: blockText(block, path) }
      case 'image':
        return this.#image(object(block['source'], `${path}.image.source`), `${path}.image.source`)
      case 'document':
        return decodeDocument(block, `${path}.document`)
      case 'tool_reference': {
        if (!types.includes(type)) throw unexpectedTag(path, type, types)
        const name = text(block['tool_name'], `${path}.tool_reference.tool_name`, toolNameRule)
        return { type: 'text', text: `The tool "${name}" can be used now.` }
      }
      case 'browser_state':
        if (!types.includes(type)) throw unexpectedTag(path, type, types)
        return { type: 'text', text: browserText(block, `${path}.browser_state`) }
      case 'search_result':
        return { type: 'text', text: searchResultText(block, `${path}.search_result`) }
      default:
        throw unexpectedTag(path, type, types)
    }
  }

  #image(source: JsonObject, path: string): InputPart {
    if (readTag(source, path, ['base64', 'url']) === 'base64')
      return imagePart(dataUrl(source, path).url, this.#target.agent.images, refuser(`${path}.base64.data`))
    return imagePart(
      text(source['url'], `${path}.url.url`),
      this.#target.agent.images,
      refuser(`${path}.url.url`),
    )
  }
}

function cacheMark({ cache_control }: JsonObject): JsonObject {
  return isJsonObject(cache_control) ? { cache_control } : {}
}

/** The place of a file that the block gives by its id, and that id. */
function fileIn(block: JsonObject, path: string): { id: Json | undefined; path: string } | undefined {
  const { type, source, file_id } = block
  if (type === 'container_upload') return { id: file_id, path: `${path}.container_upload` }
  if ((type !== 'image' && type !== 'document') || !isJsonObject(source) || source['type'] !== 'file')
    return undefined
  return { id: source['file_id'], path: `${path}.${type}.source` }
}

/** Members of a user's block that only the vendor understands, or the whole block where nothing else says the same. */
function vendorMembers(block: JsonObject): JsonObject {
  const { type, citations, context, transformations } = block
  if (type === 'search_result' || fileIn(block, '')) return { block }
  if (type === 'image') return isJsonObject(transformations) ? { transformations } : {}
  if (type !== 'document') return {}
  return {
    ...(isJsonObject(citations) && { citations }),
    ...(typeof context === 'string' && { context }),
  }
}

/** A mark on a result, or on the last block inside it, which is the same place. */
function innerMark(result: JsonObject): JsonObject {
  const last = Array.isArray(result['content']) ? result['content'].at(-1) : undefined
  return isJsonObject(last) ? { ...cacheMark(last), ...cacheMark(result) } : cacheMark(result)
}

/** The names of the deferred tools that a result refers to. */
function references({ content }: JsonObject): string[] {
  const blocks = Array.isArray(content) ? content.filter(isJsonObject) : []
  return blocks.flatMap(({ type, tool_name }) =>
    type === 'tool_reference' && typeof tool_name === 'string' ? [tool_name] : [],
  )
}

function decodeDocument(block: JsonObject, path: string): InputPart {
  const at = `${path}.source`
  const source = object(block['source'], at)
  const title = typeof block['title'] === 'string' ? block['title'] : undefined
  switch (readTag(source, at, ['base64', 'url', 'text', 'content'])) {
    case 'base64': {
      const { url, media } = dataUrl(source, at)
      return filePart(url, media, title, refuser(`${at}.base64.data`))
    }
    case 'url': {
      const url = text(source['url'], `${at}.url.url`)
      return filePart(url, 'application/pdf', title, refuser(`${at}.url.url`))
    }
    case 'text': {
      const data = Buffer.from(text(source['data'], `${at}.text.data`)).toString('base64')
      return filePart(`data:text/plain;base64,${data}`, 'text/plain', title, refuser(`${at}.text.data`))
    }
    case 'content':
      return { type: 'text', text: innerText(source['content'], `${at}.content.content`) }
  }
}

function dataUrl(source: JsonObject, path: string): { url: string; media: string } {
  const media = text(source['media_type'], `${path}.base64.media_type`)
  return { media, url: `data:${media};base64,${text(source['data'], `${path}.base64.data`)}` }
}

function blockText(block: JsonObject, path: string): string {
  const content = text(block['text'], `${path}.text.text`)
  if (content === '') throw anthropicRefusal(says.emptyText('messages'))
  if (content.trim() === '') throw anthropicRefusal(says.blankText('messages'))
  return content
}

function innerText(content: Json | undefined, path: string): string {
  if (typeof content === 'string') return content
  return objects(content, path, blockText).join('\n')
}

function searchResultText(block: JsonObject, path: string): string {
  const title = text(block['title'], `${path}.title`)
  const source = text(block['source'], `${path}.source`)
  return `${title}\n${source}\n${innerText(block['content'], `${path}.content`)}`
}

/** The tabs of a client's browser after a call, and what has happened to them. */
function browserText({ tabs, state_changes }: JsonObject, path: string): string {
  const lines = objects(tabs, `${path}.tabs`, tab => JSON.stringify(tab))
  const changes = Array.isArray(state_changes) ? state_changes.map(change => JSON.stringify(change)) : []
  return ['Open tabs:', ...lines, ...(changes.length > 0 ? ['Changes:', ...changes] : [])].join('\n')
}

function refuser(path: string): (reason: string) => never {
  return reason => {
    throw anthropicRefusal(`${path}: ${reason}`)
  }
}
