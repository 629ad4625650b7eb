// Reading an answer of Gemini's generateContent: a fold over partial responses, in which the non-streaming answer is
// one whole response. Parts are kept apart where a signature stands on one of them. There is no mark for the end but
// a finish reason. Requests are made elsewhere (gemini.ts); sockets, retries and clocks are the runner's.

import type { ModelAnswer, ModelCall, ModelDelta } from '../../../engine/ports.ts'
import type { CallForm } from '../../../language/calls.ts'
import type { HostedPart, Native, TextPart, ThinkingPart } from '../../../language/content.ts'
import type { ModelStop, Usage } from '../../../language/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { elementsAt, findValue, valueText } from '../../../lib/json-places.ts'
import { printable } from '../../../lib/text.ts'
import { textUnwrapper, wrapText } from '../../common/custom-tools.ts'
import type { Failure, Frame } from '../../protocol.ts'
import {
  countOf,
  errorOf,
  interrupted,
  isTextTool,
  listOf,
  nameOf,
  objectOf,
  parsed,
  type Reading,
  refused,
  statusFailure,
  stringOf,
  words,
} from '../google/decode.ts'
import { type ArgumentsFold, argumentsFold, foldObject, foldPiece } from './partial-arguments.ts'

type Said = { kind: 'text' | 'thinking'; text: string; native?: JsonObject }
type Hosted = { kind: 'hosted'; part: JsonObject }
type Call = {
  kind: 'call'
  index: number
  wire: string
  name: string
  form: CallForm
  text: string
  cut: boolean
  /** The part as it came, less what only matters while it streams. */
  part: JsonObject
  args: Json | undefined
}

export type State = Reading & {
  built: (Said | Hosted | Call)[]
  calls: number
  /** The call whose arguments are still coming. `call` is undefined when it is not to be kept. */
  open: { call: Call | undefined; fold: ArgumentsFold } | undefined
  usage: JsonObject
  finish: { reason: string; message: string } | undefined
  blocked: string | undefined
  failure: Failure | undefined
}

export function initialState(reading: Reading): State {
  return {
    ...reading,
    built: [],
    calls: 0,
    open: undefined,
    usage: {},
    finish: undefined,
    blocked: undefined,
    failure: undefined,
  }
}

// ---- frames ------------------------------------------------------------------------------------------------

/** Without `alt=sse`, and from some gateways, the chunks come as one list. */
export function stepAnswer(state: State, frame: Frame): ModelDelta[] {
  if (state.failure) return []
  const text = frame.data.trim()
  if (text === '' || text === '[DONE]') return []
  const value = parsed(text)
  if (value === undefined) {
    state.failure = interrupted('Gemini sent a chunk that is not JSON.')
    return []
  }
  if (!Array.isArray(value)) return takeChunk(state, objectOf(value), text, 0)
  const places = elementsAt(text, 0)
  return value.flatMap(chunk => {
    const place = places.next().value ?? text.length
    return state.failure ? [] : takeChunk(state, objectOf(chunk), text, place)
  })
}

/** The chunk stands in `text` at `place`. */
function takeChunk(state: State, chunk: JsonObject, text: string, place: number): ModelDelta[] {
  const error = errorOf(chunk)
  if (error !== undefined) {
    state.failure = statusFailure(countOf(error['code']) || 500, new Headers(), { error })
    return []
  }
  if (isJsonObject(chunk['usageMetadata'])) state.usage = { ...state.usage, ...chunk['usageMetadata'] }
  const block = stringOf(objectOf(chunk['promptFeedback'])['blockReason'])
  if (block !== '') state.blocked = block
  const candidates = listOf(chunk['candidates']).map(objectOf)
  const first = candidates.findIndex(one => countOf(one['index']) === 0)
  const candidate = candidates[first]
  if (candidate === undefined) return []
  const deltas: ModelDelta[] = []
  let written: (string | undefined)[] | undefined
  for (const [index, given] of listOf(objectOf(candidate['content'])['parts']).entries()) {
    const part = objectOf(given)
    if (isJsonObject(part['functionCall']))
      written ??= writtenArguments(text, findValue(text, place, ['candidates', first, 'content', 'parts']))
    deltas.push(...takePart(state, part, written?.[index]))
  }
  const reason = stringOf(candidate['finishReason'])
  if (reason === '' || state.finish !== undefined) return deltas
  state.finish = { reason, message: stringOf(candidate['finishMessage']) }
  return [...deltas, ...cutOpen(state), ...recoverCall(state)]
}

/** The arguments of each part's call, as they stand in the text. */
function writtenArguments(text: string, parts: number): (string | undefined)[] {
  return Array.from(elementsAt(text, parts), part => {
    const at = findValue(text, part, ['functionCall', 'args'])
    return at < 0 ? undefined : valueText(text, at)
  })
}

// ---- parts -------------------------------------------------------------------------------------------------

const SIDE = new Set(['thought', 'thoughtSignature', 'partMetadata', 'videoMetadata', 'mediaResolution'])

function takePart(state: State, part: JsonObject, written: string | undefined): ModelDelta[] {
  if (isJsonObject(part['functionCall'])) return takeCall(state, part, part['functionCall'], written)
  const data = Object.keys(part).find(key => !SIDE.has(key))
  if (data === undefined || data === 'text') return takeText(state, part)
  state.built.push({ kind: 'hosted', part })
  return []
}

/** Plain neighbours are one text; a part that carries more than text stands alone, also when it is empty. */
function takeText(state: State, part: JsonObject): ModelDelta[] {
  const text = stringOf(part['text'])
  const kind = part['thought'] === true ? 'thinking' : 'text'
  const deltas: ModelDelta[] = text === '' ? [] : [{ type: kind, text }]
  if (Object.keys(part).some(key => key !== 'text' && key !== 'thought')) {
    state.built.push({ kind, text, native: { ...part, text } })
    return deltas
  }
  if (text === '') return []
  const last = state.built.at(-1)
  if (last?.kind === kind && last.native === undefined) last.text += text
  else state.built.push({ kind, text })
  return deltas
}

function takeCall(
  state: State,
  part: JsonObject,
  given: JsonObject,
  written: string | undefined,
): ModelDelta[] {
  const wire = stringOf(given['name'])
  if (state.open !== undefined && wire === '') return goOn(state, state.open, part, given)
  const deltas = cutOpen(state)
  const streams = given['willContinue'] === true || 'partialArgs' in given
  if (wire === '' && Object.keys(given).length === 0) return deltas
  const call = state.single && state.calls > 0 ? undefined : openCall(state, wire, part)
  if (call !== undefined) deltas.push({ type: 'call', index: call.index, name: call.name, form: call.form })
  if (streams) {
    state.open = { call, fold: argumentsFold() }
    return [...deltas, ...goOn(state, state.open, part, given)]
  }
  return call === undefined ? deltas : [...deltas, ...closeCall(call, given['args'], false, written)]
}

function openCall(state: State, wire: string, part: JsonObject): Call {
  const form = isTextTool(state, wire) ? 'text' : 'json'
  const index = state.calls++
  const name = nameOf(state, wire)
  const call: Call = { kind: 'call', index, wire, name, form, text: '', cut: false, part, args: undefined }
  state.built.push(call)
  return call
}

function goOn(
  state: State,
  { call, fold }: NonNullable<State['open']>,
  part: JsonObject,
  given: JsonObject,
): ModelDelta[] {
  for (const piece of listOf(given['partialArgs'])) foldPiece(fold, objectOf(piece))
  foldObject(fold, objectOf(given['args']))
  if (call !== undefined) {
    const before = objectOf(call.part['functionCall'])
    call.part = { ...call.part, ...part, functionCall: { ...before, ...given } }
  }
  if (given['willContinue'] === true) return []
  state.open = undefined
  return call === undefined ? [] : closeCall(call, fold.value, fold.broken)
}

function cutOpen(state: State): ModelDelta[] {
  const open = state.open
  state.open = undefined
  return open?.call === undefined ? [] : closeCall(open.call, open.fold.value, true)
}

/** `written`: the arguments as the vendor wrote them, where they came whole. */
function closeCall(call: Call, args: Json | undefined, cut: boolean, written?: string): ModelDelta[] {
  call.args = args ?? {}
  call.cut = cut
  call.text = (args === call.args ? written : undefined) ?? JSON.stringify(call.args)
  if (call.form === 'text') {
    const unwrapper = textUnwrapper()
    call.text = unwrapper.push(call.text) + unwrapper.end().rest
  }
  return call.text === '' ? [] : [{ type: 'arguments', index: call.index, text: call.text }]
}

/**
 * A call that the service could not read comes as a finish reason with the model's words in its message. Where they
 * name a tool, the answer has a cut call of it: it never runs, and the model is told so and can mend it.
 */
function recoverCall(state: State): ModelDelta[] {
  const { reason, message } = state.finish ?? { reason: '', message: '' }
  if (reason !== 'MALFORMED_FUNCTION_CALL' && reason !== 'UNEXPECTED_TOOL_CALL') return []
  if (state.single && state.calls > 0) return []
  const found = /default_api[.:]([A-Za-z_][\w.:-]*)\s*\(?/.exec(message) ?? offeredIn(state, message)
  const wire = found?.[1]
  if (found === undefined || wire === undefined) return []
  const call = openCall(state, wire, {})
  call.cut = true
  call.text = message.slice(found.index + found[0].length)
  const opened: ModelDelta = { type: 'call', index: call.index, name: call.name, form: call.form }
  return call.text === '' ? [opened] : [opened, { type: 'arguments', index: call.index, text: call.text }]
}

function offeredIn(state: State, message: string): RegExpExecArray | undefined {
  for (const found of message.matchAll(/([A-Za-z_][\w.:-]*)\s*\(/g))
    if (state.names.has(found[1] ?? '')) return found
  return undefined
}

// ---- the whole ---------------------------------------------------------------------------------------------

const FILTERED = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'NO_IMAGE',
  'OTHER',
])

export function haltAnswer(state: State): { answer: ModelAnswer } | { failure: Failure } {
  if (state.failure) return { failure: state.failure }
  const { finish } = state
  if (finish === undefined) {
    if (state.blocked === undefined)
      return { failure: interrupted('The stream of Gemini ended before its finish reason.') }
    return { answer: answerOf(state, 'filter', `Gemini blocked the prompt: ${state.blocked}.`) }
  }
  const failure = failureOf(state, finish)
  if (failure !== undefined) return { failure }
  const [stop, warning] = stopOf(state, finish)
  return { answer: answerOf(state, stop, warning) }
}

function failureOf(state: State, { reason, message }: NonNullable<State['finish']>): Failure | undefined {
  const said = `Gemini stopped with ${reason}${message && `: ${message}`}.`
  switch (reason) {
    case 'MALFORMED_RESPONSE':
      return interrupted(said)
    case 'MALFORMED_FUNCTION_CALL':
    case 'UNEXPECTED_TOOL_CALL':
      return state.built.some(one => one.kind === 'call' && one.cut) ? undefined : interrupted(said)
    case 'TOO_MANY_TOOL_CALLS':
    case 'MISSING_THOUGHT_SIGNATURE':
      return refused(said)
    default:
      return undefined
  }
}

function stopOf(
  state: State,
  { reason, message }: NonNullable<State['finish']>,
): [stop: Exclude<ModelStop, 'cancelled'>, warning?: string] {
  const ordinary = state.calls > 0 ? 'calls' : 'end'
  const said = `Gemini stopped with ${reason}${message && `: ${message}`}.`
  if (reason === 'STOP') return [ordinary]
  if (reason === 'MAX_TOKENS') return ['length']
  if (FILTERED.has(reason) || reason.startsWith('IMAGE_')) return ['filter', said]
  return [ordinary, said]
}

function answerOf(state: State, stop: Exclude<ModelStop, 'cancelled'>, warning?: string): ModelAnswer {
  const usage = usageOf(state.usage)
  return {
    parts: state.built.map(one => partOf(state, one, stop === 'filter')),
    stop,
    origin: state.origin,
    ...(usage && { usage }),
    ...(warning !== undefined && { warnings: [words(warning)] }),
  }
}

function partOf(
  state: State,
  one: Said | Hosted | Call,
  filtered: boolean,
): TextPart | ThinkingPart | HostedPart | ModelCall {
  const native = (data: Json): Native => ({ origin: state.origin, data })
  if (one.kind === 'hosted') return hostedOf(one.part, native(one.part))
  if (one.kind !== 'call')
    return { type: one.kind, text: one.text, ...(one.native && { native: native(one.native) }) }
  const { name, form, text } = one
  const id = stringOf(objectOf(one.part['functionCall'])['id'])
  // What a filter stopped is not to be done, however whole it looks.
  const cut = one.cut || filtered
  const block = cut ? undefined : nativeCall(one)
  return {
    type: 'call',
    name,
    form,
    text,
    ...(cut && { cut: true as const }),
    ...(id !== '' && { nativeId: id }),
    ...(block && { native: native(block) }),
  }
}

/** Arguments that can be made again from the call's text are not kept twice. */
function nativeCall(call: Call): JsonObject | undefined {
  const { args, wire } = call
  if (wire === '' || !isJsonObject(args)) return undefined
  const { args: _, partialArgs: __, willContinue: ___, id, ...named } = objectOf(call.part['functionCall'])
  const rest: JsonObject = id === undefined || id === '' ? named : { id, ...named }
  const isWrapped = call.form === 'json' || JSON.stringify(wrapText(call.text)) === JSON.stringify(args)
  return { ...call.part, functionCall: isWrapped ? rest : { ...rest, args } }
}

const hostedNames: Readonly<Record<string, string>> = {
  executableCode: 'code_execution',
  codeExecutionResult: 'code_execution_result',
  inlineData: 'media',
  fileData: 'media',
}

function hostedOf(part: JsonObject, native: Native): HostedPart {
  const kind = Object.keys(part).find(key => !SIDE.has(key)) ?? 'part'
  const data = objectOf(part[kind])
  const tool = hostedNames[kind] ?? (stringOf(data['toolType']).toLowerCase() || kind)
  const summary =
    stringOf(data['code']) ||
    stringOf(data['output']) ||
    stringOf(data['mimeType']) ||
    (kind === 'toolCall' ? JSON.stringify(data['args'] ?? {}) : tool)
  return { type: 'hosted', tool, summary: printable(summary, { maxChars: 500, multiline: true }), native }
}

function usageOf(usage: JsonObject): Usage | undefined {
  if (Object.keys(usage).length === 0) return undefined
  const count = (name: string): number => countOf(usage[name])
  const thinking = count('thoughtsTokenCount')
  const cacheRead = count('cachedContentTokenCount')
  return {
    input: count('promptTokenCount') + count('toolUsePromptTokenCount'),
    output: count('candidatesTokenCount') + thinking,
    ...(cacheRead > 0 && { cacheRead }),
    ...(thinking > 0 && { thinking }),
  }
}
