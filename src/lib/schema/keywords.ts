// Shared by the files about JSON Schema: the error for a bad schema, pointers into it, and the form of each keyword.

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

export function pointer(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
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

/** An unknown keyword is walked as a schema too, because a reference may point into it. */
const KEYWORD_FORMS: ReadonlyMap<string, KeywordForm> = new Map<string, KeywordForm>([
  ...ofForm('schema', ['additionalItems', 'additionalProperties', 'contains', 'contentSchema', 'else', 'if']),
  ...ofForm('schema', ['not', 'propertyNames', 'then', 'unevaluatedItems', 'unevaluatedProperties']),
  ...ofForm('list', ['prefixItems']),
  ...ofForm('branches', ['allOf', 'anyOf', 'oneOf']),
  ...ofForm('either', ['items']),
  ...ofForm('map', ['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties']),
  ...ofForm('map', ['properties']),
  ...ofForm('data', ['const', 'default', 'dependentRequired', 'enum', 'examples', 'example', 'required']),
  ...ofForm('data', ['type']),
])

/** Undefined for a keyword that is not known. */
export function keywordForm(keyword: string): KeywordForm | undefined {
  return KEYWORD_FORMS.get(keyword)
}

function ofForm(form: KeywordForm, keywords: string[]): [string, KeywordForm][] {
  return keywords.map(keyword => [keyword, form])
}
