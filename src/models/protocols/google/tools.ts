// Tools and the choice between them, as far as both of Google's APIs agree. The field names of each API are in its own
// tools.ts.

import type { ToolDeclaration } from '../../../language/tools.ts'
import type { JsonObject } from '../../../lib/json/index.ts'
import { asObject, isEmptyObject } from '../../common/json-read.ts'
import type { OfferRequest, Warn } from '../../common/prepare.ts'
import type { Dialect } from '../../common/schema-dialect.ts'
import { textToolDescription } from '../../common/text-tools.ts'
import { functionSchema } from '../../common/tool-declarations.ts'
import type { BoundTool } from '../../common/vendor-typed.ts'
import type { NameRule, WireNames } from '../../common/wire-names.ts'

/** Newer versions of the API take more characters. Every version takes these. */
export const nameRule: NameRule = { pattern: /^[a-zA-Z0-9_.:-]+$/, maxLength: 64, firstLetter: true }

export type GoogleTool = {
  tool: ToolDeclaration
  wire: string
  description: string
  /** Absent for a tool without arguments: the API refuses an empty object of properties. */
  schema?: JsonObject
}

/** The request with the tools that are declared as functions: not those that have the vendor's own form. */
export function unboundTools(request: OfferRequest, bound: readonly BoundTool[]): OfferRequest {
  if (bound.length === 0) return request
  const isBound = new Set(bound.map(({ tool }) => tool.name))
  return { ...request, tools: request.tools.filter(({ name }) => !isBound.has(name)) }
}

/** The tools in the vendor's dialect. A tool that cannot be declared is left out, never the request. */
export function googleTools(
  request: OfferRequest,
  names: WireNames,
  dialect: Dialect,
  warn: Warn,
): GoogleTool[] {
  const declared = request.tools.flatMap(tool => {
    const schema = functionSchema(tool, dialect, warn)
    if (schema === undefined) return []
    const described = { tool, wire: names.toWire(tool.name), description: textToolDescription(tool) }
    return [takesArguments(schema) ? { ...described, schema } : described]
  })
  if (!request.parallel && declared.length > 0)
    warn('Gemini has no switch for one call at a time: only the first call of its answer is kept.')
  return declared
}

function takesArguments(schema: JsonObject): boolean {
  const isOpen = schema['additionalProperties'] !== undefined && schema['additionalProperties'] !== false
  return isOpen || !isEmptyObject(asObject(schema['properties']))
}

export type GoogleChoice = { mode: 'auto' | 'any' | 'none' | 'validated'; only?: string[] }

/** Undefined: nothing is to be said. */
export function googleChoice(
  { choice }: OfferRequest,
  declared: readonly GoogleTool[],
  names: WireNames,
  warn: Warn,
): GoogleChoice | undefined {
  if (declared.length === 0) return undefined
  if (choice === 'none') return { mode: 'none' }
  if (choice === 'required') return { mode: 'any' }
  if (choice === 'auto') {
    const isStrict = declared.some(({ tool: { input } }) => input.form === 'json' && input.strict === true)
    return { mode: isStrict ? 'validated' : 'auto' }
  }
  const wanted = 'tool' in choice ? [choice.tool] : choice.allowed
  const mode = 'tool' in choice || choice.mode === 'required' ? 'any' : 'validated'
  const offered = new Set(declared.map(({ tool }) => tool.name))
  const only = [...new Set(wanted)].filter(name => offered.has(name)).map(name => names.toWire(name))
  if (only.length > 0) return { mode, only }
  warn('The tool choice names no tool that is offered: no call is allowed.')
  return { mode: 'none' }
}
