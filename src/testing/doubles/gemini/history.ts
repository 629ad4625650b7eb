/**
 * What Gemini refuses about contents: roles, parts, calls and their responses, and thought signatures.
 * A turn starts at the last user content that is more than function responses; each model content is a step.
 */

import { pictureKind } from '../pictures.ts'
import type { Mode, Rejection } from '../script.ts'
import { inspectSeal } from '../seal.ts'
import { isRecord, type JsonRecord, recordsOf, stringOf } from '../shape.ts'
import { field, invalid, unknownFields } from './tools.ts'

export type GeminiMemory = {
  counter: number
  trustForeign: boolean
  /** Scripted signature → the part it was handed out with, see `signedText`. */
  signatures: Map<string, string>
}

export const newGeminiMemory = (options: { trustForeign?: boolean } = {}): GeminiMemory => ({
  counter: 0,
  trustForeign: options.trustForeign ?? false,
  signatures: new Map(),
})

/** Taken in place of a signature for history that another model wrote. */
export const DUMMY_SIGNATURES: readonly string[] = [
  'skip_thought_signature_validator',
  'context_engineering_is_the_way_to_go',
]

const DATA_FIELDS = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
]
const SIDE_FIELDS = ['thought', 'thoughtSignature', 'videoMetadata', 'partMetadata', 'mediaResolution']

type Turn = { index: number; role: string; parts: JsonRecord[]; calls: JsonRecord[]; responses: JsonRecord[] }

export type GeminiContext = { model: string; isVertex: boolean }

export function checkContents(
  body: JsonRecord,
  memory: GeminiMemory,
  mode: Mode,
  context: GeminiContext,
): Rejection[] {
  const contents = body['contents']
  if (!Array.isArray(contents) || contents.length === 0) {
    return [invalid('G-14', 'Unable to submit request because at least one contents field is required')]
  }
  const turns = recordsOf(contents).map(readTurn)
  const steps = joined(turns)
  return [
    ...turns.flatMap(checkTurn),
    ...checkOrder(steps),
    ...steps.flatMap((turn, at) => checkResponses(turn, steps[at - 1], mode)),
    ...checkPresence(steps, mode, context),
    ...turns.flatMap(turn => checkSignatures(turn, memory, mode, context)),
  ]
}

function readTurn(content: JsonRecord, index: number): Turn {
  const parts = recordsOf(content['parts'])
  const pick = (name: string): JsonRecord[] => parts.filter(part => field(part, name) !== undefined)
  return {
    index,
    role: content['role'] === undefined ? 'user' : stringOf(content['role']),
    parts,
    calls: pick('functionCall'),
    responses: pick('functionResponse'),
  }
}

/** What the model said in several contents is one step of it: the vendor's own SDK keeps each chunk of a stream as one. */
function joined(turns: readonly Turn[]): Turn[] {
  const steps: Turn[] = []
  for (const turn of turns) {
    const last = steps.at(-1)
    if (last?.role !== 'model' || turn.role !== 'model') steps.push(turn)
    else
      steps[steps.length - 1] = {
        ...last,
        parts: [...last.parts, ...turn.parts],
        calls: [...last.calls, ...turn.calls],
        responses: [...last.responses, ...turn.responses],
      }
  }
  return steps
}

function checkTurn(turn: Turn): Rejection[] {
  const at = `contents[${turn.index}]`
  const found: Rejection[] = []
  if (turn.role !== 'user' && turn.role !== 'model') {
    found.push(invalid('G-14', 'Please use a valid role: user, model.'))
  }
  if (turn.parts.length === 0) {
    found.push(invalid('G-14', `GenerateContentRequest.${at}.parts: contents.parts must not be empty.`))
  }
  return [...found, ...turn.parts.flatMap((part, index) => checkPart(part, `${at}.parts[${index}]`))]
}

function checkPart(part: JsonRecord, at: string): Rejection[] {
  const found = unknownFields(part, [...DATA_FIELDS, ...SIDE_FIELDS], at, 'G-14')
  const set = DATA_FIELDS.filter(name => field(part, name) !== undefined)
  if (set.length === 0) {
    found.push(
      invalid(
        'G-14',
        `GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field`,
      ),
    )
  } else if (set.length > 1) {
    found.push(
      invalid(
        'G-14',
        `Invalid value at '${at}' (oneof), oneof field 'data' is already set. Cannot set '${set[1]}'`,
      ),
    )
  }
  const call = field(part, 'functionCall')
  if (isRecord(call)) {
    found.push(
      ...unknownFields(call, ['id', 'name', 'args', 'partialArgs', 'willContinue'], `${at}.function_call`),
    )
    if (call['args'] !== undefined && !isRecord(call['args']))
      found.push(notStruct(`${at}.function_call.args`, call['args']))
    if (!call['name'])
      found.push(invalid('G-03', `GenerateContentRequest.${at}.function_call.name: Name cannot be empty.`))
  }
  const response = field(part, 'functionResponse')
  if (isRecord(response)) found.push(...checkResponseShape(response, `${at}.function_response`))
  return [...found, ...pictureProblems(part).map(problem => invalid('G-IMG', problem))]
}

const PICTURES = ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif']

/** What is wrong with the picture of a part, or with those of a response in it. */
function pictureProblems(part: JsonRecord): string[] {
  const response = field(part, 'functionResponse')
  const inside = isRecord(response) ? recordsOf(response['parts']) : []
  const data = field(part, 'inlineData')
  const own = isRecord(data) ? pictureProblem(field(data, 'mimeType'), data['data']) : null
  return [...(own === null ? [] : [own]), ...inside.flatMap(pictureProblems)]
}

/** The service reads pictures of these kinds, by their bytes; other kinds of data are not judged here. */
export function pictureProblem(type: unknown, data: unknown): string | null {
  if (!stringOf(type).startsWith('image/')) return null
  if (!PICTURES.includes(stringOf(type))) return `Unsupported MIME type: ${stringOf(type)}`
  if (PICTURES.includes(pictureKind(stringOf(data)) ?? '')) return null
  return 'Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting'
}

function checkResponseShape(response: JsonRecord, at: string): Rejection[] {
  const found = unknownFields(response, ['id', 'name', 'response', 'parts', 'scheduling', 'willContinue'], at)
  if (!response['name']) {
    found.push(invalid('G-03', `GenerateContentRequest.${at}.name: Name cannot be empty.`))
  }
  if (!isRecord(response['response'])) found.push(notStruct(`${at}.response`, response['response']))
  return found
}

const notStruct = (at: string, value: unknown): Rejection =>
  invalid(
    'G-03',
    `Invalid value at '${at}' (type.googleapis.com/google.protobuf.Struct), ${JSON.stringify(value) ?? 'null'}`,
  )

function checkOrder(turns: Turn[]): Rejection[] {
  return turns.flatMap((turn, at) => {
    const before = turns[at - 1]
    const found: Rejection[] = []
    if (turn.calls.length > 0 && before?.role !== 'user') {
      found.push(
        invalid(
          'G-02',
          'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
        ),
      )
    }
    if (turn.responses.length > 0 && (before?.calls.length ?? 0) === 0) {
      found.push(
        invalid(
          'G-02',
          'Please ensure that function response turn comes immediately after a function call turn.',
        ),
      )
    } else if ((before?.calls.length ?? 0) !== turn.responses.length) found.push(countsDiffer())
    const isLast = at === turns.length - 1
    if (isLast && turn.calls.length > 0) found.push(countsDiffer())
    return found
  })
}

const countsDiffer = (): Rejection =>
  invalid(
    'G-01',
    'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
  )

/** Where calls carry ids, each response names one of them, once; without ids order and name must agree. */
function checkResponses(turn: Turn, before: Turn | undefined, mode: Mode): Rejection[] {
  const calls = before?.calls ?? []
  if (turn.responses.length !== calls.length || mode === 'lenient') return []
  const left = calls.map(part => field(part, 'functionCall'))
  return turn.responses.flatMap((part, at) => {
    const response = field(part, 'functionResponse')
    const id = field(response, 'id')
    const index = left.findIndex(call => field(call, 'id') === id)
    const call = index < 0 ? undefined : left.splice(index, 1)[0]
    const place = `contents[${turn.index}].parts[${at}].function_response`
    if (call === undefined) {
      return [
        invalid(
          'G-03',
          `${place}.id: ${JSON.stringify(id) ?? 'no id'} is not the id of an open function call of the previous turn.`,
        ),
      ]
    }
    return field(call, 'name') === field(response, 'name')
      ? []
      : [invalid('G-03', `${place}.name: does not match the name of the function call it answers.`)]
  })
}

/** Gemini 3 asks for signatures; a model whose name tells no version counts as one. */
export const needsSignatures = (model: string): boolean => !/gemini-(1|2)[.-]/.test(model)

function checkPresence(turns: Turn[], mode: Mode, { model, isVertex }: GeminiContext): Rejection[] {
  if (!needsSignatures(model) || mode === 'lenient') return []
  const start = turns.findLastIndex(
    turn => turn.role === 'user' && turn.parts.some(part => field(part, 'functionResponse') === undefined),
  )
  return turns.slice(start + 1).flatMap(turn => {
    const [first] = turn.calls
    if (first === undefined || field(first, 'thoughtSignature') !== undefined) return []
    const name = stringOf(field(field(first, 'functionCall'), 'name'))
    const message = isVertex
      ? `Unable to submit request because function call \`${name}\` in the ${turn.index + 1}. content block is missing a thought_signature. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures`
      : `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${turn.index + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`
    return [invalid('G-04', message)]
  })
}

function checkSignatures(turn: Turn, memory: GeminiMemory, mode: Mode, context: GeminiContext): Rejection[] {
  return turn.parts.flatMap((part, at) => {
    const signature = field(part, 'thoughtSignature')
    if (signature === undefined || DUMMY_SIGNATURES.includes(stringOf(signature))) return []
    if (typeof signature !== 'string' || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(signature)) {
      return [
        invalid(
          'G-05',
          `Invalid value at 'contents[${turn.index}].parts[${at}].thought_signature' (TYPE_BYTES), Base64 decoding failed for ${JSON.stringify(signature)}`,
        ),
      ]
    }
    const verdict = judge(signature, part, memory)
    if (verdict === 'valid' || (verdict === 'altered' && mode === 'lenient')) return []
    const message = context.isVertex
      ? 'Unable to submit request because Thought signature is not valid'
      : 'Corrupted thought signature.'
    return [invalid('G-05', message)]
  })
}

function judge(signature: string, part: JsonRecord, memory: GeminiMemory): 'valid' | 'altered' | 'foreign' {
  const content = signedText(part)
  const scripted = memory.signatures.get(signature)
  if (scripted !== undefined) return scripted === content ? 'valid' : 'altered'
  const verdict = inspectSeal('thought', signature, content)
  return verdict === 'foreign' && memory.trustForeign ? 'valid' : verdict
}

/** What a signature is bound to: the data of its part, whatever the order of keys. */
export function signedText(part: JsonRecord): string {
  const call = field(part, 'functionCall')
  if (call !== undefined) return `call:${canonical([field(call, 'name'), field(call, 'args') ?? {}])}`
  const text = field(part, 'text')
  if (text !== undefined) return `text:${stringOf(text)}`
  const data = DATA_FIELDS.find(name => field(part, name) !== undefined)
  return `${data}:${data ? canonical(field(part, data)) : ''}`
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    isRecord(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
  )
}
