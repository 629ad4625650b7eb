// The contents of a generateContent request into our history. As many responses as calls, in the one next content, paired
// by id where there is one and else by name and order. Parts with a thought signature are kept as they are for a model of
// the same vendor, and lose it for any other.
import type { Agent } from '../../engine/index.ts'
import type { CallPart } from '../../language/calls.ts'
import type { InputPart, Native, Origin, ResultPart } from '../../language/content.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import { filePart, HistoryBuilder, imagePart, originFor, type Target } from '../stateless/index.ts'
import { camelised, field, invalidValue, list, object, optionalText, refuse, text } from './refuse.ts'

const dataFields = [
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

/** `part` has camelCase names; `kind` is the one of its fields that holds the data. */
type Part = { part: JsonObject; kind: string; at: string }
type Content = { index: number; role: 'user' | 'model'; parts: Part[] }

export function decodeContents(value: Json | undefined, target: Target): Entry[] {
  const given = list(value, 'contents')
  if (given.length === 0) refuse('Unable to submit request because at least one contents field is required')
  const contents = given.map((item, index) => readContent(object(item, `contents[${index}]`), index))
  checkOrder(contents)
  const history = new HistoryBuilder(target.agent)
  const origin = originFor(target.model, 'gemini')
  for (const content of contents) {
    if (content.role === 'model') {
      const parts = content.parts.flatMap((part, place) =>
        answerPart(part, `call_${content.index}_${place}`, origin),
      )
      history.assistant(parts, origin)
    } else takeUser(content, history, target.agent)
  }
  return history.done()
}

function readContent(content: JsonObject, index: number): Content {
  const role = content['role'] ?? 'user'
  if (role !== 'user' && role !== 'model') return refuse('Please use a valid role: user, model.')
  const at = `contents[${index}]`
  const parts = list(content['parts'], `${at}.parts`).map((item, place) =>
    readPart(object(item, `${at}.parts[${place}]`), `${at}.parts[${place}]`),
  )
  if (parts.length === 0) refuse(`GenerateContentRequest.${at}.parts: contents.parts must not be empty.`)
  return { index, role, parts }
}

function readPart(given: JsonObject, at: string): Part {
  const part = camelised(given)
  const set = dataFields.filter(name => part[name] !== undefined && part[name] !== null)
  const [kind, second] = set
  if (second !== undefined)
    refuse(`Invalid value at '${at}' (oneof), oneof field 'data' is already set. Cannot set '${second}'`)
  // A signature may come on a part that says nothing.
  if (kind === undefined && typeof part['thoughtSignature'] === 'string')
    return { part: { ...part, text: '' }, kind: 'text', at }
  if (kind === undefined)
    return refuse(
      `GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field`,
    )
  return { part, kind, at }
}

const countOf = (content: Content | undefined, kind: string): number =>
  content?.parts.filter(part => part.kind === kind).length ?? 0

function checkOrder(contents: readonly Content[]): void {
  for (const [at, content] of contents.entries()) {
    const before = contents[at - 1]
    const [calls, responses] = [countOf(content, 'functionCall'), countOf(content, 'functionResponse')]
    const open = before?.role === 'model' ? countOf(before, 'functionCall') : 0
    if (calls > 0 && (content.role !== 'model' || before?.role !== 'user'))
      refuse(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      )
    if (responses > 0 && (open === 0 || content.role !== 'user'))
      refuse('Please ensure that function response turn comes immediately after a function call turn.')
    if (open !== responses || (calls > 0 && at === contents.length - 1))
      refuse(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      )
  }
}

// ---- answers ------------------------------------------------------------------------------------------------

function answerPart({ part, kind, at }: Part, id: string, origin: Origin | undefined): AnswerPart[] {
  if (kind === 'functionCall')
    return [callPart(part, object(part['functionCall'], `${at}.function_call`), at, id, origin)]
  if (kind !== 'text')
    return origin ? [{ type: 'hosted', tool: kind, summary: kind, native: { origin, data: part } }] : []
  const said = text(part['text'], `${at}.text`)
  const type = part['thought'] === true ? 'thinking' : 'text'
  const signed = part['thoughtSignature'] !== undefined ? native(part, origin) : {}
  return said === '' && !signed.native ? [] : [{ type, text: said, ...signed }]
}

function callPart(
  part: JsonObject,
  call: JsonObject,
  at: string,
  id: string,
  origin: Origin | undefined,
): CallPart {
  const name = optionalText(call['name'], `${at}.function_call.name`) ?? ''
  if (name === '') refuse(`GenerateContentRequest.${at}.function_call.name: Name cannot be empty.`)
  const args = call['args'] ?? {}
  const written = JSON.stringify(
    object(args, `${at}.function_call.args`, 'type.googleapis.com/google.protobuf.Struct'),
  )
  const nativeId = optionalText(call['id'] ?? undefined, `${at}.function_call.id`)
  const functionCall = { ...(nativeId !== undefined && { id: nativeId }), name }
  return {
    type: 'call',
    id,
    name,
    form: 'json',
    text: written,
    ...(nativeId !== undefined && nativeId !== '' && { nativeId }),
    ...native({ ...part, functionCall }, origin),
  }
}

function native(data: JsonObject, origin: Origin | undefined): { native?: Native } {
  return origin ? { native: { origin, data } } : {}
}

// ---- users and responses ------------------------------------------------------------------------------------

function takeUser(content: Content, history: HistoryBuilder, agent: Agent): void {
  const said: InputPart[] = []
  for (const { part, kind, at } of content.parts) {
    if (kind === 'functionResponse')
      takeResponse(
        object(part['functionResponse'], `${at}.function_response`),
        `${at}.function_response`,
        history,
        agent,
      )
    else if (kind === 'text') said.push({ type: 'text', text: text(part['text'], `${at}.text`) })
    else if (kind === 'inlineData' || kind === 'fileData') said.push(mediaPart(part, kind, at, agent))
    else
      refuse(
        `${at}: ${kind} is the model's to say. A user's content has text, inline_data, file_data and function_response.`,
      )
  }
  if (said.length > 0) history.user(said)
}

function takeResponse(response: JsonObject, at: string, history: HistoryBuilder, agent: Agent): void {
  const name = optionalText(response['name'] ?? undefined, `${at}.name`) ?? ''
  if (name === '') refuse(`GenerateContentRequest.${at}.name: Name cannot be empty.`)
  const id = optionalText(response['id'] ?? undefined, `${at}.id`)
  const call = answered(history.open, name, id, at)
  const value = object(response['response'], `${at}.response`, 'type.googleapis.com/google.protobuf.Struct')
  const media = list(response['parts'] ?? undefined, `${at}.parts`).map((item, index) => {
    const { part, kind } = readPart(object(item, `${at}.parts[${index}]`), `${at}.parts[${index}]`)
    return mediaPart(part, kind, `${at}.parts[${index}]`, agent)
  })
  const failed = value['error'] !== undefined && value['error'] !== null && value['output'] === undefined
  history.result(
    call.id,
    [...resultText(failed ? value['error'] : (value['output'] ?? value)), ...media],
    failed,
  )
}

/** `error` and `output` have a meaning; without either the whole object is the output. */
function resultText(value: Json | undefined): ResultPart[] {
  const said = typeof value === 'string' ? value : JSON.stringify(value)
  return said === undefined || said === '' ? [] : [{ type: 'text', text: said }]
}

function answered(open: readonly CallPart[], name: string, id: string | undefined, at: string): CallPart {
  if (id !== undefined && id !== '') {
    const call = open.find(each => each.nativeId === id)
    if (!call)
      return refuse(
        `${at}.id: "${id.slice(0, 100)}" is not the id of an open function call of the previous turn.`,
      )
    return call.name === name
      ? call
      : refuse(`${at}.name: does not match the name of the function call it answers.`)
  }
  return (
    open.find(each => each.name === name) ??
    refuse(
      `${at}.name: "${name.slice(0, 128)}" is not the name of an open function call of the previous turn.`,
    )
  )
}

function mediaPart(part: JsonObject, kind: string, at: string, agent: Agent): InputPart {
  if (kind !== 'inlineData' && kind !== 'fileData') return invalidValue(at, 'inline_data or file_data', part)
  const data = object(part[kind], `${at}.${kind}`)
  const mediaType = text(field(data, 'mimeType'), `${at}.${kind}.mime_type`)
  const url =
    kind === 'inlineData'
      ? `data:${mediaType};base64,${standard(text(data['data'], `${at}.inline_data.data`))}`
      : text(field(data, 'fileUri'), `${at}.file_data.file_uri`)
  const made = mediaType.startsWith('image/') ? imagePart(url, agent.images) : filePart(url, mediaType)
  return 'refused' in made ? refuse(`Invalid value at '${at}.${kind}': ${made.refused}`) : made
}

/** Protobuf's JSON takes both alphabets of base64. */
function standard(base64: string): string {
  return base64.replaceAll('-', '+').replaceAll('_', '/')
}
