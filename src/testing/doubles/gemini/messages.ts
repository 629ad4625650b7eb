// Rules of Gemini about single contents: roles, and parts with their one data field, calls, responses and pictures.
// `history.ts` checks how contents follow one another.
import * as says from '../../../apis/gemini/wordings.ts'
import { googlePictureProblem, isGoogleName } from '../google/signatures.ts'
import type { Rejections } from '../script.ts'
import { asRecord, asRecords, asString, isRecord, type JsonRecord, wordList } from '../shape.ts'
import { field, geminiError, invalidValue, unknownFields } from './refusals.ts'

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
  if (role !== 'user' && role !== 'model') yield geminiError('G-14', says.unknownRole)
  if (parts.length === 0) yield geminiError('G-14', says.noParts(`${path}.parts`))
  for (const [at, part] of parts.entries()) yield* checkPart(part, `${path}.parts[${at}]`)
}

function* checkPart(part: JsonRecord, path: string): Rejections {
  yield* unknownFields(part, [...says.dataFields, ...SIDE_FIELDS], path, 'G-14')
  const [first, second] = says.dataFields.filter(name => field(part, name) !== undefined)
  if (first === undefined) yield geminiError('G-14', says.noData(path))
  else if (second !== undefined) yield geminiError('G-14', says.twoKinds(path, second))
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
  if (!name) yield geminiError('G-03', says.emptyName(path))
  else if (!isGoogleName(asString(name))) {
    yield geminiError('G-08', `GenerateContentRequest.${path}.name: ${says.invalidName(64)}`)
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
  if (problem !== null) yield geminiError('G-IMG', problem)
  for (const inside of asRecords(asRecord(field(part, 'functionResponse'))['parts']))
    yield* checkPictures(inside)
}
