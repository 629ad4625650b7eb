/**
 * A scripted turn as Gemini would answer it: one response, and the same as a stream of partial responses.
 * Calls come whole, each in its own chunk; there is no marker for the end but a chunk with a finish reason.
 */
import type { DoubleRequest } from '../double.ts'
import { faultOf } from '../faults.ts'
import {
  argumentsValue,
  type Frame,
  type NeutralStop,
  pieces,
  rawFrames,
  type ScriptedTurn,
  stopOf,
  thinkingOf,
} from '../script.ts'
import { mintId, seal } from '../seal.ts'
import { isRecord, type JsonRecord, recordsOf } from '../shape.ts'
import { type GeminiMemory, needsSignatures, signedText } from './history.ts'

const TO_OWN: Readonly<Record<NeutralStop, string>> = {
  end: 'STOP',
  tool: 'STOP',
  length: 'MAX_TOKENS',
  'stop-sequence': 'STOP',
  pause: 'STOP',
  refusal: 'SAFETY',
  filter: 'PROHIBITED_CONTENT',
  context: 'MAX_TOKENS',
}
/** Finish reasons that end a turn without a call that could be run. */
const FAILED = [
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'OTHER',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
]

type Finish = { reason: string; isBlocked: boolean; keepsCalls: boolean }

function finishOf(turn: ScriptedTurn): Finish {
  const isUnreadable = turn.calls?.some(call => !call.cut && argumentsValue(call) === undefined) ?? false
  if (isUnreadable || faultOf(turn, 'malformed-function-call')) {
    return { reason: 'MALFORMED_FUNCTION_CALL', isBlocked: false, keepsCalls: false }
  }
  if (turn.stop !== undefined && FAILED.includes(turn.stop)) {
    return { reason: turn.stop, isBlocked: false, keepsCalls: false }
  }
  const stop = stopOf(turn, { STOP: turn.calls?.length ? 'tool' : 'end', MAX_TOKENS: 'length' })
  return { reason: TO_OWN[stop], isBlocked: stop === 'filter', keepsCalls: stop !== 'refusal' }
}

export function respondGemini(
  turn: ScriptedTurn,
  request: DoubleRequest,
  memory: GeminiMemory,
): { body: unknown; frames: Frame[] } {
  const played = rawFrames(turn.raw)
  if (played) return { body: played.map(frame => JSON.parse(frame.data)), frames: played }
  if (isRecord(turn.raw)) {
    rememberParts(turn.raw, memory)
    return { body: turn.raw, frames: [{ data: JSON.stringify(turn.raw), mark: 'terminal' }] }
  }
  const finish = finishOf(turn)
  const envelope = envelopeFor(turn, request, memory)
  if (finish.isBlocked) {
    const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, ...envelope }
    return answer(request, blocked, [{ data: JSON.stringify(blocked), mark: 'terminal' }])
  }
  const model = request.route.params['model'] ?? ''
  const calls = finish.keepsCalls ? callParts(turn, model, memory) : []
  const head = leadingParts(turn)
  const whole = [...head, ...textParts(turn, calls.length === 0, model, false), ...calls]
  const body = { candidates: [candidate(whole, finish)], ...envelope }
  const frames = streamParts(turn, head, calls, finish, envelope, model)
  for (const part of [...whole, ...frames.flatMap(partsOf)]) rememberPart(part, memory)
  return answer(request, body, frames)
}

/** Asked to stream without `alt=sse`, the service sends the same chunks as one JSON list. */
function answer(request: DoubleRequest, body: unknown, frames: Frame[]): { body: unknown; frames: Frame[] } {
  const isList = request.route.streaming === true && request.query.get('alt') !== 'sse'
  return { body: isList ? frames.map(frame => JSON.parse(frame.data)) : body, frames }
}

function envelopeFor(turn: ScriptedTurn, request: DoubleRequest, memory: GeminiMemory): JsonRecord {
  const prompt = Math.ceil(request.rawText.length / 4)
  const output = Math.max(1, Math.ceil(JSON.stringify([turn.text, turn.calls]).length / 4))
  const thoughts = Math.ceil((thinkingOf(turn)?.text.length ?? 0) / 4)
  return {
    usageMetadata: {
      promptTokenCount: prompt,
      candidatesTokenCount: output,
      ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
      totalTokenCount: prompt + output + thoughts,
      ...turn.usage,
    },
    modelVersion: request.route.params['model'] ?? '',
    responseId: mintId('resp', ++memory.counter),
    ...turn.extra,
  }
}

const candidate = (parts: JsonRecord[], finish: Finish): JsonRecord => ({
  content: { role: 'model', ...(parts.length > 0 && { parts }) },
  finishReason: finish.reason,
  ...(finish.reason === 'MALFORMED_FUNCTION_CALL' && { finishMessage: 'Malformed function call' }),
  index: 0,
})

function leadingParts(turn: ScriptedTurn): JsonRecord[] {
  const thinking = thinkingOf(turn)
  const thought = thinking?.text ? [{ text: thinking.text, thought: true }] : []
  return [...thought, ...recordsOf(turn.native)]
}

/** An answer without calls carries its signature on the last part; streamed, or if told so, on an empty one. */
function textParts(turn: ScriptedTurn, isLast: boolean, model: string, isStream: boolean): JsonRecord[] {
  const text = turn.text ? [{ text: turn.text }] : []
  if (!isLast || !needsSignatures(model) || (!turn.text && !thinkingOf(turn))) return text
  const scripted = thinkingOf(turn)?.signature
  const sign = (part: JsonRecord): JsonRecord => ({
    ...part,
    thoughtSignature: scripted ?? seal('thought', signedText(part)),
  })
  if (isStream || faultOf(turn, 'signature-on-empty-part') || !turn.text) return [...text, sign({ text: '' })]
  return [sign({ text: turn.text })]
}

/** Of parallel calls only the first is signed. A call cut short never comes: calls arrive whole. */
function callParts(turn: ScriptedTurn, model: string, memory: GeminiMemory): JsonRecord[] {
  const hasIds = needsSignatures(model) && !faultOf(turn, 'omit-ids')
  const calls = (turn.calls ?? []).filter(call => !call.cut)
  return calls.map((call, at) => {
    const id = call.id ?? (hasIds ? mintId('call_', ++memory.counter) : undefined)
    const args = argumentsValue(call)
    const part: JsonRecord = { functionCall: { ...(id !== undefined && { id }), name: call.name, args } }
    const minted = at === 0 && needsSignatures(model) ? seal('thought', signedText(part)) : undefined
    const thoughtSignature = call.signature ?? (at === 0 ? thinkingOf(turn)?.signature : undefined) ?? minted
    return thoughtSignature ? { ...part, thoughtSignature } : part
  })
}

function streamParts(
  turn: ScriptedTurn,
  head: JsonRecord[],
  calls: JsonRecord[],
  finish: Finish,
  envelope: JsonRecord,
  model: string,
): Frame[] {
  const chunks: JsonRecord[][] = []
  for (const part of [...head, ...(turn.text ? [{ text: turn.text }] : [])]) {
    if (typeof part['text'] !== 'string') chunks.push([part])
    else for (const text of pieces(part['text'], turn.chunk)) chunks.push([{ ...part, text }])
  }
  const frames = [...chunks, ...calls.map(part => [part])].map(parts =>
    chunkFrame({ content: { role: 'model', parts }, index: 0 }, envelope, false),
  )
  for (const [at] of calls.entries()) {
    const frame = frames[chunks.length + at]
    if (frame) frame.mark = 'call-start'
  }
  const signed = textParts(turn, calls.length === 0, model, true).filter(part => 'thoughtSignature' in part)
  const tail = signed.length > 0 || chunks.length + calls.length === 0 ? signed : [{ text: '' }]
  return [...frames, chunkFrame(candidate(tail, finish), envelope, true)]
}

const chunkFrame = (one: JsonRecord, envelope: JsonRecord, isEnd: boolean): Frame => ({
  data: JSON.stringify({ candidates: [one], ...envelope }),
  ...(isEnd && { mark: 'terminal' }),
})

function partsOf(frame: Frame): JsonRecord[] {
  const chunk: unknown = JSON.parse(frame.data)
  return isRecord(chunk) ? contentParts(chunk) : []
}

const contentParts = (response: JsonRecord): JsonRecord[] =>
  recordsOf(response['candidates']).flatMap(one =>
    isRecord(one['content']) ? recordsOf(one['content']['parts']) : [],
  )

function rememberParts(response: JsonRecord, memory: GeminiMemory): void {
  for (const part of contentParts(response)) rememberPart(part, memory)
}

function rememberPart(part: JsonRecord, memory: GeminiMemory): void {
  const signature = part['thoughtSignature']
  if (typeof signature === 'string') memory.signatures.set(signature, signedText(part))
}
