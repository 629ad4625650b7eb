// Rewrites a schema for ajv. Some keywords of JSON Schema mean something else to ajv, or nothing, so they are written
// in an equal form that ajv reads correctly: draft-04 as draft-07, dynamic references as plain ones, `if` beside
// unevaluated properties as alternatives. Many schemas name no dialect and are of an older one: a list of `items` and
// exclusive bounds that are true or false have no meaning in 2020-12, so they are read as they were meant. A schema
// that needs none of this is returned as it is. inspectSchema has refused the rest.

import type { Json, JsonObject } from '../json/index.ts'
import { type Dialect, isBefore2019 } from './dialects.ts'
import { keywordForm, mapSchemas } from './keywords.ts'
import { listItems, numberBounds } from './older-drafts.ts'

const REWRITTEN =
  /"(?:\$dynamicRef"|\$recursiveRef"|nullable"|unevaluated(?:Properties|Items)"|\$id"|\$(?:dynamicA|a)nchor"|items":\[|exclusiveM\w+imum":[tf])/

/** `text`: the schema as JSON. It was inspected, so it is not too deep. */
export function rewriteSchema(schema: JsonObject, text: string, dialect: Dialect): JsonObject {
  if (dialect !== 'draft-04' && !REWRITTEN.test(text)) return schema
  const { $schema, ...rest } = schema
  const rewriter = new Rewriter(dialect, /"unevaluated(?:Properties|Items)":/.test(text), rest)
  const rewritten = rewriter.object(rest, true)
  if (dialect === 'draft-04') rewritten['$schema'] = 'http://json-schema.org/draft-07/schema#'
  else if ($schema !== undefined) rewritten['$schema'] = $schema
  return rewritten
}

class Rewriter {
  readonly #dialect: Dialect
  /** Some subschema asks which properties or items others have evaluated. */
  readonly #asksEvaluated: boolean
  /** References to the root by the names of its anchors, which ajv does not find. */
  readonly #rootNames: readonly string[]
  /** Inside an unknown keyword, where an `$id` names nothing. */
  #isUnknown = false
  /** Inside a resource of its own `$id`, which has other anchors. */
  #isEmbedded = false

  constructor(dialect: Dialect, asksEvaluated: boolean, { $anchor, $dynamicAnchor }: JsonObject) {
    this.#dialect = dialect
    this.#asksEvaluated = asksEvaluated
    this.#rootNames = [$anchor, $dynamicAnchor].flatMap(name =>
      typeof name === 'string' ? [`#${name}`] : [],
    )
  }

  object(schema: JsonObject, isRoot: boolean): JsonObject {
    const isEmbedded = this.#isEmbedded
    this.#isEmbedded ||= !isRoot && typeof schema['$id'] === 'string'
    const members = Object.entries(schema)
    const copy = Object.fromEntries(members.map(([keyword, value]) => [keyword, this.#value(keyword, value)]))
    if (this.#dialect === 'draft-04') renameId(copy)
    if (this.#dialect === '2020-12') listItems(copy)
    numberBounds(copy)
    if (this.#isUnknown || (!isRoot && typeof copy['$ref'] === 'string' && isBefore2019(this.#dialect)))
      delete copy['$id']
    if (this.#isUnknown) {
      delete copy['$anchor']
      delete copy['$dynamicAnchor']
    }
    // ajv reads it beside "type" and refuses it elsewhere, where it says nothing.
    if (copy['type'] === undefined) delete copy['nullable']
    followPlainly(copy, '$dynamicRef')
    followPlainly(copy, '$recursiveRef')
    const { $ref } = copy
    if (typeof $ref === 'string' && !this.#isEmbedded && this.#rootNames.includes($ref)) copy['$ref'] = '#'
    if (this.#asksEvaluated && copy['if'] !== undefined) asAlternatives(copy)
    this.#isEmbedded = isEmbedded
    return copy
  }

  #value(keyword: string, value: Json): Json {
    const isUnknown = this.#isUnknown
    this.#isUnknown ||= keywordForm(keyword) === undefined
    const copy = mapSchemas(keyword, value, schema => this.object(schema, false))
    this.#isUnknown = isUnknown
    return copy
  }
}

function renameId(schema: JsonObject): void {
  if (typeof schema['id'] === 'string') schema['$id'] = schema['id']
  delete schema['id']
}

/** With one anchor of each name, which inspectSchema makes sure of, a dynamic reference leads where a plain one does. */
function followPlainly(schema: JsonObject, keyword: '$dynamicRef' | '$recursiveRef'): void {
  const ref = schema[keyword]
  if (typeof ref !== 'string') return
  delete schema[keyword]
  if (schema['$ref'] === undefined) schema['$ref'] = ref
  else conjoin(schema, { $ref: ref })
}

/** ajv counts what a failed `if` has evaluated, too. What a failed alternative has evaluated does not count. */
function asAlternatives(schema: JsonObject): void {
  const { if: condition, then: yes = true, else: no = true } = schema
  if (condition === undefined) return
  delete schema['if']
  delete schema['then']
  delete schema['else']
  conjoin(schema, { anyOf: [{ allOf: [condition, yes] }, { allOf: [{ not: condition }, no] }] })
}

function conjoin(schema: JsonObject, added: JsonObject): void {
  const { allOf } = schema
  schema['allOf'] = [...(Array.isArray(allOf) ? allOf : []), added]
}
