// Declaring a tool to a vendor: its schema in the vendor's dialect, strict where that is possible. A tool that cannot be
// declared is left out with a warning, so that one tool never fails the whole request.

import { TurnwireError } from '../../language/errors.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import type { Warn } from './prepare.ts'
import type { Restores } from './restore-values.ts'
import { type Dialect, toDialect } from './schema-dialect.ts'
import { grammarProblem, textToolSchema } from './text-tools.ts'
import type { WireNames } from './wire-names.ts'

/** False, with a warning, when the tool's grammar cannot be used. */
export function hasUsableGrammar(tool: ToolDeclaration, warn: Warn): boolean {
  const problem = grammarProblem(tool)
  if (problem === undefined) return true
  warn(`The tool "${tool.name}" is not offered, because of its grammar: ${problem}.`)
  return false
}

/** A text tool is declared as a function of one string. Undefined when the tool cannot be offered. */
export function functionSchema(tool: ToolDeclaration, dialect: Dialect, warn: Warn): JsonObject | undefined {
  if (!hasUsableGrammar(tool, warn)) return undefined
  const adapted = toDialect(tool.input.form === 'text' ? textToolSchema : tool.input.schema, dialect)
  if ('unusable' in adapted) {
    warn(`The tool "${tool.name}" is not offered, because of its schema: ${adapted.unusable}.`)
    return undefined
  }
  if (adapted.lost.length > 0)
    warn(`The schema of the tool "${tool.name}" was adapted: ${adapted.lost.join('; ')}.`)
  return adapted.schema
}

/** A strict dialect, and the same with schemas that are fitted into it. */
export type StrictDialects = { exact: Dialect; fitted: Dialect }

/**
 * Undefined when the tool cannot be strict. If it was declared so, there is a warning; a client that declared it so is
 * refused, since it may rely on it.
 */
export function strictSchema(
  tool: ToolDeclaration,
  { exact, fitted }: StrictDialects,
  warn: Warn,
): JsonObject | undefined {
  const { name, input } = tool
  if (input.form !== 'json' || input.strict === false) return undefined
  const adapted = toDialect(input.schema, exact)
  if ('schema' in adapted) return adapted.schema
  if (input.strict !== true) return undefined
  const bent = toDialect(input.schema, fitted)
  if ('schema' in bent) return bent.schema
  if (tool.side === 'client')
    throw new TurnwireError(
      'invalid_tool',
      `The tool "${name}" cannot be strict with this model, because of its schema: ${bent.unusable}. Change the schema, or leave "strict" out.`,
    )
  warn(`The tool "${name}" is not offered as strict, because of its schema: ${bent.unusable}.`)
  return undefined
}

/** Undefined: no arguments that the model writes have to be restored. */
export function makeRestores(
  tools: readonly ToolDeclaration[],
  { exact, fitted }: StrictDialects,
): Restores | undefined {
  const schemas = new Map<string, JsonObject>()
  for (const { name, input } of tools) {
    if (input.form !== 'json' || input.strict !== true || 'schema' in toDialect(input.schema, exact)) continue
    const bent = toDialect(input.schema, fitted)
    if ('schema' in bent && bent.restores) schemas.set(name, input.schema)
  }
  return schemas.size === 0 ? undefined : { tools: schemas }
}

/** Wire names of the text tools. */
export function textToolNames(tools: readonly ToolDeclaration[], names: WireNames): Set<string> {
  return new Set(tools.flatMap(tool => (tool.input.form === 'text' ? names.toWire(tool.name) : [])))
}
