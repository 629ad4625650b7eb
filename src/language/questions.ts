// Questions of a running call to a person: to fill in a flat form, or to open an address. The forms are those of MCP's
// elicitation: one object whose members are texts, numbers, truth values or choices. The checks here are pure, and no
// part of a form is executed: it may come from a server that nobody trusts.
import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'

/** JSON Schema of a form: an object with flat members. See `formFault`. */
export type FormSchema = {
  type: 'object'
  properties: Record<string, JsonObject>
  required?: string[]
  title?: string
  description?: string
}

export type CallQuestion = { message: string; schema: FormSchema } | { message: string; url: string }

export type FormValue = string | number | boolean | string[]
export type FormContent = Record<string, FormValue>

/** `accept` of an address: the person agreed to open it. `expired`: nobody answered in time. */
export type CallAnswer =
  | { action: 'accept'; content?: FormContent }
  | { action: 'decline' }
  | { action: 'cancel'; expired?: true }

export const answerActions = ['accept', 'decline', 'cancel'] as const
export type AnswerAction = (typeof answerActions)[number]

const longestMessage = 10_000
const longestUrl = 8_000
const mostMembers = 100
const mostChoices = 1_000
const largestForm = 64 * 1024

/** Why nobody can be asked this; undefined if it is fine. */
export function questionFault(question: CallQuestion): string | undefined {
  if (typeof question.message !== 'string' || question.message === '') return 'A question needs a message.'
  if (question.message.length > longestMessage)
    return `The message of a question has at most ${longestMessage} characters.`
  return 'url' in question ? urlFault(question.url) : formFault(question.schema)
}

function urlFault(url: unknown): string | undefined {
  const isAddress = typeof url === 'string' && url.length <= longestUrl && URL.canParse(url)
  if (isAddress && /^https?:$/.test(new URL(url).protocol)) return undefined
  return 'The address of a question is an http or https URL.'
}

/** Why this schema is no form. */
function formFault(schema: unknown): string | undefined {
  if (!isJsonObject(schema) || schema['type'] !== 'object' || !isJsonObject(schema['properties']))
    return 'The schema of a question is {"type": "object", "properties": {…}}.'
  if (JSON.stringify(schema).length > largestForm) return 'The form of a question is too large.'
  const members = Object.entries(schema['properties'])
  if (members.length > mostMembers) return `A form has at most ${mostMembers} members.`
  for (const [name, member] of members) {
    const fault = memberFault(member)
    if (fault) return `The member "${name}" of the form ${fault}`
  }
  const { required } = schema
  if (required === undefined) return undefined
  const isNamed = (name: Json): boolean => members.some(([known]) => known === name)
  return Array.isArray(required) && required.every(isNamed)
    ? undefined
    : 'The form requires a member that it does not have.'
}

function memberFault(member: Json): string | undefined {
  if (!isJsonObject(member)) return 'is not a schema.'
  switch (member['type']) {
    case 'string':
      return choicesFault(member, 'oneOf')
    case 'number':
    case 'integer':
    case 'boolean':
      return undefined
    case 'array': {
      const { items } = member
      if (!isJsonObject(items) || !readChoices(items, 'anyOf')) return 'needs the choices of its items.'
      return choicesFault(items, 'anyOf')
    }
    default:
      return 'is not a text, a number, a truth value or a choice.'
  }
}

function choicesFault(member: JsonObject, titled: 'oneOf' | 'anyOf'): string | undefined {
  if (!('enum' in member) && !(titled in member)) return undefined
  const choices = readChoices(member, titled)
  if (!choices || choices.length === 0) return 'has no choices, or choices that are not texts.'
  return choices.length > mostChoices ? `has more than ${mostChoices} choices.` : undefined
}

export type FormChoice = { value: string; title: string }

/** The options of a choice. Undefined: the member is no choice. */
export function readChoices(
  member: JsonObject,
  titled: 'oneOf' | 'anyOf' = 'oneOf',
): FormChoice[] | undefined {
  const { enum: values, enumNames: names } = member
  if (Array.isArray(values)) {
    if (!values.every(value => typeof value === 'string')) return undefined
    const titles = Array.isArray(names) ? names : []
    return values.map((value, index) => ({ value, title: choiceTitle(titles[index], value) }))
  }
  const options = member[titled]
  if (!Array.isArray(options)) return undefined
  const choices = options.flatMap(option =>
    isJsonObject(option) && typeof option['const'] === 'string'
      ? [{ value: option['const'], title: choiceTitle(option['title'], option['const']) }]
      : [],
  )
  return choices.length === options.length ? choices : undefined
}

function choiceTitle(title: Json | undefined, value: string): string {
  return typeof title === 'string' ? title : value
}

/** Why this content does not answer the form; undefined if it does. */
export function contentFault(schema: FormSchema, content: unknown): string | undefined {
  if (!isJsonObject(content)) return 'The answer to a form is an object with its members.'
  for (const name of schema.required ?? [])
    if (!Object.hasOwn(content, name)) return `The answer lacks "${name}".`
  for (const [name, value] of Object.entries(content)) {
    const member = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (!member) return `The form has no member "${name}".`
    const fault = valueFault(member, value)
    if (fault) return `"${name}" ${fault}`
  }
  return undefined
}

function valueFault(member: JsonObject, value: Json): string | undefined {
  switch (member['type']) {
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'is true or false.'
    case 'number':
    case 'integer':
      return numberFault(member, value)
    case 'array':
      return listFault(member, value)
    default:
      return textFault(member, value)
  }
}

function numberFault(member: JsonObject, value: Json): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'is a number.'
  if (member['type'] === 'integer' && !Number.isInteger(value)) return 'is a whole number.'
  const { minimum, maximum } = member
  if (typeof minimum === 'number' && value < minimum) return `is at least ${minimum}.`
  return typeof maximum === 'number' && value > maximum ? `is at most ${maximum}.` : undefined
}

function listFault(member: JsonObject, value: Json): string | undefined {
  const { items, minItems, maxItems } = member
  const choices = (isJsonObject(items) && readChoices(items, 'anyOf')) || []
  const isChoice = (item: Json): boolean => choices.some(choice => choice.value === item)
  if (!Array.isArray(value) || !value.every(isChoice)) return 'is a list of its choices.'
  if (new Set(value).size < value.length) return 'has a choice twice.'
  if (typeof minItems === 'number' && value.length < minItems) return `needs ${minItems} choices or more.`
  return typeof maxItems === 'number' && value.length > maxItems
    ? `has at most ${maxItems} choices.`
    : undefined
}

const formats: Record<string, { fits(text: string): boolean; words: string }> = {
  email: {
    fits: text => /^[^\s@]{1,64}@[^\s@.]{1,63}(\.[^\s@.]{1,63})+$/.test(text),
    words: 'is an e-mail address.',
  },
  uri: { fits: text => URL.canParse(text), words: 'is a URI.' },
  date: {
    fits: text => /^\d{4}-\d\d-\d\d$/.test(text) && isDate(text),
    words: 'is a date such as 2026-01-31.',
  },
  'date-time': {
    fits: text => /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && isDate(text),
    words: 'is a time such as 2026-01-31T12:00:00Z.',
  },
}

function isDate(text: string): boolean {
  return !Number.isNaN(Date.parse(text))
}

function textFault(member: JsonObject, value: Json): string | undefined {
  if (typeof value !== 'string') return 'is a text.'
  const choices = readChoices(member)
  if (choices) return choices.some(choice => choice.value === value) ? undefined : 'is one of its choices.'
  const { minLength, maxLength, format } = member
  if (typeof minLength === 'number' && value.length < minLength)
    return `has at least ${minLength} characters.`
  if (typeof maxLength === 'number' && value.length > maxLength) return `has at most ${maxLength} characters.`
  if (value.length > longestMessage * 10) return 'is too long.'
  const rule = typeof format === 'string' && Object.hasOwn(formats, format) ? formats[format] : undefined
  return rule && !rule.fits(value) ? rule.words : undefined
}
