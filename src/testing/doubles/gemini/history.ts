// Rules of Gemini about contents, each by itself and as they follow one another: calls, their responses, thought signatures.
// A turn starts at the last user content that is more than function responses. Each model content in it is a step.

import * as says from '../../../apis/gemini/wordings.ts'
import type { MemoryOptions } from '../double.ts'
import { DUMMY_SIGNATURES, googlePictureProblem, isGoogleName, needsSignatures } from '../google/common.ts'
import type { Check, Rejections } from '../script.ts'
import { judgeSignature } from '../seal.ts'
import { asRecord, asRecords, asString, isRecord, type JsonRecord, wordList } from '../shape.ts'
import { field, invalidValue, refuse, unknownFields } from './refusals.ts'

export type GeminiMemory = ReturnType<typeof newGeminiMemory>

export const newGeminiMemory = ({ trustForeign = false }: MemoryOptions = {}) => ({
  counter: 0,
  trustForeign,
  /** Signature → the content of the part it was issued with, see `signedText`. */
  signatures: new Map<string, string>(),
})

// ---- single contents ----------------------------------------------------------------------------------------

const SIDE_FIELDS = wordList('thought thoughtSignature videoMetadata partMetadata mediaResolution')
const CALL_FIELDS = wordList('id name args partialArgs willContinue')
const RESPONSE_FIELDS = wordList('id name response parts scheduling willContinue')

/** One content, or several model contents that are one step. `index` is that of the first. */
type GeminiContent = {
  index: number
  role: string
  parts: JsonRecord[]
  calls: JsonRecord[]
  responses: JsonRecord[]
}

export function readContent(content: JsonRecord, index: number): GeminiContent {
  const parts = asRecords(content['parts'])
  const having = (name: string): JsonRecord[] => parts.filter(part => field(part, name) !== undefined)
  const role = content['role'] === undefined ? 'user' : asString(content['role'])
  return { index, role, parts, calls: having('functionCall'), responses: having('functionResponse') }
}

function* checkGeminiContent({ index, role, parts }: GeminiContent): Rejections {
  const path = `contents[${index}]`
  if (role !== 'user' && role !== 'model') yield refuse('G-14', says.unknownRole)
  if (parts.length === 0) yield refuse('G-14', says.noParts(`${path}.parts`))
  for (const [at, part] of parts.entries()) yield* checkPart(part, `${path}.parts[${at}]`)
}

function* checkPart(part: JsonRecord, path: string): Rejections {
  yield* unknownFields(part, [...says.dataFields, ...SIDE_FIELDS], path, 'G-14')
  const [first, second] = says.dataFields.filter(name => field(part, name) !== undefined)
  if (first === undefined) yield refuse('G-14', says.noData(path))
  else if (second !== undefined) yield refuse('G-14', says.twoKinds(path, second))
  const call = field(part, 'functionCall')
  if (isRecord(call)) {
    const place = `${path}.function_call`
    yield* unknownFields(call, CALL_FIELDS, place)
    if (call['args'] !== undefined) yield* checkStruct(call['args'], `${place}.args`)
    yield* checkPartName(call, place)
  }
  const response = field(part, 'functionResponse')
  if (isRecord(response)) {
    const place = `${path}.function_response`
    yield* unknownFields(response, RESPONSE_FIELDS, place)
    yield* checkPartName(response, place)
    yield* checkStruct(response['response'], `${place}.response`)
  }
  yield* checkPictures(part)
}

function* checkPartName({ name }: JsonRecord, path: string): Rejections {
  if (!name) yield refuse('G-03', says.emptyName(path))
  else if (!isGoogleName(asString(name))) {
    yield refuse('G-08', `GenerateContentRequest.${path}.name: ${says.invalidName(64)}`)
  }
}

function* checkStruct(value: unknown, path: string): Rejections {
  if (isRecord(value)) return
  yield invalidValue('G-03', path, says.structType, value)
}

/** The picture of a part, and those of a response in it. */
function* checkPictures(part: JsonRecord): Rejections {
  const data = field(part, 'inlineData')
  const problem = isRecord(data) ? googlePictureProblem(field(data, 'mimeType'), data['data']) : null
  if (problem !== null) yield refuse('G-IMG', problem)
  for (const inside of asRecords(asRecord(field(part, 'functionResponse'))['parts']))
    yield* checkPictures(inside)
}

// ---- how contents follow one another ------------------------------------------------------------------------

type GeminiCheck = Check<GeminiMemory> & { model: string; isVertex: boolean }

export function* checkContents(check: GeminiCheck): Rejections {
  const given = check.body['contents']
  if (!Array.isArray(given) || given.length === 0) return yield refuse('G-14', says.noContents)
  const contents = asRecords(given).map(readContent)
  const steps = joinModelContents(contents)
  for (const content of contents) yield* checkGeminiContent(content)
  for (const [at, step] of steps.entries()) yield* checkOrder(step, steps[at - 1], at === steps.length - 1)
  if (check.mode === 'strict') {
    for (const [at, step] of steps.entries()) yield* checkResponses(step, steps[at - 1])
    if (needsSignatures(check.model)) yield* checkSignaturesPresent(steps, check.isVertex)
  }
  for (const content of contents) yield* checkSignatures(content, check)
}

/** Neighbouring model contents are one step: the vendor's own SDK keeps each chunk of a stream as a content. */
function joinModelContents(contents: readonly GeminiContent[]): GeminiContent[] {
  const steps: GeminiContent[] = []
  for (const content of contents) {
    const last = steps.at(-1)
    if (last?.role !== 'model' || content.role !== 'model') {
      steps.push(content)
      continue
    }
    const parts = [...last.parts, ...content.parts]
    const calls = [...last.calls, ...content.calls]
    steps[steps.length - 1] = { ...last, parts, calls, responses: [...last.responses, ...content.responses] }
  }
  return steps
}

function* checkOrder(step: GeminiContent, before: GeminiContent | undefined, isLast: boolean): Rejections {
  const waiting = before?.calls.length ?? 0
  if (step.calls.length > 0 && before?.role !== 'user') yield refuse('G-02', says.misplacedCall)
  if (step.responses.length > 0 && waiting === 0) yield refuse('G-02', says.misplacedResponse)
  else if (waiting !== step.responses.length) yield refuse('G-01', says.unequalCounts)
  if (isLast && step.calls.length > 0) yield refuse('G-01', says.unequalCounts)
}

/** Where calls have ids, each response names one of them, once. Without ids, order and name must agree. */
function* checkResponses(step: GeminiContent, before: GeminiContent | undefined): Rejections {
  const open = (before?.calls ?? []).map(part => field(part, 'functionCall'))
  if (step.responses.length !== open.length) return
  for (const [at, part] of step.responses.entries()) {
    const response = field(part, 'functionResponse')
    const id = field(response, 'id')
    const index = open.findIndex(call => field(call, 'id') === id)
    const path = `contents[${step.index}].parts[${at}].function_response`
    const [call] = index < 0 ? [] : open.splice(index, 1)
    if (call === undefined) yield refuse('G-03', says.unknownId(path, JSON.stringify(id) ?? 'no id'))
    else if (field(call, 'name') !== field(response, 'name')) yield refuse('G-03', says.otherName(path))
  }
}

/** The first call of each step of the current turn has a signature. */
function* checkSignaturesPresent(steps: GeminiContent[], isVertex: boolean): Rejections {
  const isPrompt = ({ role, parts }: GeminiContent): boolean =>
    role === 'user' && parts.some(part => field(part, 'functionResponse') === undefined)
  for (const { calls, index } of steps.slice(steps.findLastIndex(isPrompt) + 1)) {
    const [first] = calls
    if (first === undefined || field(first, 'thoughtSignature') !== undefined) continue
    const name = asString(field(field(first, 'functionCall'), 'name'))
    const position = index + 1
    const text = isVertex
      ? `Unable to submit request because function call \`${name}\` in the ${position}. content block is missing a thought_signature. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures`
      : `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`
    yield refuse('G-04', text)
  }
}

function* checkSignatures({ index, parts }: GeminiContent, check: GeminiCheck): Rejections {
  const { memory, mode, isVertex } = check
  for (const [at, part] of parts.entries()) {
    const signature = field(part, 'thoughtSignature')
    if (signature === undefined || DUMMY_SIGNATURES.includes(asString(signature))) continue
    if (typeof signature !== 'string' || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(signature)) {
      const text = `Invalid value at 'contents[${index}].parts[${at}].thought_signature' (TYPE_BYTES), Base64 decoding failed for ${JSON.stringify(signature)}`
      yield refuse('G-05', text)
      continue
    }
    const verdict = judgeSignature('thought', signature, signedText(part), memory)
    if (verdict === 'valid' || (verdict === 'altered' && mode === 'lenient')) continue
    const vertexText = 'Unable to submit request because Thought signature is not valid'
    yield refuse('G-05', isVertex ? vertexText : 'Corrupted thought signature.')
  }
}

/** The text that a signature is bound to: the data of its part, in any order of keys. */
export function signedText(part: JsonRecord): string {
  const call = field(part, 'functionCall')
  if (call !== undefined) return `call:${canonicalJson([field(call, 'name'), field(call, 'args') ?? {}])}`
  const text = field(part, 'text')
  if (text !== undefined) return `text:${asString(text)}`
  const data = says.dataFields.find(name => field(part, name) !== undefined)
  return `${data}:${data ? canonicalJson(field(part, data)) : ''}`
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    isRecord(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
  )
}
