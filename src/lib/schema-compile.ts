// The expensive part: compiles an inspected schema into functions with ajv. Each schema gets its own ajv instance, so
// that no two schemas share an `$id` and no instance grows; only the metaschemas are kept. Three things differ from
// plain ajv, because a schema may be hostile: patterns run on RE2 (linear time), `uniqueItems` compares canonical text
// (linear, not quadratic), and the references that one check follows are counted and limited.
// ajv and RE2 are loaded at the first compilation, because most commands validate nothing.

import { createRequire } from 'node:module'
import type { Ajv, AnySchema, ErrorObject, Options, ValidateFunction } from 'ajv'
import type { fullFormats } from 'ajv-formats/dist/formats.js'
import type { RE2JS } from 're2js'
import { errorMessage } from './error-message.ts'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from './json.ts'
import { type Dialect, dialectOf, SchemaError } from './schema-inspect.ts'
import { quote } from './text.ts'

export type Compiled = {
  /** Stops at the first error. Throws StepsExhausted. */
  first(value: unknown): readonly ErrorObject[] | null
  /** Finds all errors. Compiles the schema a second time at its first use. Throws StepsExhausted. */
  all(value: unknown): readonly ErrorObject[] | null
}

export class StepsExhausted extends Error {
  override readonly name = 'StepsExhausted'
}

const MAX_STEPS = 200_000
/** RE2 instructions in all patterns of a schema together. */
const MAX_PATTERN_PROGRAM = 50_000
/**
 * Generated code that stops at the first error nests one level per keyword, which overflows V8's parser for a large
 * schema. Code that finds all errors is flat, but collects an error per node of a large value.
 */
const NESTED_CODE_BYTES = 10_000
const FLAT_CODE_NODES = 100_000
/** A keyword that is added beside each reference. No schema uses this name by chance. */
const STEP = '$reference-step'

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
      return first(value)
    },
    all: value => {
      all ??= build(schema, true)
      return all(value)
    },
  }
}

type Validate = Compiled['first']
/** References followed in the current check. */
type StepCounter = { steps: number }

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

function build(schema: Json, allErrors: boolean): Validate {
  const dialect = isJsonObject(schema) ? dialectOf(schema) : '2020-12'
  const counter: StepCounter = { steps: 0 }
  const ajv = newInstance(dialect, counter, { allErrors, verbose: allErrors })
  try {
    // ajv's type is narrower than Json; the metaschema has checked the schema.
    const validate = withStepLimit(ajv.compile(markSteps(schema) as AnySchema), counter)
    // V8 parses the generated function at its first call. A schema that is too large for it must fail here.
    validate(undefined)
    return validate
  } catch (error) {
    throw asSchemaError(error)
  }
}

function withStepLimit(validate: ValidateFunction, counter: StepCounter): Validate {
  return value => {
    counter.steps = 0
    try {
      if (validate(value) === true) return null
      return validate.errors ?? []
    } catch (error) {
      if (error instanceof RangeError) throw new StepsExhausted()
      throw error
    } finally {
      // ajv keeps the errors, and through them the whole value, on the function.
      validate.errors = null
    }
  }
}

function asSchemaError(error: unknown): SchemaError {
  if (error instanceof SchemaError) return error
  if (error instanceof RangeError || error instanceof StepsExhausted) {
    return new SchemaError('', 'The schema is too involved to be compiled. Nest less, and refer to less.')
  }
  return new SchemaError('', `The schema cannot be compiled: ${errorMessage(error).slice(0, 300)}.`)
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
  // `require` is untyped. These are the shapes that the packages declare.
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

function newInstance(dialect: Dialect, counter: StepCounter, options: Options): Ajv {
  const { classes, formats } = load()
  const ajv = new classes[dialect]({
    strict: false,
    logger: false,
    meta: false,
    validateSchema: false,
    ownProperties: true,
    // If inlined, a large definition that is used a thousand times would be compiled a thousand times.
    inlineRefs: false,
    formats,
    code: { regExp: linearRegExps(), optimize: false },
    ...options,
  })
  const takeStep = (): boolean => {
    if (++counter.steps > MAX_STEPS) throw new StepsExhausted()
    return true
  }
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

function allDifferent(items: readonly Json[]): boolean {
  const seen = new Set<string>()
  for (const item of items) seen.add(canonicalJson(item))
  return seen.size === items.length
}

type LinearRegExp = { test(text: string): boolean; toString(): string }

/** ajv calls the result once per pattern, at compile time. It uses `toString` as its cache key. */
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
    // Formats stay off: they would check `pattern` as an ECMAScript expression, but patterns here are RE2's.
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
// Inherited names: ajv records evaluated properties as keys of a plain object. "toString" or "__proto__" are found there
// without having been recorded, so `unevaluatedProperties: false` would let them pass.

const INHERITED = new Set(Object.getOwnPropertyNames(Object.prototype))

/** The inherited names that the schema's text does not declare. Null if it has no `unevaluatedProperties`. */
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
// Steps: a recursive schema can check each level of a value several times, which is exponential in its depth. No static
// rule tells a harmless recursive union from a hostile one, so each reference that is followed is counted.

function markSteps(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(markSteps)
  if (!isJsonObject(schema)) return schema
  const copy: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    // The values of these keywords are data, in which a "$ref" key is not a reference.
    const marked = key === 'const' || key === 'enum' || key === 'default' ? value : markSteps(value)
    Object.defineProperty(copy, key, { value: marked, enumerable: true, configurable: true, writable: true })
  }
  if (isReference(schema)) copy[STEP] = true
  return copy
}

function isReference(schema: JsonObject): boolean {
  return ['$ref', '$dynamicRef', '$recursiveRef'].some(key => typeof schema[key] === 'string')
}
