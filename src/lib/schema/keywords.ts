// Shared by the files about JSON Schema: the error for a bad schema, the form of each keyword, and the walk that follows
// from it.

import { isJsonObject, type Json, type JsonObject } from '../json/index.ts'

const MAX_PATH = 200

export class SchemaError extends Error {
  override readonly name = 'SchemaError'
  /** JSON Pointer into the schema; empty for the schema as a whole. */
  readonly path: string

  constructor(path: string, message: string) {
    const shown = path.length > MAX_PATH ? `${path.slice(0, MAX_PATH).toWellFormed()}…` : path
    super(path === '' ? message : `${message} (at ${shown})`)
    this.path = shown
  }
}

/**
 * Names the kind of a value that is not plain data; undefined if it is plain. Plain objects of other realms are plain
 * too: their prototype is the last one, as `Object.prototype` is.
 */
export function notPlain(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (typeof prototype !== 'object' || prototype === null || Object.getPrototypeOf(prototype) === null)
    return undefined
  if ('_def' in value && 'safeParse' in value)
    return 'It is a schema of zod 3, which cannot describe itself. Use zod 4: import { z } from "zod" of version 4, or from "zod/v4".'
  const { name } = value.constructor
  return `It is an instance of ${name === '' ? 'a class' : name}, not JSON Schema. Give the JSON Schema as a plain object, or a schema of zod 4.`
}

/** The form of a keyword's value: a schema, a list of schemas, a map of schemas, plain data. */
type KeywordForm = 'schema' | 'list' | 'branches' | 'either' | 'map' | 'data'

const KEYWORDS_BY_FORM: Readonly<Record<KeywordForm, string>> = {
  schema:
    'additionalItems additionalProperties contains contentSchema else if not propertyNames then unevaluatedItems unevaluatedProperties',
  list: 'prefixItems',
  branches: 'allOf anyOf oneOf',
  either: 'items',
  map: '$defs definitions dependencies dependentSchemas patternProperties properties',
  data: 'const default dependentRequired enum examples example required type',
}

const KEYWORD_FORMS: ReadonlyMap<string, KeywordForm> = new Map(
  // The keys of the record above, and no others.
  (Object.keys(KEYWORDS_BY_FORM) as KeywordForm[]).flatMap(form =>
    KEYWORDS_BY_FORM[form].split(' ').map((keyword): [string, KeywordForm] => [keyword, form]),
  ),
)

/** Undefined for a keyword that is not known. */
export function keywordForm(keyword: string): KeywordForm | undefined {
  return KEYWORD_FORMS.get(keyword)
}

type Change = (schema: JsonObject, step: string) => Json

/**
 * A keyword's value with each schema in it replaced. `step` is the path to it: the keyword, with a name or an index. An
 * unknown keyword is walked as a schema too, because a reference may point into it.
 */
export function mapSchemas(keyword: string, value: Json, change: Change): Json {
  if (typeof value !== 'object' || value === null) return value
  const form = keywordForm(keyword)
  if (form === 'data') return value
  if (form !== 'map' || !isJsonObject(value)) return mapNested(value, keyword, change)
  const members = Object.entries(value)
  return Object.fromEntries(
    members.map(([name, item]) => [name, mapNested(item, `${keyword}/${name}`, change)]),
  )
}

function mapNested(value: Json, step: string, change: Change): Json {
  if (Array.isArray(value)) return value.map((item, index) => mapNested(item, `${step}/${index}`, change))
  return isJsonObject(value) ? change(value, step) : value
}
