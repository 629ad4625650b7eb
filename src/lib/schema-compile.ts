// The costly half: an inspected schema becomes functions, through ajv. Each schema is compiled in an instance
// of its own, so that no two schemas share an `$id` and nothing grows; only the metaschemas are kept.
// Three things differ from plain ajv, each because the schema may be hostile: patterns run on RE2 (linear
// time), `uniqueItems` compares by canonical text (linear, not quadratic), and references spend from a budget.
// ajv and RE2 are loaded at the first compilation: most commands never validate anything.

import { createRequire } from 'node:module'
import type { Ajv, AnySchema, ErrorObject, Options, ValidateFunction } from 'ajv'
import type { fullFormats } from 'ajv-formats/dist/formats.js'
import type { RE2JS } from 're2js'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from './json.ts'
import { type Dialect, dialectOf, quote, SchemaError } from './schema-inspect.ts'

export type Compiled = {
  /** Stops at the first error. Throws StepsExhausted. */
  first(value: unknown): readonly ErrorObject[] | null
  /** Finds all errors; costs another compilation the first time. Throws StepsExhausted. */
  all(value: unknown): readonly ErrorObject[] | null
}

export class StepsExhausted extends Error {
  override readonly name = 'StepsExhausted'
}

const MAX_STEPS = 200_000
/** RE2 instructions in all patterns of a schema together. */
const MAX_PATTERN_PROGRAM = 50_000
/**
 * Code that stops at the first error nests one level per keyword, which for a large schema overflows the
 * engine's parser. Code that finds all errors is flat, but collects an error per node of a large value.
 */
const NESTED_CODE_BYTES = 10_000
const FLAT_CODE_NODES = 100_000
/** Marks each reference in our copy of the schema; not a name that a schema would use by chance. */
const STEP = '$reference-step'

/** Validation never yields, so one counter serves all validators. */
let steps = 0

export function compile(schema: Json): Compiled {
  if (isJsonObject(schema)) checkKeywords(schema)
  const text = JSON.stringify(schema)
  const shadowing = closedNames(text)
  const flat = text.length > NESTED_CODE_BYTES
  const first = build(schema, flat)
  let all = flat ? first : undefined
  return {
    first: value => {
      if (flat && !hasFewerNodes(value, FLAT_CODE_NODES)) throw new StepsExhausted()
      if (shadowing !== null) refuseInherited(value, shadowing)
      return run(first, value)
    },
    all: value => {
      all ??= build(schema, true)
      return run(all, value)
    },
  }
}

function run(validate: ValidateFunction, value: unknown): readonly ErrorObject[] | null {
  steps = 0
  try {
    if (validate(value) === true) return null
    return validate.errors ?? []
  } catch (error) {
    if (error instanceof RangeError) throw new StepsExhausted()
    throw error
  } finally {
    // ajv leaves the errors, and through them the whole value, hanging on the function.
    validate.errors = null
  }
}

export function hasFewerNodes(value: unknown, limit: number): boolean {
  const pending: unknown[] = [value]
  for (let seen = 1; pending.length > 0; seen++) {
    const next = pending.pop()
    if (typeof next !== 'object' || next === null) continue
    if (Array.isArray(next) && next.length > limit) return false
    for (const key in next) {
      if (seen + pending.length > limit) return false
      pending.push((next as Record<string, unknown>)[key]) // any object is read by key
    }
  }
  return true
}

function build(schema: Json, allErrors: boolean): ValidateFunction {
  const dialect = isJsonObject(schema) ? dialectOf(schema) : '2020-12'
  const ajv = newInstance(dialect, { allErrors, verbose: allErrors })
  try {
    const validate = ajv.compile(markSteps(schema) as AnySchema) // ajv's type is narrower; the metaschema saw to it
    // The engine parses the function when it is first called: a schema that is too much for it shows now.
    run(validate, undefined)
    return validate
  } catch (error) {
    throw asSchemaError(error)
  }
}

function asSchemaError(error: unknown): SchemaError {
  if (error instanceof SchemaError) return error
  if (error instanceof RangeError || error instanceof StepsExhausted) {
    return new SchemaError('', 'The schema is too involved to be compiled. Nest less, and refer to less.')
  }
  const message = error instanceof Error ? error.message : String(error)
  return new SchemaError('', `The schema cannot be compiled: ${message.slice(0, 300)}.`)
}

// ---------------------------------------------------------------------------------------------------------
// Instances

type Loaded = {
  classes: Record<Dialect, new (options: Options) => Ajv>
  formats: typeof fullFormats
  RE2JS: typeof RE2JS
}

let loaded: Loaded | undefined

function load(): Loaded {
  if (loaded !== undefined) return loaded
  const require = createRequire(import.meta.url)
  // `require` is untyped; these are the shapes that the packages' own declarations give.
  const classes = require('ajv') as { Ajv: Loaded['classes'][Dialect] }
  const modern = require('ajv/dist/2020.js') as { Ajv2020: Loaded['classes'][Dialect] }
  const between = require('ajv/dist/2019.js') as { Ajv2019: Loaded['classes'][Dialect] }
  const formats = require('ajv-formats/dist/formats.js') as { fullFormats: typeof fullFormats }
  const re2 = require('re2js') as { RE2JS: typeof RE2JS }
  loaded = {
    classes: {
      '2020-12': modern.Ajv2020,
      '2019-09': between.Ajv2019,
      'draft-07': classes.Ajv,
      'draft-06': classes.Ajv,
    },
    formats: formats.fullFormats,
    RE2JS: re2.RE2JS,
  }
  return loaded
}

function newInstance(dialect: Dialect, options: Options): Ajv {
  const { classes, formats } = load()
  const ajv = new classes[dialect]({
    strict: false,
    logger: false,
    meta: false,
    validateSchema: false,
    ownProperties: true,
    // Inlined, one large definition used a thousand times would be compiled a thousand times.
    inlineRefs: false,
    formats,
    code: { regExp: linearRegExps(), optimize: false },
    ...options,
  })
  ajv.addKeyword({ keyword: STEP, schemaType: 'boolean', before: '$ref', errors: false, validate: takeStep })
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: false,
    validate: (wanted: boolean, items: Json[]) => !wanted || allDifferent(items),
  })
  return ajv
}

function takeStep(): boolean {
  if (++steps > MAX_STEPS) throw new StepsExhausted()
  return true
}

function allDifferent(items: readonly Json[]): boolean {
  const seen = new Set<string>()
  for (const item of items) seen.add(canonicalJson(item))
  return seen.size === items.length
}

type LinearRegExp = { test(text: string): boolean; toString(): string }

/** ajv calls the result once per pattern, at compile time. `toString` is its cache key, so it tells patterns apart. */
function linearRegExps(): ((pattern: string) => LinearRegExp) & { code: string } {
  let instructions = 0
  const create = (pattern: string): LinearRegExp => {
    const program = compilePattern(pattern)
    instructions += program.programSize()
    if (instructions > MAX_PATTERN_PROGRAM) {
      throw new SchemaError(
        '',
        `With the pattern ${quote(pattern)} the patterns grow too large. Repeat less.`,
      )
    }
    return { test: text => program.test(text), toString: () => `re2:${pattern}` }
  }
  return Object.assign(create, { code: 're2' })
}

function compilePattern(pattern: string): RE2JS {
  const { RE2JS } = load()
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern))
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : ''
    throw new SchemaError(
      '',
      `The pattern ${quote(pattern)} is not supported: ${why}. Patterns use RE2 syntax: no lookahead, lookbehind or backreferences.`,
    )
  }
}

// ---------------------------------------------------------------------------------------------------------
// Metaschemas

const metaschemas = new Map<Dialect, Ajv>()

function checkKeywords(schema: JsonObject): void {
  const dialect = dialectOf(schema)
  let ajv = metaschemas.get(dialect)
  if (ajv === undefined) {
    const { classes } = load()
    // Formats stay off: `pattern` would be judged as an ECMAScript expression, and RE2 is the judge here.
    ajv = new classes[dialect]({ strict: false, logger: false, validateFormats: false })
    if (dialect === 'draft-06') ajv.addMetaSchema(draft06())
    metaschemas.set(dialect, ajv)
  }
  const { $schema: _, ...rest } = schema
  const valid = ajv.validate(METASCHEMA_IDS[dialect], rest)
  if (valid === true) return
  const error = ajv.errors?.[0]
  ajv.errors = null
  const path = error?.instancePath ?? ''
  throw new SchemaError(path, `The schema is not valid JSON Schema: ${error?.message ?? 'refused'}.`)
}

const METASCHEMA_IDS: Record<Dialect, string> = {
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
  '2019-09': 'https://json-schema.org/draft/2019-09/schema',
  'draft-07': 'http://json-schema.org/draft-07/schema',
  'draft-06': 'http://json-schema.org/draft-06/schema',
}

function draft06(): JsonObject {
  return createRequire(import.meta.url)('ajv/dist/refs/json-schema-draft-06.json') as JsonObject // a JSON file
}

// ---------------------------------------------------------------------------------------------------------
// Inherited names: ajv notes evaluated properties as keys of a plain object, where "toString" or "__proto__"
// are found without having been noted, so `unevaluatedProperties: false` lets these through.

const INHERITED = new Set(Object.getOwnPropertyNames(Object.prototype))

/** The inherited names that no part of the schema's text declares; null when the schema is not concerned. */
function closedNames(text: string): ReadonlySet<string> | null {
  if (!text.includes('"unevaluatedProperties"')) return null
  return new Set([...INHERITED].filter(name => !text.includes(`"${name}":`)))
}

export class InheritedName extends Error {
  override readonly name = 'InheritedName'
  readonly property: string

  constructor(property: string) {
    super(`The property name ${property} is not allowed.`)
    this.property = property
  }
}

function refuseInherited(value: unknown, names: ReadonlySet<string>): void {
  const pending: unknown[] = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next !== 'object' || next === null) continue
    for (const [key, item] of Object.entries(next)) {
      if (names.has(key) && !Array.isArray(next)) throw new InheritedName(key)
      if (typeof item === 'object') pending.push(item)
    }
  }
}

// ---------------------------------------------------------------------------------------------------------
// Steps: a recursive schema can try each level of a value several times, which is exponential in its depth.
// No static rule tells a harmless recursive union from a hostile one, so each reference taken is counted.

function markSteps(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(markSteps)
  if (!isJsonObject(schema)) return schema
  const copy: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    // Values of these are data, where a "$ref" key is no reference.
    const marked = key === 'const' || key === 'enum' || key === 'default' ? value : markSteps(value)
    Object.defineProperty(copy, key, { value: marked, enumerable: true, configurable: true, writable: true })
  }
  if (isReference(schema)) copy[STEP] = true
  return copy
}

function isReference(schema: JsonObject): boolean {
  return ['$ref', '$dynamicRef', '$recursiveRef'].some(key => typeof schema[key] === 'string')
}
