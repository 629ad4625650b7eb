// Declaring a tool to a vendor: its schema in the vendor's dialect, strict where that is possible. A tool that cannot be
// declared is left out with a warning, so that one tool never fails the whole request.

import type { ToolDeclaration } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json.ts'
import { type Dialect, toDialect } from './schema-dialect.ts'
import { grammarProblem, textToolSchema } from './text-tools.ts'
import type { Warn } from './warnings.ts'
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

/** Undefined when the tool cannot be strict, with a warning if it was declared so. */
export function strictSchema(tool: ToolDeclaration, dialect: Dialect, warn: Warn): JsonObject | undefined {
  const { name, input } = tool
  if (input.form !== 'json' || input.strict === false) return undefined
  const adapted = toDialect(input.schema, dialect)
  if ('schema' in adapted) return adapted.schema
  if (input.strict === true)
    warn(`The tool "${name}" is not offered as strict, because of its schema: ${adapted.unusable}.`)
  return undefined
}

/** Wire names of the text tools. */
export function textToolNames(tools: readonly ToolDeclaration[], names: WireNames): Set<string> {
  return new Set(tools.flatMap(tool => (tool.input.form === 'text' ? names.toWire(tool.name) : [])))
}
