// Rules of Gemini about how contents follow one another: calls, their responses, and thought signatures.
// A turn starts at the last user content that is more than function responses. Each model content in it is a step.
import * as says from '../../../apis/gemini/wordings.ts'
import { DUMMY_SIGNATURES, needsSignatures } from '../google/signatures.ts'
import type { Check, Rejections } from '../script.ts'
import { judgeSignature } from '../seal.ts'
import { asRecords, asString, isRecord, type JsonRecord } from '../shape.ts'
import type { GeminiMemory } from './memory.ts'
import { checkGeminiContent, type GeminiContent, readContent } from './messages.ts'
import { field, geminiError } from './refusals.ts'

export type GeminiCheck = Check<GeminiMemory> & { model: string; isVertex: boolean }

export function* checkContents(check: GeminiCheck): Rejections {
  const given = check.body['contents']
  if (!Array.isArray(given) || given.length === 0) return yield geminiError('G-14', says.noContents)
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
  if (step.calls.length > 0 && before?.role !== 'user') yield geminiError('G-02', says.misplacedCall)
  if (step.responses.length > 0 && waiting === 0) yield geminiError('G-02', says.misplacedResponse)
  else if (waiting !== step.responses.length) yield geminiError('G-01', says.unequalCounts)
  if (isLast && step.calls.length > 0) yield geminiError('G-01', says.unequalCounts)
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
    if (call === undefined) yield geminiError('G-03', says.unknownId(path, JSON.stringify(id) ?? 'no id'))
    else if (field(call, 'name') !== field(response, 'name')) yield geminiError('G-03', says.otherName(path))
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
    yield geminiError('G-04', text)
  }
}

function* checkSignatures({ index, parts }: GeminiContent, check: GeminiCheck): Rejections {
  const { memory, mode, isVertex } = check
  for (const [at, part] of parts.entries()) {
    const signature = field(part, 'thoughtSignature')
    if (signature === undefined || DUMMY_SIGNATURES.includes(asString(signature))) continue
    if (typeof signature !== 'string' || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(signature)) {
      const text = `Invalid value at 'contents[${index}].parts[${at}].thought_signature' (TYPE_BYTES), Base64 decoding failed for ${JSON.stringify(signature)}`
      yield geminiError('G-05', text)
      continue
    }
    const verdict = judgeSignature('thought', signature, signedText(part), memory)
    if (verdict === 'valid' || (verdict === 'altered' && mode === 'lenient')) continue
    const vertexText = 'Unable to submit request because Thought signature is not valid'
    yield geminiError('G-05', isVertex ? vertexText : 'Corrupted thought signature.')
  }
}

/** The text that a signature is bound to: the data of its part, whatever the order of keys. */
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
