// Builds the response of a scripted turn, and streams it as partial responses: text in pieces, then each call whole in a chunk
// of its own. It also records the signatures that it issued, so that the checks can demand them back.
import type { DoubleRequest } from '../double.ts'
import { findFault } from '../faults.ts'
import { needsSignatures } from '../google/common.ts'
import {
  type DoubleAnswer,
  type DoubleFrame,
  hasMalformedCall,
  jsonFrame,
  type NeutralStop,
  rawFrames,
  readThinking,
  type ScriptedThinking,
  type ScriptedTurn,
  scriptedStop,
  scriptedValue,
  splitText,
} from '../script.ts'
import { mintId, seal } from '../seal.ts'
import { asRecord, asRecords, isRecord, type JsonRecord, tokensIn, wordList } from '../shape.ts'
import { type GeminiMemory, signedText } from './history.ts'

const FINISH_REASONS: Readonly<Record<NeutralStop, string>> = {
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
const FAILED = wordList(`
  SAFETY RECITATION LANGUAGE OTHER BLOCKLIST PROHIBITED_CONTENT SPII MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL
  TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE`)

type Finish = { reason: string; isBlocked: boolean; keepsCalls: boolean }

function chooseFinish(turn: ScriptedTurn): Finish {
  if (hasMalformedCall(turn) || findFault(turn, 'malformed-function-call')) {
    return { reason: 'MALFORMED_FUNCTION_CALL', isBlocked: false, keepsCalls: false }
  }
  if (turn.stop !== undefined && FAILED.includes(turn.stop)) {
    return { reason: turn.stop, isBlocked: false, keepsCalls: false }
  }
  const stop = scriptedStop(turn, { STOP: turn.calls?.length ? 'tool' : 'end', MAX_TOKENS: 'length' })
  return { reason: FINISH_REASONS[stop], isBlocked: stop === 'filter', keepsCalls: stop !== 'refusal' }
}

export function answerGemini(turn: ScriptedTurn, request: DoubleRequest, memory: GeminiMemory): DoubleAnswer {
  const raw = rawFrames(turn.raw)
  if (raw) return { body: raw.map(frame => JSON.parse(frame.data)), frames: raw }
  if (isRecord(turn.raw)) {
    rememberSignatures(turn.raw, memory)
    return { body: turn.raw, frames: [jsonFrame(undefined, turn.raw, 'terminal')] }
  }
  const model = request.route.params['model'] ?? ''
  const finish = chooseFinish(turn)
  const envelope = buildEnvelope(turn, request.rawText, model, memory)
  if (finish.isBlocked) {
    const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, ...envelope }
    return inRequestedForm(request, blocked, [jsonFrame(undefined, blocked, 'terminal')])
  }
  const calls = finish.keepsCalls ? callParts(turn, model, memory) : []
  const thinking = readThinking(turn)
  const thought = thinking?.text ? [{ text: thinking.text, thought: true }] : []
  const head = [...thought, ...asRecords(turn.native)]
  const text = turn.text ? [{ text: turn.text }] : []
  const isSigned = calls.length === 0 && (text.length > 0 || thinking) && needsSignatures(model)
  const signature = isSigned ? [signPart({ text: '' }, thinking)] : []
  // The text of a stream is in pieces, so that an empty part at the end has the signature.
  const onEmptyPart = text.length === 0 || !isSigned || findFault(turn, 'signature-on-empty-part')
  const tail = onEmptyPart ? [...text, ...signature] : text.map(part => signPart(part, thinking))
  const close = (parts: JsonRecord[]): JsonRecord => candidate(parts, finish)
  const body = { candidates: [close([...head, ...tail, ...calls])], ...envelope }
  const frames = streamCandidate({ parts: [...head, ...text], calls, signature, close, envelope }, turn.chunk)
  const responses = [body, ...frames.map(frame => JSON.parse(frame.data))]
  for (const response of responses) rememberSignatures(response, memory)
  return inRequestedForm(request, body, frames)
}

/** Asked to stream without `alt=sse`, the service sends the same chunks as one JSON list. */
function inRequestedForm(request: DoubleRequest, body: unknown, frames: DoubleFrame[]): DoubleAnswer {
  const isList = request.route.streaming === true && request.query.get('alt') !== 'sse'
  return { body: isList ? frames.map(frame => JSON.parse(frame.data)) : body, frames }
}

function buildEnvelope(turn: ScriptedTurn, rawText: string, model: string, memory: GeminiMemory): JsonRecord {
  const prompt = tokensIn(rawText)
  const output = Math.max(1, tokensIn(JSON.stringify([turn.text, turn.calls])))
  const thoughts = tokensIn(readThinking(turn)?.text ?? '')
  return {
    usageMetadata: {
      promptTokenCount: prompt,
      candidatesTokenCount: output,
      ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
      totalTokenCount: prompt + output + thoughts,
      ...turn.usage,
    },
    modelVersion: model,
    responseId: mintId('resp', ++memory.counter),
    ...turn.extra,
  }
}

const candidate = (parts: JsonRecord[], { reason }: Finish): JsonRecord => ({
  content: { role: 'model', ...(parts.length > 0 && { parts }) },
  finishReason: reason,
  ...(reason === 'MALFORMED_FUNCTION_CALL' && { finishMessage: 'Malformed function call' }),
  index: 0,
})

function signPart(part: JsonRecord, thinking: ScriptedThinking | undefined): JsonRecord {
  return { ...part, thoughtSignature: thinking?.signature ?? seal('thought', signedText(part)) }
}

/** Of parallel calls only the first is signed. A call that was cut never comes: calls arrive whole. */
function callParts(turn: ScriptedTurn, model: string, memory: GeminiMemory): JsonRecord[] {
  const hasIds = needsSignatures(model) && !findFault(turn, 'omit-ids')
  const calls = (turn.calls ?? []).filter(call => !call.cut)
  return calls.map((call, at) => {
    const id = call.id ?? (hasIds ? mintId('call_', ++memory.counter) : undefined)
    const args = scriptedValue(call)
    const part: JsonRecord = { functionCall: { ...(id !== undefined && { id }), name: call.name, args } }
    const minted = at === 0 && needsSignatures(model) ? seal('thought', signedText(part)) : undefined
    const thoughtSignature =
      call.signature ?? (at === 0 ? readThinking(turn)?.signature : undefined) ?? minted
    return thoughtSignature ? { ...part, thoughtSignature } : part
  })
}

function rememberSignatures(response: JsonRecord, memory: GeminiMemory): void {
  const contents = asRecords(response['candidates']).map(({ content }) => asRecord(content))
  for (const part of contents.flatMap(({ parts }) => asRecords(parts))) {
    const signature = part['thoughtSignature']
    if (typeof signature === 'string') memory.signatures.set(signature, signedText(part))
  }
}

// ---- the stream ---------------------------------------------------------------------------------------------

type StreamedCandidate = {
  parts: JsonRecord[]
  calls: JsonRecord[]
  /** The part that signs the text, if it is signed. */
  signature: JsonRecord[]
  /** The last candidate, which has the finish reason. */
  close: (parts: JsonRecord[]) => JsonRecord
  envelope: JsonRecord
}

function streamCandidate(candidate: StreamedCandidate, size: number | undefined): DoubleFrame[] {
  const { parts, calls, signature, close, envelope } = candidate
  const chunk = (one: JsonRecord, mark?: DoubleFrame['mark']): DoubleFrame =>
    jsonFrame(undefined, { candidates: [one], ...envelope }, mark)
  const partial = (part: JsonRecord, mark?: DoubleFrame['mark']): DoubleFrame =>
    chunk({ content: { role: 'model', parts: [part] }, index: 0 }, mark)
  const pieces = parts.flatMap(part =>
    typeof part['text'] === 'string'
      ? splitText(part['text'], size).map(text => ({ ...part, text }))
      : [part],
  )
  const isEmpty = pieces.length + calls.length === 0
  const tail = signature.length > 0 || isEmpty ? signature : [{ text: '' }]
  return [
    ...pieces.map(part => partial(part)),
    ...calls.map(part => partial(part, 'call-start')),
    chunk(close(tail), 'terminal'),
  ]
}
