// What the files about JSON Schema share: the error for a bad schema, pointers into it, and the form of each keyword.

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
  ...ofForm('data', ['const', 'default', 'enum', 'examples', 'example', 'required', 'type']),
])

/** Undefined for a keyword that is not known. */
export function keywordForm(keyword: string): KeywordForm | undefined {
  return KEYWORD_FORMS.get(keyword)
}

function ofForm(form: KeywordForm, keywords: string[]): [string, KeywordForm][] {
  return keywords.map(keyword => [keyword, form])
}
