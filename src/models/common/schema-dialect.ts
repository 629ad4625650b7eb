// The JSON Schema dialects of the vendors, as data, and the conversion of a tool's schema into one of them. Each loss is
// recorded in words. A schema that cannot be converted is unusable, and then its tool is left out, never the request. The
// gate checks arguments against the schema as declared.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { mapSchemas } from '../../lib/schema/keywords.ts'
import { fitStrict } from './schema-fit.ts'
import { toJsonSchema } from './schema-json.ts'
import { type OpenApiRules, toOpenApi } from './schema-openapi.ts'
import { childSchemas, lose, startWalk, stringsIn, type Walk, wordSet } from './schema-refs.ts'
import { objectRoot } from './schema-root.ts'
import { type StrictRules, strictProblem } from './schema-strict.ts'

export { strictCost } from './schema-strict.ts'

export type Dialect = {
  name: string
  /** The JSON Schema keywords that the vendor knows; absent: all. */
  keywords?: ReadonlySet<string>
  bareRefs?: boolean
  /** The names that properties of the root may have. */
  rootKey?: RegExp
  /** The subset of OpenAPI in place of JSON Schema. */
  openApi?: OpenApiRules
  /** The vendor compiles a schema into states, as estimated by `countStates`. */
  maxStates?: number
  /** The schema is unusable if anything is lost or a rule is broken. */
  strict?: StrictRules
  /** The schema is fitted into the strict rules first. Only for what was asked to be strict. */
  isFitted?: true
}

export type Adapted = {
  /** `type: 'object'` at its root, with `properties`, which may be empty. */
  schema: JsonObject
  /** Losses, in words. */
  lost: string[]
  /** A value may have nulls for what is absent. See restore-values.ts. */
  restores?: true
}

export const openaiLoose: Dialect = { name: 'openai-loose' }

export const openaiStrict: Dialect = {
  name: 'openai-strict',
  bareRefs: true,
  strict: {
    keywords: wordSet(
      'type enum const anyOf $ref $defs properties required additionalProperties items title description pattern format multipleOf maximum exclusiveMaximum minimum exclusiveMinimum minItems maxItems',
    ),
    allRequired: true,
    formats: wordSet('date-time time date duration email hostname ipv4 ipv6 uuid'),
    recursion: true,
    maxMinItems: Number.POSITIVE_INFINITY,
    limits: { depth: 10, properties: 5000, enumValues: 1000, characters: 120_000 },
  },
}

export const openaiFitted: Dialect = { ...openaiStrict, name: 'openai-fitted', isFitted: true }

const anthropicKey = /^[a-zA-Z0-9_.-]{1,64}$/

export const anthropicPlain: Dialect = { name: 'anthropic', rootKey: anthropicKey }

export const anthropicStrict: Dialect = {
  name: 'anthropic-strict',
  rootKey: anthropicKey,
  strict: {
    keywords: wordSet(
      'type enum const anyOf $ref $defs properties required additionalProperties items title description pattern format minItems',
    ),
    allRequired: false,
    formats: wordSet('date-time time date duration email hostname uri ipv4 ipv6 uuid'),
    recursion: false,
    maxMinItems: 1,
    limits: { depth: 50, properties: 5000, enumValues: 1000, characters: 50_000 },
  },
}

export const anthropicFitted: Dialect = { ...anthropicStrict, name: 'anthropic-fitted', isFitted: true }

const GEMINI_STATES = 5000

/** `functionDeclarations[].parameters`. */
export const geminiOpenApi: Dialect = {
  name: 'gemini-openapi',
  maxStates: GEMINI_STATES,
  openApi: {
    stringFormats: wordSet('enum date-time'),
    numberFormats: wordSet('float double int32 int64'),
    maxEnum: 500,
    bounds: true,
  },
}

/** `functionDeclarations[].parametersJsonSchema`, and the `parameters` of Interactions. */
export const geminiJson: Dialect = {
  name: 'gemini-json',
  maxStates: GEMINI_STATES,
  keywords: wordSet(
    'type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties additionalProperties required propertyOrdering',
  ),
}

// ---- conversion ------------------------------------------------------------------------------------------

/** By the tool's own schema object, which never changes: all sessions that offer the tool share the result. */
const adaptedSchemas = new WeakMap<JsonObject, Map<string, Adapted | { unusable: string }>>()

/** The same result object for the same schema object and dialect. */
export function toDialect(schema: JsonObject, dialect: Dialect): Adapted | { unusable: string } {
  const byDialect = adaptedSchemas.get(schema) ?? new Map<string, Adapted | { unusable: string }>()
  adaptedSchemas.set(schema, byDialect)
  let adapted = byDialect.get(dialect.name)
  if (adapted === undefined) {
    adapted = adapt(schema, dialect)
    byDialect.set(dialect.name, adapted)
  }
  return adapted
}

function adapt(schema: JsonObject, dialect: Dialect): Adapted | { unusable: string } {
  const first = convertSchema(schema, dialect, dialect.openApi)
  if (
    'unusable' in first ||
    dialect.maxStates === undefined ||
    countStates(first.schema) <= dialect.maxStates
  )
    return first
  const tight = dialect.openApi === undefined ? undefined : { ...dialect.openApi, maxEnum: 50, bounds: false }
  const second = convertSchema(schema, dialect, tight)
  if ('unusable' in second) return second
  const loosened = tight === undefined ? withoutBounds(second.schema) : second.schema
  if (countStates(loosened) > dialect.maxStates) return { unusable: 'it is too large for this vendor' }
  return {
    schema: loosened,
    lost: [...second.lost, 'the root: bounds and long lists of values are left out'],
  }
}

function convertSchema(
  schema: JsonObject,
  dialect: Dialect,
  openApi: OpenApiRules | undefined,
): Adapted | { unusable: string } {
  const walk = startWalk(schema)
  const root = objectRoot(walk, schema)
  if (root === undefined)
    return { unusable: walk.budget < 0 ? 'it says too much' : 'its arguments can never be an object' }
  if (dialect.rootKey !== undefined) hideKeys(walk, root, dialect.rootKey)
  const converted = openApi === undefined ? toJsonSchema(walk, root, dialect) : toOpenApi(walk, root, openApi)
  const lost = [...walk.lost]
  if (dialect.strict === undefined) return { schema: converted, lost }
  const plain = withoutNotes(converted)
  if (!dialect.isFitted) {
    const problem = lost[0] ?? strictProblem(plain, dialect.strict)
    return problem === undefined ? { schema: plain, lost } : { unusable: problem }
  }
  const fitted = fitStrict(plain, dialect.strict)
  const problem = lost[0] ?? strictProblem(fitted.schema, dialect.strict)
  if (problem !== undefined) return { unusable: problem }
  return { schema: fitted.schema, lost: fitted.loosened, ...(fitted.restores && { restores: true }) }
}

/** A property whose name the vendor refuses is described in words, so that the model can still give it. */
function hideKeys(walk: Walk, root: JsonObject, allowed: RegExp): void {
  const properties = isJsonObject(root['properties']) ? Object.entries(root['properties']) : []
  const hidden = properties.filter(([name]) => !allowed.test(name))
  if (hidden.length === 0) return
  const names = new Set(hidden.map(([name]) => name))
  root['properties'] = Object.fromEntries(properties.filter(([name]) => !names.has(name)))
  const required = stringsIn(root['required'])
  const demanded = hidden.map(([name, schema]) => {
    const need = required.includes(name) ? ' (required)' : ''
    return `${JSON.stringify(name)}${need}: ${JSON.stringify(schema).slice(0, 1000)}`
  })
  if (required.length > 0) root['required'] = required.filter(name => !names.has(name))
  delete root['additionalProperties']
  const said = typeof root['description'] === 'string' ? `${root['description']}\n` : ''
  root['description'] = `${said}Further properties, by name and JSON Schema: ${demanded.join('; ')}`
  lose(walk, '', `the properties ${[...names].slice(0, 5).join(', ')} are said in words only`)
}

const NOTES: ReadonlySet<string> = wordSet(
  'default examples deprecated readOnly writeOnly contentEncoding contentMediaType',
)
const BOUNDS: ReadonlySet<string> = wordSet('minimum maximum minItems maxItems')

/** Notes say nothing about what is valid. Strict modes refuse some of them. */
function withoutNotes(schema: JsonObject): JsonObject {
  return withoutKeywords(schema, keyword => NOTES.has(keyword))
}

function withoutBounds(schema: JsonObject): JsonObject {
  const isLong = (value: Json): boolean => Array.isArray(value) && value.length > 50
  return withoutKeywords(
    schema,
    (keyword, value) => BOUNDS.has(keyword) || (keyword === 'enum' && isLong(value)),
  )
}

function withoutKeywords(
  schema: JsonObject,
  isLeftOut: (keyword: string, value: Json) => boolean,
): JsonObject {
  const kept = Object.entries(schema).filter(([keyword, value]) => !isLeftOut(keyword, value))
  const inside = (child: JsonObject): JsonObject => withoutKeywords(child, isLeftOut)
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, mapSchemas(keyword, value, inside)]))
}

/** A rough count of the states that bounded arrays, bounded numbers, enums and long names multiply to. */
function countStates(node: Json): number {
  if (!isJsonObject(node)) return 1
  let total = 1 + (Array.isArray(node['enum']) ? node['enum'].length : 0)
  const { minimum, maximum, maxItems } = node
  if (typeof minimum === 'number' && typeof maximum === 'number')
    total += Math.log2(Math.max(1, 1 + maximum - minimum)) * 8
  for (const { keyword, key, child } of childSchemas(node)) {
    const copies = keyword === 'items' && typeof maxItems === 'number' ? Math.max(1, maxItems) : 1
    total += (typeof key === 'string' ? key.length / 8 : 0) + copies * countStates(child)
  }
  return total
}
