// What the repairs of Chat Completions and Responses share: names, declarations, schemas and roles. Pairing and message
// forms are in chat.ts and responses.ts.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { openaiLoose } from '../common/schema-dialect.ts'
import {
  asText,
  type FieldRef,
  type Finding,
  fieldRef,
  makeId,
  objectsOf,
  quoted,
  type Repair,
  type Report,
  renameCallIds,
} from './repair.ts'
import { inDialect, renameTools } from './tools.ts'

export const asJsonText = (value: Json | undefined): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

/** The objects that hold the names: nested in Chat, flat in Responses. */
export function openaiDeclarations(body: JsonObject): JsonObject[] {
  return objectsOf(body['tools']).flatMap(tool => {
    const { type, function: named, custom } = tool
    if (isJsonObject(named)) return [named]
    if (isJsonObject(custom)) return [custom]
    return type === 'function' || type === 'custom' ? [tool] : []
  })
}

export const declaredNames = (body: JsonObject): string[] =>
  openaiDeclarations(body).map(tool => asText(tool['name']))

export function renameOpenaiTools(
  called: (body: JsonObject) => FieldRef[],
  maxLength: number,
): Repair['apply'] {
  return renameTools({ pattern: /^[a-zA-Z0-9_-]+$/, maxLength }, openaiDeclarations, body => {
    const choice = body['tool_choice']
    const holders = isJsonObject(choice) ? [choice, choice['function'], choice['custom']] : []
    return [...called(body), ...holders.flatMap(holder => fieldRef(holder, 'name'))]
  })
}

export function renameOpenaiIds(refs: (body: JsonObject) => FieldRef[], most: number): Repair['apply'] {
  return renameCallIds(
    refs,
    id => id !== '' && id.length <= most,
    id => makeId(id, 'call_', most),
  )
}

export function fixOpenaiSchemas(body: JsonObject, report: Report): void {
  for (const tool of openaiDeclarations(body)) {
    const given = tool['parameters']
    if (!isJsonObject(given)) continue
    const { schema } = inDialect(given, openaiLoose)
    const isStrict = tool['strict'] === true
    if (JSON.stringify(schema) === JSON.stringify(given) && !isStrict) continue
    tool['parameters'] = schema
    if (isStrict) tool['strict'] = false
    const name = quoted(asText(tool['name']))
    report(
      isStrict
        ? `Turned off strict mode of ${name}: its schema is not strict.`
        : `Rewrote the schema of ${name}.`,
    )
  }
}

/** `format`: the schema of the answer, nested in Chat, flat in Responses. */
export function turnOffStrictFormat(format: Json | undefined, report: Report): void {
  if (!isJsonObject(format) || format['strict'] !== true) return
  format['strict'] = false
  report('Turned off strict mode of the answer format: its schema is not strict.')
}

/** Fields that the API does not know or does not accept together, for `dropFields`. */
export function unknownOpenaiFields({ message, param }: Finding): string[] {
  const listed = /supplied: (.+)$/.exec(message)?.[1]?.split(', ') ?? []
  const named = /^(?:Unknown|Unsupported) parameter: '([^']+)'/.exec(message)?.[1]
  const isConflict = /^(?:Setting|The 'stream_options'|Background mode|Mutually exclusive)/.test(message)
  return [...listed, named ?? (isConflict ? (param ?? '') : '')]
}

export const OPENAI_MODEL = 'gpt-5.2'

const KNOWN_ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

/** Changes another vendor's role to the one with that meaning. */
export function fixRoles(messages: readonly JsonObject[], report: Report): void {
  for (const message of messages) {
    const role = asText(message['role'])
    if (KNOWN_ROLES.has(role)) continue
    message['role'] = role === 'model' ? 'assistant' : 'user'
    report(`Changed the role ${quoted(role)} to ${message['role']}.`)
  }
}

/** Call arguments must be text. */
export function fixArgumentsText(
  holder: JsonObject,
  key: string,
  id: Json | undefined,
  report: Report,
): void {
  if (typeof holder[key] === 'string') return
  holder[key] = asJsonText(holder[key])
  report(`Made the ${key} of call ${quoted(asText(id))} a text.`)
}

/** The types of content parts in one place of a request. */
export type PartForm = {
  text: string
  others: readonly string[]
  /** Absent: no pictures. */
  picture?: (url: string) => JsonObject
}

const TEXT_PARTS = ['text', 'input_text', 'output_text']
const PICTURE_PARTS = ['image_url', 'input_image']

/** A part of another API in this form. */
export function fixPart(part: JsonObject, form: PartForm, report: Report): JsonObject {
  const { type, text, image_url: image } = part
  const own = asText(type)
  if (form.others.includes(own) || (own === form.text && typeof text === 'string')) return part
  if (form.picture !== undefined && PICTURE_PARTS.includes(own)) {
    report('Wrote a picture in this vendor\u2019s form.')
    return form.picture(asText(isJsonObject(image) ? image['url'] : image))
  }
  report(`Wrote a part of the type ${quoted(own)} as \`${form.text}\`.`)
  return { type: form.text, text: TEXT_PARTS.includes(own) ? asJsonText(text) : JSON.stringify(part) }
}

/** Content is text or a list of parts. */
export function fixContent(message: JsonObject, form: PartForm, report: Report): void {
  const { content } = message
  if (typeof content === 'string') return
  if (Array.isArray(content)) message['content'] = objectsOf(content).map(part => fixPart(part, form, report))
  else {
    message['content'] = content === null ? '' : asJsonText(content)
    report(`Made the content of a message of the ${asText(message['role'])} a text.`)
  }
}
