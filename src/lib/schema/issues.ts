// Turns ajv's errors into sentences that a model can act on: where, what was expected, which names and values are
// allowed. Names and values come from outside, so each is quoted and kept short.

import type { ErrorObject } from 'ajv'
import { isJsonObject } from '../json/index.ts'
import { quote } from '../text/index.ts'

/** `path` is a JSON Pointer into the value; empty for the value as a whole. */
export type SchemaIssue = { path: string; message: string }

const MAX_ISSUES = 20
const MAX_LISTED = 20

export function toIssues(errors: readonly ErrorObject[]): SchemaIssue[] {
  const issues = new Map<string, SchemaIssue>()
  for (const error of errors) {
    const issue = { path: error.instancePath.slice(0, 500).toWellFormed(), message: explain(error) }
    issues.set(`${issue.path}\n${issue.message}`, issue)
    if (issues.size >= MAX_ISSUES) break
  }
  return [...issues.values()]
}

type Explain = (params: Record<string, unknown>, error: ErrorObject) => string

const EXPLAIN: Readonly<Record<string, Explain>> = {
  required: params => `is missing the required property ${quote(params['missingProperty'])}`,
  dependentRequired: missingBeside,
  dependencies: missingBeside,
  additionalProperties: (params, error) => unknownProperty(params['additionalProperty'], error),
  unevaluatedProperties: (params, error) => unknownProperty(params['unevaluatedProperty'], error),
  propertyNames: params => `has a property name that is not allowed: ${quote(params['propertyName'])}`,
  enum: params => `must be one of: ${quotedList(params['allowedValues'])}`,
  const: params => `must be exactly ${quote(params['allowedValue'], 200)}`,
  type: (params, error) => `must be ${oneOrMore(params['type'])}${butIs(error)}`,
  format: params => `must be a valid ${String(params['format'])}`,
  pattern: params => `must match the pattern ${quote(params['pattern'], 200)}`,
  uniqueItems: () => 'must not contain equal items',
  anyOf: () => 'must match at least one of the alternatives in anyOf',
  oneOf: params =>
    Array.isArray(params['passingSchemas'])
      ? 'matches more than one of the alternatives in oneOf, but must match exactly one'
      : 'must match exactly one of the alternatives in oneOf',
  not: () => 'must not match the schema in not',
  'false schema': () => 'is not allowed here',
}

function explain(error: ErrorObject): string {
  const known = Object.hasOwn(EXPLAIN, error.keyword) ? EXPLAIN[error.keyword] : undefined
  if (known !== undefined) return known(error.params, error)
  return (error.message ?? `fails ${error.keyword}`).slice(0, 300)
}

function missingBeside(params: Record<string, unknown>): string {
  return `is missing the property ${quote(params['missingProperty'])}, required beside ${quote(params['property'])}`
}

function unknownProperty(name: unknown, error: ErrorObject): string {
  const declared = isJsonObject(error.parentSchema) ? error.parentSchema['properties'] : undefined
  const allowed = isJsonObject(declared) ? quotedList(Object.keys(declared)) : ''
  return `has the unknown property ${quote(name)}${allowed === '' ? '' : `; known are: ${allowed}`}`
}

function quotedList(values: unknown): string {
  if (!Array.isArray(values)) return ''
  const shown = values.slice(0, MAX_LISTED).map(value => quote(value))
  return shown.join(', ') + (values.length > MAX_LISTED ? `, and ${values.length - MAX_LISTED} more` : '')
}

function oneOrMore(types: unknown): string {
  return Array.isArray(types) ? types.join(' or ') : String(types)
}

function butIs(error: ErrorObject): string {
  if (!('data' in error)) return ''
  const { data } = error
  return `, but is ${data === null ? 'null' : Array.isArray(data) ? 'array' : typeof data}`
}
