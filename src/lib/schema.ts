// JSON Schema validation of untrusted values against untrusted schemas: 2020-12 by default, 2019-09, draft-07 and
// draft-06 by `$schema`. Making a validator is cheap: the schema is compiled at the first check. A value is never
// changed (no defaults, no coercion), and nothing is ever fetched.

import { hashJson } from './hash.ts'
import type { Json } from './json.ts'
import { type Compiled, compile, hasFewerNodes, InheritedName, StepsExhausted } from './schema-compile.ts'
import { inspectSchema, SchemaError } from './schema-inspect.ts'
import { type SchemaIssue, toIssues } from './schema-issues.ts'

export { inspectSchema, SchemaError, type SchemaIssue }

export type Validator = {
  /** Null when the value is valid, else at most 20 issues. Throws SchemaError when the schema itself is bad. */
  check(value: unknown): SchemaIssue[] | null
  /** Compiles now instead of at the first check. Throws SchemaError. */
  prepare(): void
}

/** Inspects the schema now (throws SchemaError). The schema must not be changed afterwards. */
export function compileSchema(schema: Json): Validator {
  inspectSchema(schema)
  let compiled: Compiled | undefined
  const ready = () => {
    compiled ??= shared(schema)
    return compiled
  }
  return { check: value => checkValue(ready(), value), prepare: () => void ready() }
}

const TOO_INVOLVED: SchemaIssue = {
  path: '',
  message: 'is nested in a way that takes too many steps to check against the schema; send a simpler value',
}

/** Of a larger value only the first error is reported: finding all can cost far more than refusing the value. */
const EXPLAINED_NODES = 5_000

function checkValue(compiled: Compiled, value: unknown): SchemaIssue[] | null {
  try {
    const errors = compiled.first(value)
    if (errors === null) return null
    return toIssues(allErrors(compiled, value) ?? errors)
  } catch (error) {
    if (error instanceof StepsExhausted) return [TOO_INVOLVED]
    if (error instanceof InheritedName) {
      return [{ path: '', message: `has a property named "${error.property}", which is not allowed` }]
    }
    throw error
  }
}

function allErrors(compiled: Compiled, value: unknown): ReturnType<Compiled['all']> {
  if (!hasFewerNodes(value, EXPLAINED_NODES)) return null
  try {
    return compiled.all(value)
  } catch (error) {
    if (error instanceof StepsExhausted || error instanceof SchemaError) return null
    throw error
  }
}

// ---------------------------------------------------------------------------------------------------------

const MAX_SHARED = 256
/** Compilations by the schema's hash, least recently used first. Validators of equal schemas share one. */
const cache = new Map<string, Compiled>()

function shared(schema: Json): Compiled {
  const key = hashJson(schema)
  const known = cache.get(key)
  const compiled = known ?? compile(schema)
  cache.delete(key)
  cache.set(key, compiled)
  if (cache.size > MAX_SHARED) cache.delete(cache.keys().next().value!)
  return compiled
}
