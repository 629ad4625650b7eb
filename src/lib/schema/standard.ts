// Reads the ways to declare a shape: plain JSON Schema, zod 4, or any Standard Schema that can describe itself. The
// result is JSON Schema (for the wire and the first check) and, for a library's schema, the library's own validation
// (for transforms, defaults and refinements). Checking against the JSON Schema is in index.ts.

import { createRequire } from 'node:module'
import { isJsonObject, type Json, type JsonObject, type ReadonlyJson } from '../json/index.ts'
import { errorMessage } from '../text/error-message.ts'
import { formats } from './declared.ts'
import type { SchemaIssue } from './issues.ts'
import { mapSchemas, notPlain, SchemaError } from './keywords.ts'
import { pointer } from './pointers.ts'

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }
type StandardIssue = {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The part of https://standardschema.dev that is used here, so that it needs no package. */
export type StandardSchema<Input = unknown, Output = Input> = {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** A plain JSON Schema may be a literal `as const`. */
export type AnySchema = StandardSchema | { readonly [key: string]: ReadonlyJson }

/** Values before and after the schema's transforms. A plain JSON Schema carries no types, so it gives JSON objects. */
export type InferInput<S> = S extends StandardSchema<infer Input, unknown> ? Input : JsonObject
export type InferOutput<S> = S extends StandardSchema<unknown, infer Output> ? Output : JsonObject

export type Refined = { value: unknown } | { issues: SchemaIssue[] }
export type SchemaDescription = {
  json: JsonObject
  refine?: (value: unknown) => Promise<Refined> | Refined
}

/** Throws SchemaError. */
export function describeSchema(schema: unknown): SchemaDescription {
  const standard = readStandard(schema)
  if (standard !== undefined)
    return { json: toJsonSchema(schema, standard), refine: value => refine(standard, value) }
  if (!isJsonObject(schema))
    throw new SchemaError(
      '',
      'A schema must be a JSON Schema object, a zod 4 schema or another Standard Schema.',
    )
  const problem = notPlain(schema)
  if (problem !== undefined) throw new SchemaError('', problem)
  for (const key in schema) {
    const shape = readStandard(schema[key])
    if (shape !== undefined)
      throw new SchemaError(
        '',
        `It is an object of ${shape.vendor} schemas, not a schema. Wrap it: ${wrapping(shape.vendor)}`,
      )
    const part: unknown = schema[key]
    const foreign = isJsonObject(part) ? notPlain(part) : undefined
    if (foreign !== undefined) throw new SchemaError(pointer('', key), foreign)
  }
  return { json: schema }
}

function wrapping(vendor: string): string {
  return vendor === 'zod' ? 'z.object({ … }).' : 'in a schema of an object.'
}

/** The library's own check of a value. A plain JSON Schema has none: the value is given back. */
export function refineBySchema(schema: unknown, value: unknown): Promise<Refined> | Refined {
  const standard = readStandard(schema)
  return standard === undefined ? { value } : refine(standard, value)
}

type Standard = StandardSchema['~standard'] & {
  readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => unknown } | undefined
}

function readStandard(schema: unknown): Standard | undefined {
  // Some libraries make schemas that are functions.
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return undefined
  const standard: unknown = '~standard' in schema ? schema['~standard'] : undefined
  if (typeof standard !== 'object' || standard === null || !('validate' in standard)) return undefined
  return typeof standard.validate === 'function' ? (standard as Standard) : undefined // as the spec says
}

function toJsonSchema(schema: unknown, standard: Standard): JsonObject {
  const json = exportJsonSchema(schema, standard)
  // The result may carry methods and shared objects. Writing and parsing it leaves plain data.
  const text = JSON.stringify(json)
  const plain: unknown = JSON.parse(text)
  if (isJsonObject(plain)) return LOOKS_AHEAD.test(text) ? withoutFormatPatterns(plain) : plain
  throw new SchemaError('', `The ${standard.vendor} schema did not describe itself as a JSON Schema object.`)
}

const LOOKS_AHEAD = /\(\?<?[=!]/

/**
 * Zod writes its own pattern beside a format, and some look ahead: of `z.email()` before 4.3, of durations and host names. Such a pattern is
 * left out: the format is checked in its place, and the library checks the value itself. Where there are several patterns, zod's is
 * the first of `allOf`. Patterns of the program stay, and are refused where they cannot be matched.
 */
function withoutFormatPatterns(schema: JsonObject): JsonObject {
  const { pattern, allOf, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      mapSchemas(keyword, value, withoutFormatPatterns),
    ]),
  )
  const hasFormat = typeof rest['format'] === 'string' && formats.includes(rest['format'])
  const others = hasFormat && Array.isArray(allOf) && looksAhead(allOf[0]) ? allOf.slice(1) : allOf
  return {
    ...rest,
    ...(pattern !== undefined && !(hasFormat && looksAhead({ pattern })) && { pattern }),
    ...(others !== undefined && { allOf: others }),
  }
}

function looksAhead(schema: Json | undefined): boolean {
  return isJsonObject(schema) && typeof schema['pattern'] === 'string' && LOOKS_AHEAD.test(schema['pattern'])
}

const TARGET = 'draft-2020-12'

function exportJsonSchema(schema: unknown, standard: Standard): unknown {
  try {
    if (standard.jsonSchema !== undefined) return standard.jsonSchema.input({ target: TARGET })
    if (standard.vendor === 'zod' && isObjectWith(schema, '_zod')) return zodToJson(schema)
  } catch (error) {
    throw new SchemaError(
      '',
      `The ${standard.vendor} schema cannot be written as JSON Schema: ${errorMessage(error).replace(/\.$/, '')}. Use what JSON can hold, such as text or numbers.`,
    )
  }
  throw new SchemaError(
    '',
    `A ${standard.vendor} schema of this version cannot describe itself as JSON Schema. ${substituteFor(standard.vendor)}`,
  )
}

function substituteFor(vendor: string): string {
  if (vendor === 'zod') return 'Use zod 4: import { z } from "zod" of version 4, or from "zod/v4".'
  if (vendor === 'valibot')
    return 'Wrap it: toStandardJsonSchema(schema) of "@valibot/to-json-schema", or write JSON Schema in its place.'
  return 'Write JSON Schema in its place.'
}

/** Zod's smaller builds describe themselves only through zod's core, which is loaded only for them. */
function zodToJson(schema: object): unknown {
  const core = createRequire(import.meta.url)('zod/v4/core') as ZodCore // untyped require; zod declares this
  return core.toJSONSchema(schema, { target: TARGET, io: 'input' })
}

type ZodCore = { toJSONSchema(schema: object, options: { target: string; io: 'input' }): unknown }

function isObjectWith(value: unknown, key: string): value is object {
  return typeof value === 'object' && value !== null && key in value
}

// ---------------------------------------------------------------------------------------------------------

function refine(standard: Standard, value: unknown): Promise<Refined> | Refined {
  const result = standard.validate(value)
  return result instanceof Promise ? result.then(toRefined) : toRefined(result)
}

const MAX_ISSUES = 20

function toRefined(result: StandardResult<unknown>): Refined {
  if (result.issues === undefined) return { value: result.value }
  return { issues: result.issues.slice(0, MAX_ISSUES).map(toIssue) }
}

function toIssue(issue: StandardIssue): SchemaIssue {
  const keys = (issue.path ?? []).map(part => String(typeof part === 'object' ? part.key : part))
  return { path: keys.reduce(pointer, ''), message: issue.message }
}
