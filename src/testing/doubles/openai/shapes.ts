// Checks of single values that both OpenAI endpoints make: strings, content parts, pictures, custom tool formats,
// the form of a tool choice. Which rule a wrong value breaks is the caller's to say.
import { dataUriContent, pictureKind, WEB_PICTURES } from '../pictures.ts'
import type { Rejection, Rejections } from '../script.ts'
import { asString, entryOf, isAbsent, isRecord, type JsonRecord, shownText } from '../shape.ts'
import {
  emptyString,
  invalidType,
  missingParameter,
  openaiError,
  patternMismatch,
  stringTooLong,
  unsupportedValue,
} from './refusals.ts'
import { checkLooseSchema, checkStrictSchema } from './schema.ts'

export const TOOL_NAME_PATTERN = /^[a-zA-Z0-9_-]+$/

export type StringLimits = { max?: number; pattern?: RegExp; allowEmpty?: boolean }

/** Presence, type, length and pattern of one string. It reports one problem at most, the vendor's first. */
export function checkString(
  rule: string,
  path: string,
  value: unknown,
  { max, pattern, allowEmpty = false }: StringLimits = {},
): Rejection[] {
  if (value === undefined) return [missingParameter(rule, path)]
  if (typeof value !== 'string') return [invalidType(rule, path, 'a string', value)]
  if (value === '' && !allowEmpty) return [emptyString(rule, path)]
  if (max !== undefined && value.length > max) return [stringTooLong(rule, path, max, value.length)]
  return pattern === undefined || pattern.test(value) ? [] : [patternMismatch(rule, path, pattern)]
}

type PartCheck = (part: JsonRecord, path: string, rule: string) => Rejections

/** The types of parts that a list of content may hold, each with the check of its fields. */
export type PartChecks = Record<string, PartCheck>

export const uncheckedPart: PartCheck = () => []

export const textField =
  (field: string): PartCheck =>
  (part, path, rule) =>
    checkString(rule, `${path}.${field}`, part[field], { allowEmpty: true })

export function* checkParts(rule: string, path: string, parts: unknown[], checks: PartChecks): Rejections {
  for (const [at, part] of parts.entries()) {
    const place = `${path}[${at}]`
    const type = isRecord(part) ? part['type'] : undefined
    const check = entryOf(checks, asString(type))
    if (!isRecord(part)) yield invalidType(rule, place, 'an object', part)
    else if (check === undefined) yield unsupportedValue(rule, `${place}.type`, type, Object.keys(checks))
    else yield* check(part, place, rule)
  }
}

/** A picture in a data URI is judged by its bytes. One at an address is fetched by the vendor, and not here. */
export function* checkPicture(rule: string, path: string, url: unknown): Rejections {
  const data = dataUriContent(shownText(url))
  if (data === null || WEB_PICTURES.includes(pictureKind(data) ?? '')) return
  const formats = `[${WEB_PICTURES.map(type => `'${type}'`).join(', ')}]`
  const message = `The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats: ${formats}.`
  yield openaiError(rule, message, path, 'invalid_value')
}

/** `text`, or a grammar in one of two syntaxes. Chat nests the grammar one level deeper than Responses. */
export function* checkToolFormat(rule: string, path: string, format: unknown, nested: boolean): Rejections {
  if (isAbsent(format)) return
  if (!isRecord(format)) return yield invalidType(rule, path, 'an object', format)
  if (format['type'] === 'text') return
  if (format['type'] !== 'grammar') {
    return yield unsupportedValue(rule, `${path}.type`, format['type'], ['text', 'grammar'])
  }
  const where = nested ? `${path}.grammar` : path
  const grammar = nested ? format['grammar'] : format
  if (!isRecord(grammar)) yield missingParameter(rule, where)
  else if (grammar['syntax'] !== 'lark' && grammar['syntax'] !== 'regex') {
    yield unsupportedValue(rule, `${where}.syntax`, grammar['syntax'], ['lark', 'regex'])
  } else yield* checkString(rule, `${where}.definition`, grammar['definition'])
}

/** The parameters of a function tool, by the strict rules if it is a strict one. */
export function* checkToolParameters(rule: string, path: string, tool: JsonRecord): Rejections {
  if (isAbsent(tool['parameters'])) return
  const judge = tool['strict'] === true ? checkStrictSchema : checkLooseSchema
  const found = judge(shownText(tool['name']), tool['parameters'], { rule, param: `${path}.parameters` })
  if (found !== null) yield found
}

/** How the two endpoints differ: Chat nests `allowed_tools` in an object of that name, Responses does not. */
type ChoiceForm = { rule: string; nested: boolean; checkEntry: (entry: unknown, path: string) => Rejections }

export function* checkChoiceForm(choice: unknown, { rule, nested, checkEntry }: ChoiceForm): Rejections {
  if (isAbsent(choice)) return
  const modes = ['none', 'auto', 'required']
  if (typeof choice === 'string') {
    if (!modes.includes(choice)) yield unsupportedValue(rule, 'tool_choice', choice, modes)
    return
  }
  if (!isRecord(choice)) {
    return yield invalidType(rule, 'tool_choice', 'one of a tool choice object or string', choice)
  }
  if (choice['type'] !== 'allowed_tools') return yield* checkEntry(choice, 'tool_choice')
  const path = nested ? 'tool_choice.allowed_tools' : 'tool_choice'
  const allowed = nested ? choice['allowed_tools'] : choice
  if (!isRecord(allowed)) return yield missingParameter(rule, path)
  const mode = allowed['mode']
  if (mode !== 'auto' && mode !== 'required') {
    return yield unsupportedValue(rule, `${path}.mode`, mode, ['auto', 'required'])
  }
  if (!Array.isArray(allowed['tools'])) return yield missingParameter(rule, `${path}.tools`)
  for (const [at, entry] of allowed['tools'].entries()) yield* checkEntry(entry, `${path}.tools[${at}]`)
}
