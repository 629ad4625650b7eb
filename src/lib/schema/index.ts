// JSON Schema validation of untrusted values against untrusted schemas: 2020-12 by default, 2019-09, draft-07 and
// draft-06 by `$schema`. Making a validator is cheap: the schema is read at the first check, and compiled at the first one
// that needs it (plain.ts). A value is never changed (no defaults, no coercion), and nothing is ever fetched.

import { Budget, BudgetSpent, tryOnLoop } from '../checks/budget.ts'
import { hashJson } from '../json/hash.ts'
import type { Json } from '../json/index.ts'
import { type Compiled, compile, hasFewerNodes, InheritedName } from './compile.ts'
import { LEAST_COMPILE_MICROS } from './costs.ts'
import { inspectSchema, type SchemaSize } from './inspect.ts'
import { type SchemaIssue, toIssues } from './issues.ts'
import { SchemaError } from './keywords.ts'
import { fitsPlain, type PlainSchema, readPlain } from './plain.ts'

export { inspectSchema, SchemaError, type SchemaIssue, type SchemaSize }

export type Validator = {
  /**
   * Null when the value is valid, else at most 20 issues. Throws SchemaError when the schema itself is bad. `micros`
   * limits its estimated cost; a value that costs more is invalid.
   */
  check(value: unknown, micros?: number): SchemaIssue[] | null
  /**
   * The same within the budget that the event loop has left for checks. `text`: the value as JSON. Undefined: it costs
   * more, and the value was not checked.
   */
  checkOnLoop(value: unknown, text: string): SchemaIssue[] | null | undefined
  /** Compiles now instead of at the first check. Throws SchemaError. */
  prepare(): void
}

/** A larger value is not checked on the event loop. A text of this length can hold no such value. */
const LOOP_NODES = 4_000
const SMALL_TEXT = 2 * LOOP_NODES
const DEFAULT_MICROS = 1_000_000

/** Inspects the schema now (throws SchemaError). The schema must not be changed afterwards. */
export function compileSchema(schema: Json): Validator {
  const size = inspectSchema(schema)
  const isLarge = isLargeSchema(size)
  let compiled: Compiled | undefined
  /** Null: ajv is needed. */
  let plain: PlainSchema | null | undefined
  const ready = (budget: Budget): Compiled => {
    compiled ??= shared(schema, budget)
    return compiled
  }
  const fits = (value: unknown, budget: Budget): boolean => {
    plain ??= readPlain(schema, size.bytes) ?? null
    return plain !== null && fitsPlain(plain, value, budget)
  }
  return {
    check(value, micros = DEFAULT_MICROS) {
      try {
        if (fits(value, new Budget(micros))) return null
        return checkValue(ready(new Budget(Number.POSITIVE_INFINITY)), value, new Budget(micros), true)
      } catch (error) {
        if (error instanceof BudgetSpent) return [TOO_INVOLVED]
        throw error
      }
    },
    checkOnLoop(value, text) {
      if (isLarge || (text.length > SMALL_TEXT && !hasFewerNodes(value, LOOP_NODES))) return undefined
      return tryOnLoop(budget =>
        fits(value, budget) ? null : checkValue(ready(budget), value, budget, false),
      )?.value
    },
    prepare: () => {
      plain ??= readPlain(schema, size.bytes) ?? null
      if (plain === null) ready(new Budget(Number.POSITIVE_INFINITY))
    },
  }
}

const TOO_INVOLVED: SchemaIssue = {
  path: '',
  message: 'is nested in a way that takes too many steps to check against the schema; send a simpler value',
}

/** Of a larger value only the first error is reported: finding all can cost far more than refusing the value. */
const EXPLAINED_NODES = 5_000

/** A larger schema is not even weighed on the event loop. */
function isLargeSchema({ bytes, subschemas }: SchemaSize): boolean {
  return bytes > 16_384 || subschemas > 50
}

/** `anyErrors`: if the budget does not suffice to find all errors, the first one will do. Throws BudgetSpent. */
function checkValue(
  compiled: Compiled,
  value: unknown,
  budget: Budget,
  anyErrors: boolean,
): SchemaIssue[] | null {
  try {
    const errors = compiled.first(value, budget)
    if (errors === null) return null
    return toIssues(allErrors(compiled, value, budget, anyErrors) ?? errors)
  } catch (error) {
    if (error instanceof InheritedName) {
      return [{ path: '', message: `has a property named "${error.property}", which is not allowed` }]
    }
    throw error
  }
}

function allErrors(
  compiled: Compiled,
  value: unknown,
  budget: Budget,
  anyErrors: boolean,
): ReturnType<Compiled['all']> {
  if (!hasFewerNodes(value, EXPLAINED_NODES)) return null
  try {
    return compiled.all(value, budget)
  } catch (error) {
    if (error instanceof SchemaError || (anyErrors && error instanceof BudgetSpent)) return null
    throw error
  }
}

// ---------------------------------------------------------------------------------------------------------

const MAX_SHARED = 256
/** Compilations by the schema's hash, least recently used first. Validators of equal schemas share one. */
const cache = new Map<string, Compiled>()

function shared(schema: Json, budget: Budget): Compiled {
  if (budget.left < LEAST_COMPILE_MICROS) throw new BudgetSpent()
  const key = hashJson(schema)
  const known = cache.get(key)
  const compiled = known ?? compile(schema, budget)
  cache.delete(key)
  cache.set(key, compiled)
  if (cache.size > MAX_SHARED) cache.delete(cache.keys().next().value!)
  return compiled
}
