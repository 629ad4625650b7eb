// Rules of Gemini about single contents: roles, and parts with their one data field, calls, responses and pictures.
// `history.ts` checks how contents follow one another.
import { googlePictureProblem, INVALID_NAME, isGoogleName } from '../google/signatures.ts'
import type { Rejections } from '../script.ts'
import { asRecord, asRecords, asString, isRecord, type JsonRecord, wordList } from '../shape.ts'
import { field, geminiError, invalidValue, unknownFields } from './refusals.ts'

export const DATA_FIELDS = wordList(`
  text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse`)
const SIDE_FIELDS = wordList('thought thoughtSignature videoMetadata partMetadata mediaResolution')
const CALL_FIELDS = wordList('id name args partialArgs willContinue')
const RESPONSE_FIELDS = wordList('id name response parts scheduling willContinue')

/** One content, or several model contents that are one step. `index` is that of the first. */
export type GeminiContent = {
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

export function* checkGeminiContent({ index, role, parts }: GeminiContent): Rejections {
  const path = `contents[${index}]`
  if (role !== 'user' && role !== 'model') yield geminiError('G-14', 'Please use a valid role: user, model.')
  if (parts.length === 0) {
    yield geminiError('G-14', `GenerateContentRequest.${path}.parts: contents.parts must not be empty.`)
  }
  for (const [at, part] of parts.entries()) yield* checkPart(part, `${path}.parts[${at}]`)
}

function* checkPart(part: JsonRecord, path: string): Rejections {
  yield* unknownFields(part, [...DATA_FIELDS, ...SIDE_FIELDS], path, 'G-14')
  const set = DATA_FIELDS.filter(name => field(part, name) !== undefined)
  if (set.length === 0) {
    const text = `GenerateContentRequest.${path}.data: required oneof field 'data' must have one initialized field`
    yield geminiError('G-14', text)
  } else if (set.length > 1) {
    const text = `Invalid value at '${path}' (oneof), oneof field 'data' is already set. Cannot set '${set[1]}'`
    yield geminiError('G-14', text)
  }
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
  if (!name) yield geminiError('G-03', `GenerateContentRequest.${path}.name: Name cannot be empty.`)
  else if (!isGoogleName(asString(name))) {
    yield geminiError('G-08', `GenerateContentRequest.${path}.name: ${INVALID_NAME}`)
  }
}

function* checkStruct(value: unknown, path: string): Rejections {
  if (isRecord(value)) return
  yield invalidValue('G-03', path, 'type.googleapis.com/google.protobuf.Struct', value)
}

/** The picture of a part, and those of a response in it. */
function* checkPictures(part: JsonRecord): Rejections {
  const data = field(part, 'inlineData')
  const problem = isRecord(data) ? googlePictureProblem(field(data, 'mimeType'), data['data']) : null
  if (problem !== null) yield geminiError('G-IMG', problem)
  for (const inside of asRecords(asRecord(field(part, 'functionResponse'))['parts']))
    yield* checkPictures(inside)
}
