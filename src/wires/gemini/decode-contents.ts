// The contents of a generateContent request as our history. A content with calls must be followed by one with as many
// responses, which are paired by id, or else by name and order. Parts with a thought signature are kept as they are for a
// model of this vendor; for any other the signature is dropped.
import * as says from '../../apis/gemini/wordings.ts'
import type { CallPart } from '../../language/calls.ts'
import type { InputPart, Native, Origin, ResultPart } from '../../language/content.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import { excerpt, optional } from '../../lib/json/fields.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { filePart, HistoryBuilder, imagePart, type ModelTarget, originFor } from '../stateless/index.ts'
import {
  geminiRefusal,
  geminiTexts,
  invalidValue,
  members,
  object,
  objects,
  struct,
  text,
} from './wordings.ts'

type Images = ModelTarget['agent']['images']

/** `kind`: the one member that holds the data. */
type ContentPart = { part: JsonObject; kind: string; path: string }
type RoleContent = { role: 'user' | 'model'; parts: ContentPart[] }

export function decodeContents(value: Json | undefined, target: ModelTarget): Entry[] {
  const contents = objects(value ?? [], 'contents', readContent)
  if (contents.length === 0) throw geminiRefusal(says.noContents)
  checkOrder(contents)
  const history = new HistoryBuilder()
  const origin = originFor(target, 'gemini')
  for (const [index, { role, parts }] of contents.entries()) {
    if (role === 'user') addUserContent(parts, history, target.agent.images)
    else
      history.assistant(
        parts.flatMap((part, place) => decodeAnswerPart(part, `call_${index}_${place}`, origin)),
        origin,
      )
  }
  return history.done()
}

function readContent(content: JsonObject, at: string): RoleContent {
  const role = content['role'] ?? 'user'
  if (role !== 'user' && role !== 'model') throw geminiRefusal(says.unknownRole)
  const path = `${at}.parts`
  const parts = objects(content['parts'] ?? [], path, readPart)
  if (parts.length === 0) throw geminiRefusal(says.noParts(path))
  return { role, parts }
}

function readPart(given: JsonObject, path: string): ContentPart {
  const part = members(given, path)
  const [kind, second] = Object.keys(part).filter(name => says.dataFields.includes(name))
  if (second !== undefined) throw geminiRefusal(says.twoKinds(path, second))
  if (kind !== undefined) return { part, kind, path }
  // A part may have a signature and nothing else.
  if (typeof part['thoughtSignature'] === 'string') return { part: { ...part, text: '' }, kind: 'text', path }
  throw geminiRefusal(says.noData(path))
}

function checkOrder(contents: readonly RoleContent[]): void {
  const countParts = (content: RoleContent | undefined, kind: string): number =>
    content?.parts.filter(part => part.kind === kind).length ?? 0
  for (const [index, content] of contents.entries()) {
    const before = contents[index - 1]
    const calls = countParts(content, 'functionCall')
    const responses = countParts(content, 'functionResponse')
    const open = before?.role === 'model' ? countParts(before, 'functionCall') : 0
    if (calls > 0 && (content.role !== 'model' || before?.role !== 'user'))
      throw geminiRefusal(says.misplacedCall)
    if (responses > 0 && (open === 0 || content.role !== 'user')) throw geminiRefusal(says.misplacedResponse)
    if (open !== responses || (calls > 0 && index === contents.length - 1))
      throw geminiRefusal(says.unequalCounts)
  }
}

// ---- answers ------------------------------------------------------------------------------------------------

function decodeAnswerPart(
  { part, kind, path }: ContentPart,
  id: string,
  origin: Origin | undefined,
): AnswerPart[] {
  const native = (data: JsonObject): { native?: Native } => (origin ? { native: { origin, data } } : {})
  if (kind === 'functionCall') {
    const { call, nativeId } = decodeCall(part, `${path}.function_call`)
    const functionCall = { ...(nativeId !== undefined && { id: nativeId }), name: call.name }
    return [{ ...call, id, ...(nativeId && { nativeId }), ...native({ ...part, functionCall }) }]
  }
  if (kind !== 'text')
    return origin ? [{ type: 'hosted', tool: kind, summary: kind, native: { origin, data: part } }] : []
  const content = text(part['text'], `${path}.text`)
  const type = part['thought'] === true ? 'thinking' : 'text'
  const signed = part['thoughtSignature'] === undefined ? {} : native(part)
  return content === '' && !signed.native ? [] : [{ type, text: content, ...signed }]
}

function decodeCall(
  part: JsonObject,
  path: string,
): { call: Omit<CallPart, 'id'>; nativeId: string | undefined } {
  const given = object(part['functionCall'], path)
  const { name, id } = readName(given, path)
  const args = struct(given['args'] ?? {}, `${path}.args`)
  return { call: { type: 'call', name, form: 'json', text: JSON.stringify(args) }, nativeId: id }
}

function readName(given: JsonObject, path: string): { name: string; id: string | undefined } {
  const name = optional(given['name'], `${path}.name`, text) ?? ''
  if (name === '') throw geminiRefusal(says.emptyName(path))
  return { name, id: optional(given['id'], `${path}.id`, text) }
}

// ---- users and responses ------------------------------------------------------------------------------------

function addUserContent(parts: readonly ContentPart[], history: HistoryBuilder, images: Images): void {
  const input: InputPart[] = []
  for (const content of parts) {
    const { part, kind, path } = content
    if (kind === 'functionResponse') addResponse(content, history, images)
    else if (kind === 'text') input.push({ type: 'text', text: text(part['text'], `${path}.text`) })
    else if (kind === 'inlineData' || kind === 'fileData') input.push(decodeMedia(content, images))
    else throw geminiRefusal(geminiTexts.modelPart(path, kind))
  }
  if (input.length > 0) history.user(input)
}

function addResponse({ part, path }: ContentPart, history: HistoryBuilder, images: Images): void {
  const at = `${path}.function_response`
  const given = object(part['functionResponse'], at)
  const { name, id } = readName(given, at)
  const call = findCall(history.open, name, id, at)
  const value = struct(given['response'], `${at}.response`)
  const media = objects(given['parts'] ?? [], `${at}.parts`, readPart).map(each => decodeMedia(each, images))
  // `error` and `output` have a meaning. Without either the whole object is the output.
  const { output, error } = value
  const failed = error !== undefined && error !== null && output === undefined
  history.result(call.id, [...responseText(failed ? error : (output ?? value)), ...media], failed)
}

function responseText(value: Json): ResultPart[] {
  const content = typeof value === 'string' ? value : JSON.stringify(value)
  return content === '' ? [] : [{ type: 'text', text: content }]
}

function findCall(open: readonly CallPart[], name: string, id: string | undefined, path: string): CallPart {
  const call = open.find(each => (id ? each.nativeId === id : each.name === name))
  if (!call)
    throw geminiRefusal(id ? says.unknownId(path, `"${excerpt(id)}"`) : geminiTexts.unknownName(path, name))
  if (call.name !== name) throw geminiRefusal(says.otherName(path))
  return call
}

function decodeMedia({ part, kind, path }: ContentPart, images: Images): InputPart {
  if (kind !== 'inlineData' && kind !== 'fileData') throw invalidValue(path, 'inline_data or file_data', part)
  const data = members(part[kind], `${path}.${kind}`)
  const mediaType = text(data['mimeType'], `${path}.${kind}.mime_type`)
  const url =
    kind === 'inlineData'
      ? `data:${mediaType};base64,${standardBase64(text(data['data'], `${path}.inline_data.data`))}`
      : text(data['fileUri'], `${path}.file_data.file_uri`)
  const refuse = (reason: string): never => {
    throw geminiRefusal(geminiTexts.badMedia(`${path}.${kind}`, reason))
  }
  return mediaType.startsWith('image/')
    ? imagePart(url, images, refuse)
    : filePart(url, mediaType, undefined, refuse)
}

/** Protobuf's JSON takes both alphabets of base64. */
function standardBase64(data: string): string {
  return data.replaceAll('-', '+').replaceAll('_', '/')
}
