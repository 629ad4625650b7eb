// Reading an answer of generateContent: a fold over partial responses, in which a non-streaming answer is one response.
// Parts stay apart where one of them has a signature. The only mark of the end is a finish reason.

import type { ModelAnswer, ModelDelta } from '../../../engine/ports/index.ts'
import type { HostedPart, Native } from '../../../language/content.ts'
import type { Usage, VendorAnswer } from '../../../language/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { elementsAt, findValue, valueText } from '../../../lib/json/places.ts'
import { printable } from '../../../lib/text/index.ts'
import {
  type AnswerStop,
  type ModelPart,
  usageOfCounts,
  vendorAnswer,
  wholeAnswer,
  wholeCall,
} from '../../common/answer.ts'
import { failureText, passingFailure } from '../../common/failure.ts'
import { asCount, asList, asObject, asString, isEmptyObject, readJson } from '../../common/json-read.ts'
import { wrapText } from '../../common/text-tools.ts'
import type { Frame, Halted, ModelFailure } from '../../protocol.ts'
import { type CalledTool, callArguments, calledTool, type GoogleReading } from '../google/decode.ts'
import { googleError } from '../google/failure.ts'
import { finishFailure, streamFailure } from './failure.ts'
import {
  addPartialArgument,
  addWholeArguments,
  type PartialArguments,
  partialArguments,
} from './partial-arguments.ts'

export type Reading = GoogleReading

export type State = Reading & {
  pieces: (TextPiece | HostedPiece | CallPiece)[]
  calls: number
  /** The call whose arguments are still coming. `call` is undefined when it is dropped. */
  open: { call: CallPiece | undefined; partial: PartialArguments } | undefined
  vendor: VendorAnswer | undefined
  usage: JsonObject
  finish: Finish | undefined
  /** Why the prompt was blocked. */
  blocked: string | undefined
  failure: ModelFailure | undefined
}

type Finish = { reason: string; message: string }

type TextPiece = { kind: 'text' | 'thinking'; text: string; native?: JsonObject }
type HostedPiece = { kind: 'hosted'; part: JsonObject }
type CallPiece = CalledTool & {
  kind: 'call'
  index: number
  text: string
  cut: boolean
  /** The part as it came. */
  part: JsonObject
  args: Json | undefined
}

export function initial(reading: Reading): State {
  return {
    ...reading,
    pieces: [],
    calls: 0,
    open: undefined,
    vendor: undefined,
    usage: {},
    finish: undefined,
    blocked: undefined,
    failure: undefined,
  }
}

// ---- events ----------------------------------------------------------------------------------------------

/** Without `alt=sse`, and from some gateways, the chunks come as one list. */
export function step(state: State, frame: Frame): ModelDelta[] {
  if (state.failure) return []
  const text = frame.data.trim()
  if (text === '' || text === '[DONE]') return []
  const value = readJson(text)
  if (value === undefined) {
    state.failure = passingFailure('Gemini sent a chunk that is not JSON.')
    return []
  }
  if (!Array.isArray(value)) return takeChunk(state, asObject(value), text, 0)
  const offsets = elementsAt(text, 0)
  return value.flatMap(chunk => {
    const offset = offsets.next().value ?? text.length
    return state.failure ? [] : takeChunk(state, asObject(chunk), text, offset)
  })
}

/** The chunk is in `text` at `offset`. */
function takeChunk(state: State, chunk: JsonObject, text: string, offset: number): ModelDelta[] {
  const error = googleError(chunk)
  if (error !== undefined) {
    state.failure = streamFailure(error)
    return []
  }
  state.vendor ??= vendorAnswer(chunk['responseId'], chunk['modelVersion'])
  if (isJsonObject(chunk['usageMetadata'])) state.usage = { ...state.usage, ...chunk['usageMetadata'] }
  const blocked = asString(asObject(chunk['promptFeedback'])['blockReason'])
  if (blocked !== '') state.blocked = blocked
  const candidates = asList(chunk['candidates']).map(asObject)
  const first = candidates.findIndex(one => asCount(one['index']) === 0)
  const candidate = candidates[first]
  if (candidate === undefined) return []
  const deltas: ModelDelta[] = []
  let written: (string | undefined)[] | undefined
  for (const [index, given] of asList(asObject(candidate['content'])['parts']).entries()) {
    const part = asObject(given)
    if (isJsonObject(part['functionCall']))
      written ??= writtenArguments(text, findValue(text, offset, ['candidates', first, 'content', 'parts']))
    deltas.push(...takePart(state, part, written?.[index]))
  }
  const reason = asString(candidate['finishReason'])
  if (reason === '' || state.finish !== undefined) return deltas
  state.finish = { reason, message: asString(candidate['finishMessage']) }
  return [...deltas, ...cutOpenCall(state), ...recoverCall(state, state.finish)]
}

/** The arguments of each part's call, as they are written in the text. */
function writtenArguments(text: string, parts: number): (string | undefined)[] {
  return Array.from(elementsAt(text, parts), part => {
    const at = findValue(text, part, ['functionCall', 'args'])
    return at < 0 ? undefined : valueText(text, at)
  })
}

// ---- parts -----------------------------------------------------------------------------------------------

/** Fields that may stand beside the content of a part. */
const SIDE_FIELDS: ReadonlySet<string> = new Set([
  'thought',
  'thoughtSignature',
  'partMetadata',
  'videoMetadata',
  'mediaResolution',
])

function contentField(part: JsonObject): string | undefined {
  return Object.keys(part).find(key => !SIDE_FIELDS.has(key))
}

function takePart(state: State, part: JsonObject, written: string | undefined): ModelDelta[] {
  if (isJsonObject(part['functionCall'])) return takeCall(state, part, part['functionCall'], written)
  const field = contentField(part)
  if (field === undefined || field === 'text') return takeText(state, part)
  state.pieces.push({ kind: 'hosted', part })
  return []
}

/** Plain neighbours become one text. A part with more than text stays alone, even if its text is empty. */
function takeText(state: State, part: JsonObject): ModelDelta[] {
  const text = asString(part['text'])
  const kind = part['thought'] === true ? 'thinking' : 'text'
  const deltas: ModelDelta[] = text === '' ? [] : [{ type: kind, text }]
  if (Object.keys(part).some(key => key !== 'text' && key !== 'thought')) {
    state.pieces.push({ kind, text, native: { ...part, text } })
    return deltas
  }
  if (text === '') return []
  const last = state.pieces.at(-1)
  if (last?.kind === kind && last.native === undefined) last.text += text
  else state.pieces.push({ kind, text })
  return deltas
}

function takeCall(
  state: State,
  part: JsonObject,
  given: JsonObject,
  written: string | undefined,
): ModelDelta[] {
  const wire = asString(given['name'])
  if (state.open !== undefined && wire === '') return continueCall(state, state.open, part, given)
  const deltas = cutOpenCall(state)
  if (wire === '' && isEmptyObject(given)) return deltas
  const call = state.single && state.calls > 0 ? undefined : openCall(state, wire, part)
  if (call !== undefined) deltas.push({ type: 'call', index: call.index, name: call.name, form: call.form })
  if (given['willContinue'] === true || 'partialArgs' in given) {
    state.open = { call, partial: partialArguments() }
    return [...deltas, ...continueCall(state, state.open, part, given)]
  }
  return call === undefined ? deltas : [...deltas, ...closeCall(call, given['args'], false, written)]
}

function openCall(state: State, wire: string, part: JsonObject): CallPiece {
  const index = state.calls++
  const tool = calledTool(state, wire)
  const call: CallPiece = { ...tool, kind: 'call', index, text: '', cut: false, part, args: undefined }
  state.pieces.push(call)
  return call
}

function continueCall(
  state: State,
  { call, partial }: NonNullable<State['open']>,
  part: JsonObject,
  given: JsonObject,
): ModelDelta[] {
  for (const piece of asList(given['partialArgs'])) addPartialArgument(partial, asObject(piece))
  addWholeArguments(partial, asObject(given['args']))
  if (call !== undefined) {
    const before = asObject(call.part['functionCall'])
    call.part = { ...call.part, ...part, functionCall: { ...before, ...given } }
  }
  if (given['willContinue'] === true) return []
  state.open = undefined
  return call === undefined ? [] : closeCall(call, partial.value, partial.broken)
}

function cutOpenCall(state: State): ModelDelta[] {
  const { open } = state
  state.open = undefined
  return open?.call === undefined ? [] : closeCall(open.call, open.partial.value, true)
}

/** `written`: the arguments as the vendor wrote them, if they came whole. */
function closeCall(call: CallPiece, args: Json | undefined, cut: boolean, written?: string): ModelDelta[] {
  const value = args ?? {}
  const json = callArguments(call)
  json.push((value === args ? written : undefined) ?? JSON.stringify(value))
  json.end()
  call.args = value
  call.cut = cut
  return showArguments(call, json.text)
}

function showArguments(call: CallPiece, text: string): ModelDelta[] {
  call.text = text
  return text === '' ? [] : [{ type: 'arguments', index: call.index, text }]
}

/**
 * A call that the service could not read comes as a finish reason, with the model's text in its message. If that names
 * a tool, the answer gets a cut call of it: it never runs, and the model is told so and can correct it.
 */
function recoverCall(state: State, { reason, message }: Finish): ModelDelta[] {
  if (reason !== 'MALFORMED_FUNCTION_CALL' && reason !== 'UNEXPECTED_TOOL_CALL') return []
  if (state.single && state.calls > 0) return []
  const found = /default_api[.:]([A-Za-z_][\w.:-]*)\s*\(?/.exec(message) ?? offeredToolIn(state, message)
  const wire = found?.[1]
  if (found === undefined || wire === undefined) return []
  const call = openCall(state, wire, {})
  call.cut = true
  return [
    { type: 'call', index: call.index, name: call.name, form: call.form },
    ...showArguments(call, message.slice(found.index + found[0].length)),
  ]
}

function offeredToolIn(state: State, message: string): RegExpExecArray | undefined {
  for (const found of message.matchAll(/([A-Za-z_][\w.:-]*)\s*\(/g))
    if (state.names.has(found[1] ?? '')) return found
  return undefined
}

// ---- the answer ------------------------------------------------------------------------------------------

const FILTERED: ReadonlySet<string> = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'NO_IMAGE',
  'OTHER',
])

/** Searches and code in the vendor's own container may be repeated; calls of an MCP server may not. */
export function hasRun({ pieces }: State): boolean {
  return pieces.some(
    piece => piece.kind === 'hosted' && /mcp/i.test(asString(asObject(piece.part['toolCall'])['toolType'])),
  )
}

export function halt(state: State): Halted {
  if (state.failure) return { failure: state.failure }
  const { finish } = state
  if (finish === undefined) {
    if (state.blocked === undefined)
      return { failure: passingFailure('The stream of Gemini ended before its finish reason.') }
    return { answer: filledAnswer(state, 'filter', `Gemini blocked the prompt: ${state.blocked}.`) }
  }
  const { reason, message } = finish
  const text = `Gemini stopped with ${reason}${message && `: ${message}`}.`
  const hasCutCall = state.pieces.some(piece => piece.kind === 'call' && piece.cut)
  const failed = finishFailure(reason, text, hasCutCall)
  if (failed !== undefined) return { failure: failed }
  const [stop, isKnown] = readStop(state, reason)
  return { answer: filledAnswer(state, stop, isKnown ? undefined : text) }
}

/** `isKnown`: the reason needs no warning. */
function readStop(state: State, reason: string): [stop: AnswerStop, isKnown: boolean] {
  if (reason === 'MAX_TOKENS') return ['length', true]
  if (FILTERED.has(reason) || reason.startsWith('IMAGE_')) return ['filter', false]
  return [state.calls > 0 ? 'calls' : 'end', reason === 'STOP']
}

function filledAnswer(state: State, stop: AnswerStop, warning?: string): ModelAnswer {
  return wholeAnswer({
    parts: state.pieces.map(piece => toModelPart(state, piece, stop === 'filter')),
    stop,
    origin: state.origin,
    usage: readUsage(state.usage),
    warnings: warning === undefined ? [] : [failureText(warning)],
    vendor: state.vendor,
  })
}

function readUsage(usage: JsonObject): Usage | undefined {
  if (isEmptyObject(usage)) return undefined
  const thinking = asCount(usage['thoughtsTokenCount'])
  return usageOfCounts({
    input: asCount(usage['promptTokenCount']) + asCount(usage['toolUsePromptTokenCount']),
    output: asCount(usage['candidatesTokenCount']) + thinking,
    cacheRead: asCount(usage['cachedContentTokenCount']),
    thinking,
  })
}

function toModelPart({ origin }: State, piece: State['pieces'][number], isFiltered: boolean): ModelPart {
  const native = (data: Json): Native => ({ origin, data })
  if (piece.kind === 'hosted') return hostedPart(piece.part, native(piece.part))
  if (piece.kind !== 'call')
    return { type: piece.kind, text: piece.text, ...(piece.native && { native: native(piece.native) }) }
  const id = asString(asObject(piece.part['functionCall'])['id'])
  // A call in a filtered answer must not run, however whole it looks.
  const cut = piece.cut || isFiltered
  const part = cut ? undefined : nativeCallPart(piece)
  return wholeCall(piece, cut, id, part && native(part))
}

/** Arguments that can be made again from the call's text are left out. */
function nativeCallPart({ args, wire, part, form, text, typed }: CallPiece): JsonObject | undefined {
  if (wire === '' || !isJsonObject(args)) return undefined
  const { args: _, partialArgs: __, willContinue: ___, id, ...named } = asObject(part['functionCall'])
  const call: JsonObject = id === undefined || id === '' ? named : { id, ...named }
  const isRedundant =
    typed === undefined && (form === 'json' || JSON.stringify(wrapText(text)) === JSON.stringify(args))
  return { ...part, functionCall: isRedundant ? call : { ...call, args } }
}

const HOSTED_TOOLS: Readonly<Record<string, string>> = {
  executableCode: 'code_execution',
  codeExecutionResult: 'code_execution_result',
  inlineData: 'media',
  fileData: 'media',
}

function hostedPart(part: JsonObject, native: Native): HostedPart {
  const field = contentField(part) ?? 'part'
  const data = asObject(part[field])
  const tool = HOSTED_TOOLS[field] ?? (asString(data['toolType']).toLowerCase() || field)
  const summary =
    asString(data['code']) ||
    asString(data['output']) ||
    asString(data['mimeType']) ||
    (field === 'toolCall' ? JSON.stringify(data['args'] ?? {}) : tool)
  return { type: 'hosted', tool, summary: printable(summary, { maxChars: 500, multiline: true }), native }
}
