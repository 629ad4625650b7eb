// The expensive part: compiles an inspected schema into functions with ajv. Each schema gets its own ajv instance, so
// that no two schemas share an `$id` and no instance grows; only the metaschemas are kept. Three things differ from
// plain ajv, because a schema may be hostile: patterns run on RE2 (linear time), `uniqueItems` compares canonical text
// (linear, not quadratic), and everything that one check evaluates is charged to a budget (costs.ts). ajv and RE2 are
// loaded at the first compilation, because most commands validate nothing.

import { createRequire } from 'node:module'
import type { Ajv, _ as AjvCode, AnySchema, ErrorObject, Options, ValidateFunction } from 'ajv'
import type { fullFormats } from 'ajv-formats/dist/formats.js'
import type { RE2JS } from 're2js'
import { Budget, BudgetSpent } from '../checks/budget.ts'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../json/index.ts'
import { errorMessage } from '../text/error-message.ts'
import { quote } from '../text/index.ts'
import { evaluationMicros, itemMicros, matchMicros, WEIGHT, weighSchema } from './costs.ts'
import { type Dialect, findDialect } from './dialects.ts'
import { SchemaError } from './keywords.ts'
import { translatePattern } from './pattern.ts'
import { rewriteSchema } from './rewrite.ts'

export type Compiled = {
  /** Stops at the first error. Throws BudgetSpent. */
  first(value: unknown, budget: Budget): readonly ErrorObject[] | null
  /** Finds all errors. Compiles the schema a second time at its first use. Throws BudgetSpent. */
  all(value: unknown, budget: Budget): readonly ErrorObject[] | null
}

/** RE2 instructions in all patterns of a schema together. */
const MAX_PATTERN_PROGRAM = 50_000
/**
 * Generated code that stops at the first error nests one level per keyword, which overflows V8's parser for a large
 * schema. Code that finds all errors is flat, but collects an error per node of a large value.
 */
const NESTED_CODE_BYTES = 10_000
const FLAT_CODE_NODES = 100_000

/** Throws SchemaError, and BudgetSpent before the work is begun. */
export function compile(declared: Json, budget: Budget): Compiled {
  const text = JSON.stringify(declared)
  const schema = isJsonObject(declared) ? rewriteSchema(declared, text, findDialect(declared)) : declared
  const weighed = weighSchema(schema)
  budget.spend(weighed.compileMicros)
  if (isJsonObject(schema)) checkKeywords(schema)
  const shadowing = closedNames(text)
  const flat = text.length > NESTED_CODE_BYTES
  const first = build(schema, weighed.schema, flat)
  let all = flat ? first : undefined
  return {
    first: (value, allowed) => {
      if (flat && !hasFewerNodes(value, FLAT_CODE_NODES)) throw new BudgetSpent()
      if (shadowing !== null) refuseInherited(value, shadowing)
      return first(value, allowed)
    },
    all: (value, allowed) => {
      if (all === undefined) {
        allowed.spend(weighed.compileMicros)
        all = build(schema, weighed.schema, true)
      }
      return all(value, allowed)
    },
  }
}

type Validate = Compiled['first']
/** The budget of the current check. */
type Meter = { budget: Budget }

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

function build(schema: Json, weighed: Json, allErrors: boolean): Validate {
  const dialect = isJsonObject(schema) ? findDialect(schema) : '2020-12'
  const meter: Meter = { budget: new Budget(0) }
  const ajv = newInstance(dialect, meter, { allErrors, verbose: allErrors })
  try {
    // ajv's type is narrower than Json; the metaschema has checked the schema.
    const validate = metered(ajv.compile(weighed as AnySchema), meter)
    // V8 parses the generated function at its first call. A schema that is too large for it must fail here.
    validate(undefined, new Budget(FIRST_CALL_MICROS))
    return validate
  } catch (error) {
    throw asSchemaError(error)
  }
}

/** The budget of the first call, whose value (`undefined`) has no content to check. */
const FIRST_CALL_MICROS = 100_000

function metered(validate: ValidateFunction, meter: Meter): Validate {
  return (value, budget) => {
    meter.budget = budget
    try {
      if (validate(value) === true) return null
      return validate.errors ?? []
    } catch (error) {
      if (error instanceof RangeError) throw new BudgetSpent()
      throw error
    } finally {
      // ajv keeps the errors, and through them the whole value, on the function.
      validate.errors = null
    }
  }
}

function asSchemaError(error: unknown): SchemaError {
  if (error instanceof SchemaError) return error
  if (error instanceof RangeError || error instanceof BudgetSpent) {
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
  _: typeof AjvCode
}

let loaded: Loaded | undefined

function load(): Loaded {
  if (loaded !== undefined) return loaded
  const require = createRequire(import.meta.url)
  // `require` is untyped. These are the shapes that the packages declare.
  const classes = require('ajv') as { Ajv: Loaded['classes'][Dialect]; _: Loaded['_'] }
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
      'draft-04': classes.Ajv,
    },
    formats: formats.fullFormats,
    RE2JS: re2.RE2JS,
    _: classes._,
  }
  return loaded
}

function newInstance(dialect: Dialect, meter: Meter, options: Options): Ajv {
  const { classes, formats, _ } = load()
  const ajv = new classes[dialect]({
    strict: false,
    logger: false,
    meta: false,
    validateSchema: false,
    ownProperties: true,
    // If inlined, a large definition that is used a thousand times would be compiled a thousand times.
    inlineRefs: false,
    formats,
    code: { regExp: linearRegExps(meter), optimize: false },
    ...options,
  })
  const spend = (weight: number, value: unknown): void => meter.budget.spend(evaluationMicros(weight, value))
  ajv.addKeyword({
    keyword: WEIGHT,
    schemaType: 'number',
    before: '$ref',
    code: ({ gen, schema, data }) =>
      gen.code(_`${gen.scopeValue('func', { ref: spend })}(${schema}, ${data})`),
  })
  // References are plain ones by now (rewrite.ts). Their anchors are found without these keywords.
  for (const keyword of ['$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor', 'uniqueItems'])
    ajv.removeKeyword(keyword)
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: false,
    validate: (wanted: boolean, items: Json[]) => !wanted || allDifferent(items, meter),
  })
  return ajv
}

function allDifferent(items: readonly Json[], { budget }: Meter): boolean {
  const seen = new Set<string>()
  for (const item of items) {
    const text = canonicalJson(item)
    budget.spend(itemMicros(text))
    if (seen.has(text)) return false
    seen.add(text)
  }
  return true
}

type LinearRegExp = { test(text: string): boolean; toString(): string }

/** ajv calls the result once per pattern, at compile time. It uses `toString` as its cache key. */
function linearRegExps(meter: Meter): ((pattern: string) => LinearRegExp) & { code: string } {
  let instructions = 0
  const create = (pattern: string): LinearRegExp => {
    const program = compilePattern(pattern)
    const size = program.programSize()
    instructions += size
    if (instructions > MAX_PATTERN_PROGRAM) {
      throw new SchemaError(
        '',
        `With the pattern ${quote(pattern)} the patterns grow too large. Repeat less.`,
      )
    }
    const test = (text: string): boolean => {
      meter.budget.spend(matchMicros(size, text))
      return program.test(text)
    }
    return { test, toString: () => `re2:${pattern}` }
  }
  return Object.assign(create, { code: 're2' })
}

function compilePattern(pattern: string): RE2JS {
  const translated = translatePattern(pattern)
  try {
    return load().RE2JS.compile(translated)
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : ''
    throw new SchemaError('', `The pattern ${quote(pattern)} is not supported: ${why}.`)
  }
}

// ---------------------------------------------------------------------------------------------------------
// Metaschemas

const metaschemas = new Map<Dialect, Ajv>()

function checkKeywords(schema: JsonObject): void {
  const dialect = findDialect(schema)
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
  'draft-04': 'http://json-schema.org/draft-07/schema',
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
