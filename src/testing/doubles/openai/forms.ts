// How OpenAI refuses a single value, and the form that it must have, in both endpoints: texts, lists, objects, content parts,
// pictures, custom tool formats. A form refuses a value under the rule that it was made with. Rules about several values are
// in the endpoints' own files.
import * as wordings from '../../../apis/openai/wordings.ts'
import { dataUriContent, pictureKind, WEB_PICTURES } from '../pictures.ts'
import type { Rejection, Rejections } from '../script.ts'
import {
  asString,
  extraKeys,
  isAbsent,
  isRecord,
  type JsonRecord,
  ownEntry,
  shownText,
  wordList,
} from '../shape.ts'

export function openaiError(
  rule: string,
  message: string,
  param: string | null = null,
  code: string | null = null,
  status = 400,
): Rejection {
  return { rule, status, type: 'invalid_request_error', message, param, code }
}

export const refusal = (rule: string, { message, param, code }: wordings.ParameterProblem): Rejection =>
  openaiError(rule, message, param, code)

/** The rule comes first, then what the words take. */
const withRule =
  <Args extends unknown[]>(problem: (...args: Args) => wordings.ParameterProblem) =>
  (rule: string, ...args: Args): Rejection =>
    refusal(rule, problem(...args))

export const missingParameter = withRule(wordings.missingParameter)
export const unknownParameter = withRule(wordings.unknownParameter)
export const invalidType = withRule(wordings.invalidType)
export const unsupportedValue = withRule(wordings.unsupportedValue)
export const outOfBounds = withRule(wordings.outOfBounds)

// ---- forms --------------------------------------------------------------------------------------------------

/** The refusals of a value. `path` is its place, as the vendor writes it. */
export type Form = (value: unknown, path: string) => Rejections
export type Fields = Readonly<Record<string, Form>>

export const TOOL_NAME_PATTERN = /^[a-zA-Z0-9_-]+$/

type TextLimits = { max?: number; pattern?: RegExp; mayBeEmpty?: boolean }

/** It reports one problem at most, the vendor's first. */
export const text =
  (rule: string, { max = Number.POSITIVE_INFINITY, pattern, mayBeEmpty = false }: TextLimits = {}) =>
  (value: unknown, path: string): Rejection[] => {
    if (value === undefined) return [missingParameter(rule, path)]
    if (typeof value !== 'string') return [invalidType(rule, path, 'a string', value)]
    const given = value.length
    if (given === 0 && !mayBeEmpty)
      return [outOfBounds(rule, path, { bound: 'least', of: 'text', limit: 1, given })]
    if (given > max) return [outOfBounds(rule, path, { bound: 'most', of: 'text', limit: max, given })]
    return pattern?.test(value) === false ? [outOfBounds(rule, path, { bound: 'pattern', pattern })] : []
  }

export const flag =
  (rule: string): Form =>
  (value, path) =>
    typeof value === 'boolean' ? [] : [invalidType(rule, path, 'a boolean', value)]

export const oneOf =
  (rule: string, words: readonly string[]): Form =>
  (value, path) =>
    words.includes(shownText(value)) ? [] : [unsupportedValue(rule, path, value, words)]

/** An absent value is right. */
export const optional =
  (form: Form): Form =>
  (value, path) =>
    isAbsent(value) ? [] : form(value, path)

export const required =
  (rule: string, form: Form = () => []): Form =>
  (value, path) =>
    isAbsent(value) ? [missingParameter(rule, path)] : form(value, path)

/** `of`: the vendor's words for such a list. `empty`: the rule that an empty list breaks, if it breaks one. */
type ListLimits = { of?: string; empty?: string; most?: { rule: string; max: number } }

export const list = (
  rule: string,
  each: (value: unknown, path: string, at: number) => Rejections,
  { of = 'an array of objects', empty, most }: ListLimits = {},
): Form =>
  function* (value, path) {
    if (!Array.isArray(value)) return yield invalidType(rule, path, of, value)
    const given = value.length
    if (given === 0 && empty !== undefined)
      yield outOfBounds(empty, path, { bound: 'least', of: 'list', limit: 1, given })
    if (most !== undefined && given > most.max)
      return yield outOfBounds(most.rule, path, { bound: 'most', of: 'list', limit: most.max, given })
    for (const [at, item] of value.entries()) yield* each(item, `${path}[${at}]`, at)
  }

export function* checkFields(value: JsonRecord, path: string, fields: Fields): Rejections {
  for (const [name, form] of Object.entries(fields)) yield* form(value[name], `${path}.${name}`)
}

/** `others`: the names of fields that may have any value. Without it, fields that are not named are accepted. */
export const object = (rule: string, fields: Fields, others?: string): Form =>
  function* (value, path) {
    if (!isRecord(value)) return yield invalidType(rule, path, 'an object', value)
    const known = others === undefined ? Object.keys(value) : [...Object.keys(fields), ...wordList(others)]
    for (const key of extraKeys(value, known)) yield unknownParameter(rule, `${path}.${key}`)
    yield* checkFields(value, path, fields)
  }

/** An object whose `type` says which fields it has. */
export const tagged = (rule: string, kinds: Readonly<Record<string, Fields>>): Form =>
  function* (value, path) {
    if (!isRecord(value)) return yield invalidType(rule, path, 'an object', value)
    const fields = ownEntry(kinds, asString(value['type']))
    if (fields === undefined) yield unsupportedValue(rule, `${path}.type`, value['type'], Object.keys(kinds))
    else yield* checkFields(value, path, fields)
  }

/** A picture in a data URI is judged by its bytes. One at an address is fetched by the vendor, and not here. */
export const picture = (rule: string): Form =>
  function* (value, path) {
    const data = dataUriContent(shownText(isRecord(value) ? value['url'] : value))
    if (data === null || WEB_PICTURES.includes(pictureKind(data) ?? '')) return
    const formats = `[${WEB_PICTURES.map(type => `'${type}'`).join(', ')}]`
    const message = `The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats: ${formats}.`
    yield openaiError(rule, message, path, 'invalid_value')
  }

/** `text`, or a grammar in one of two syntaxes. Chat nests the grammar one level deeper than Responses. */
export function toolFormat(rule: string, nested: boolean): Form {
  const grammar = object(rule, { syntax: oneOf(rule, ['lark', 'regex']), definition: text(rule) })
  const kinds = { text: {}, grammar: nested ? { grammar: required(rule, grammar) } : {} }
  return optional(function* (value, path) {
    yield* tagged(rule, kinds)(value, path)
    if (!nested && isRecord(value) && value['type'] === 'grammar') yield* grammar(value, path)
  })
}

/** How the two endpoints differ: Chat nests `allowed_tools` in an object of that name, Responses does not. */
type ChoiceForm = { rule: string; nested: boolean; entry: Form }

export function toolChoice({ rule, nested, entry }: ChoiceForm): Form {
  const allowed = object(rule, {
    mode: oneOf(rule, ['auto', 'required']),
    tools: required(rule, list(rule, entry)),
  })
  return optional((choice, path) => {
    if (typeof choice === 'string') return oneOf(rule, ['none', 'auto', 'required'])(choice, path)
    if (!isRecord(choice)) return [invalidType(rule, path, 'one of a tool choice object or string', choice)]
    if (choice['type'] !== 'allowed_tools') return entry(choice, path)
    return nested
      ? required(rule, allowed)(choice['allowed_tools'], `${path}.allowed_tools`)
      : allowed(choice, path)
  })
}
