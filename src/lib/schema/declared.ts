// Finds the mistakes that people make when they write a JSON Schema, at the time when a tool is declared: a keyword that is
// misspelled, of another dialect, or with a value that it cannot have. Each of them would switch a check off, or refuse
// every call. This is not a check against the metaschema: compiling a schema takes a millisecond, and a server with
// thousands of tools must start at once.
import { isJsonObject, type Json, type JsonObject } from '../json/index.ts'
import { quote } from '../text/index.ts'
import { nearest } from '../text/nearest.ts'
import { hasSecret } from '../text/secret-forms.ts'
import { type Dialect, isBefore2019 } from './dialects.ts'
import { inspectSchema, type SchemaSize } from './inspect.ts'
import { SchemaError } from './keywords.ts'
import { translatePattern } from './pattern.ts'

/** `warnings`: sentences about probable mistakes that do no harm. */
export type DeclaredSchema = SchemaSize & { warnings: readonly string[] }

/** Includes the checks of `inspectSchema`, in the same walk. Throws SchemaError. */
export function checkDeclaredSchema(schema: Json): DeclaredSchema {
  let warnings: Set<string> | undefined
  const warn = (words: string): void => {
    warnings ??= new Set()
    if (warnings.size < MAX_WARNINGS) warnings.add(words)
  }
  const size = inspectSchema(schema, (keyword, value, dialect) => findSlip(keyword, value, dialect, warn))
  return { ...size, warnings: warnings === undefined ? [] : [...warnings] }
}

const MAX_WARNINGS = 10

/**
 * Refuses a schema without any keyword, such as `{ city: 'string' }`: it was meant as properties, and would accept
 * every object. An empty schema passes. Throws SchemaError.
 */
export function checkHasKeywords(schema: JsonObject): void {
  for (const word in schema) if (word.startsWith('$') || KEYWORDS.has(word)) return
  const words = Object.keys(schema)
  if (words.length === 0) return
  throw new SchemaError(
    '',
    `It has no keyword of JSON Schema, only ${words.slice(0, 3).join(', ')}. Write { type: 'object', properties: { … } }`,
  )
}

// ---------------------------------------------------------------------------------------------------------
// Keywords

type Warn = (words: string) => void
type Check = (value: Json, keyword: string, warn: Warn) => string | undefined

const typeNames = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

const isText = (value: Json): value is string => typeof value === 'string'
const isSchema = (value: Json): boolean => typeof value === 'boolean' || isJsonObject(value)
const mustBe =
  (isIt: (value: Json) => boolean, words: string): Check =>
  (value, keyword) =>
    isIt(value) ? undefined : `"${keyword}" must be ${words}.`

const any: Check = () => undefined
const mustBeText = mustBe(isText, 'a text')
const flag = mustBe(value => typeof value === 'boolean', 'true or false')
const number = mustBe(value => Number.isFinite(value), 'a number')
/** Draft-04 has true and false here. */
const exclusive = mustBe(value => Number.isFinite(value) || typeof value === 'boolean', 'a number')
const mustBeCount = mustBe(
  value => Number.isInteger(value) && Number(value) >= 0,
  'a whole number, 0 or more',
)
const list = mustBe(Array.isArray, 'a list')
const oneSchema: Check = value =>
  isSchema(value) ? undefined : 'A schema must be an object, or true or false.'
const schemas = mustBe(value => Array.isArray(value) && value.length > 0, 'a list of schemas')
const schemaMap = mustBe(isJsonObject, 'an object of schemas')
const nameLists = mustBe(
  value => isJsonObject(value) && Object.values(value).every(isNames),
  'an object of lists of property names',
)

/** The check for the value of each keyword. Nested schemas are visited separately. */
const KEYWORDS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...each('$comment $id $ref $anchor $dynamicRef $dynamicAnchor $recursiveRef title description', mustBeText),
  ...each('contentEncoding contentMediaType', mustBeText),
  [
    'format',
    (value, keyword, warn) => (isText(value) ? warnOfFormat(value, warn) : mustBeText(value, keyword, warn)),
  ],
  ...each('deprecated readOnly writeOnly uniqueItems $recursiveAnchor nullable', flag),
  ...each('minimum maximum', number),
  ...each('exclusiveMinimum exclusiveMaximum', exclusive),
  ...each(
    'minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties',
    mustBeCount,
  ),
  ...each('allOf anyOf oneOf prefixItems', schemas),
  ...each('additionalItems additionalProperties contains contentSchema else if not', oneSchema),
  ['items', (value, ...rest) => (Array.isArray(value) ? schemas : oneSchema)(value, ...rest)],
  ...each('propertyNames then unevaluatedItems unevaluatedProperties', oneSchema),
  ...each('properties dependentSchemas $defs definitions', schemaMap),
  ['patternProperties', patternsSlip],
  ...each('const default $schema $vocabulary', any),
  ['dependentRequired', nameLists],
  ['dependencies', mustBe(isJsonObject, 'an object of schemas or lists of property names')],
  ['examples', list],
  ['multipleOf', mustBe(value => Number.isFinite(value) && Number(value) > 0, 'a number above 0')],
  ['enum', mustBe(value => Array.isArray(value) && value.length > 0, 'a list of values, with one at least')],
  [
    'pattern',
    value => (isText(value) ? patternSlip(value) : '"pattern" must be a text, such as "^[a-z]+$".'),
  ],
  ['type', typeSlip],
  [
    'required',
    mustBe(isNames, 'a list of property names, each once, in the schema of the object that has them'),
  ],
])

/** Keywords that check values. A misspelled one would check nothing. */
const checking: readonly string[] = [...KEYWORDS.keys()].filter(
  word =>
    !/^(?:\$(?!ref)|title|description|default|examples|deprecated|definitions|content|(?:read|write)Only)/.test(
      word,
    ),
)

/** Words of other formats and tools in schemas, and wrong names that people write for a keyword. */
const annotations =
  /^(?:x-|\$|id$|example$|xml$|externalDocs$|discriminator$|propertyOrdering$|markdownDescription$|enum(?:Names|Descriptions)$|errorMessage$|defaultSnippets$)/
const otherNames: Readonly<Record<string, string>> = {
  ...{
    min: 'minimum" (of a number), "minLength" (of a text) or "minItems',
    regex: 'pattern',
    regexp: 'pattern',
  },
  ...{ max: 'maximum" (of a number), "maxLength" (of a text) or "maxItems' },
}

function each(words: string, check: Check): [string, Check][] {
  return words.split(' ').map((word): [string, Check] => [word, check])
}

function findSlip(keyword: string, value: Json, dialect: Dialect, warn: Warn): string | undefined {
  const check = KEYWORDS.get(keyword)
  if (check === undefined) return unknownSlip(keyword, value, warn)
  if (dialect !== '2020-12' && (isBefore2019(dialect) ? since2019 : since2020).has(keyword))
    return `"${keyword}" has no meaning in ${dialect}, which "$schema" names. Name "https://json-schema.org/draft/2020-12/schema" there.`
  if (SHOWN.has(keyword)) warnOfSecrets(keyword, value, warn)
  return check(value, keyword, warn)
}

const since2020: ReadonlySet<string> = new Set(['prefixItems', '$dynamicRef'])
const since2019: ReadonlySet<string> = new Set([
  ...['dependentRequired', 'dependentSchemas', 'unevaluatedItems', 'unevaluatedProperties'],
  ...['minContains', 'maxContains', '$recursiveRef', ...since2020],
])

function unknownSlip(keyword: string, value: Json, warn: Warn): string | undefined {
  if (annotations.test(keyword)) return undefined
  const meant = Object.hasOwn(otherNames, keyword) ? otherNames[keyword] : nearKeyword(keyword, value)
  if (meant !== undefined)
    return `"${keyword}" is not a keyword of JSON Schema, so nothing would be checked. "${meant}" is.`
  warn(`"${keyword}" is not a keyword of JSON Schema and is not checked.`)
  return undefined
}

/** The keyword that is meant, if the value is one that it can have. */
function nearKeyword(word: string, value: Json): string | undefined {
  const plain = plainWord(word)
  const same = checking.find(keyword => plainWord(keyword) === plain)
  const near = same ?? (word.length >= 3 ? nearest(word, checking, word.length < 8 ? 1 : 2) : undefined)
  return near === undefined || KEYWORDS.get(near)?.(value, near, () => {}) !== undefined ? undefined : near
}

function plainWord(word: string): string {
  return word.toLowerCase().replace(/[^a-z]/g, '')
}

// ---------------------------------------------------------------------------------------------------------
// Values

/** Keywords whose values are data that the model is shown. */
const SHOWN: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'description'])

function warnOfSecrets(keyword: string, value: Json, warn: Warn): void {
  const isFound = isText(value)
    ? hasSecret(value)
    : typeof value === 'object' && hasSecret(JSON.stringify(value) ?? '')
  if (isFound)
    warn(
      `"${keyword}" has a value that looks like a key. The model, its vendor and clients are shown it: take it out of the schema.`,
    )
}

function isNames(value: Json): boolean {
  return Array.isArray(value) && value.every(isText) && new Set(value).size === value.length
}

function typeSlip(type: Json): string | undefined {
  if (Array.isArray(type) && (type.length === 0 || new Set(type).size < type.length))
    return '"type" must name each type once, and one at least.'
  for (const name of Array.isArray(type) ? type : [type])
    if (!isText(name) || !typeNames.includes(name))
      return `${JSON.stringify(name)} is not a type. The types are: ${typeNames.join(', ')}.`
  return undefined
}

function patternSlip(pattern: string): string | undefined {
  try {
    translatePattern(pattern)
    return undefined
  } catch (error) {
    if (error instanceof SchemaError) return error.message
    throw error
  }
}

function patternsSlip(map: Json, keyword: string, warn: Warn): string | undefined {
  if (!isJsonObject(map)) return schemaMap(map, keyword, warn)
  for (const pattern of Object.keys(map)) {
    const slip = patternSlip(pattern)
    if (slip !== undefined) return slip
  }
  return undefined
}

/** The formats that are checked. */
export const formats: readonly string[] =
  'date time date-time duration uri uri-reference uri-template email hostname ipv4 ipv6 uuid regex'.split(' ')

function warnOfFormat(format: string, warn: Warn): undefined {
  if (formats.includes(format)) return
  const same = formats.find(known => plainWord(known) === plainWord(format))
  const meant = same ?? (format.length > 4 ? nearest(format, formats, format.length < 8 ? 1 : 2) : undefined)
  if (meant !== undefined && plainWord(format).length > 3)
    warn(`The format ${quote(format)} is not known and is not checked. Known is "${meant}".`)
}
