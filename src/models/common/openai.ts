// Code that the two protocols of OpenAI's APIs share: declaring a function, choosing a tool, and the error codes after
// which no later attempt succeeds.

import type { ToolChoice, ToolDeclaration } from '../../language/tools.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import type { Warn } from './prepare.ts'
import { openaiFitted, openaiLoose, openaiStrict } from './schema-dialect.ts'
import { functionSchema, type StrictDialects, strictSchema } from './tool-declarations.ts'

export const openaiDialects: StrictDialects = { exact: openaiStrict, fitted: openaiFitted }

/** Strict where the schema can honour it. Undefined when the tool cannot be offered. */
export function openaiFunction(
  tool: ToolDeclaration,
  takesStrict: boolean,
  warn: Warn,
): { parameters: JsonObject; strict: boolean } | undefined {
  const exact = takesStrict ? strictSchema(tool, openaiDialects, warn) : undefined
  if (exact !== undefined) return { parameters: exact, strict: true }
  const parameters = functionSchema(tool, openaiLoose, warn)
  return parameters && { parameters, strict: false }
}

export type ChoiceForm = {
  /** How a tool that is offered is referred to; undefined for any other. */
  reference: (name: string) => JsonObject | undefined
  /** How a choice among some tools is written. Absent if only these are offered instead. */
  among?: (choice: { mode: 'auto' | 'required'; tools: JsonObject[] }) => JsonObject
  /** False for a server that cannot be made to use a tool. */
  canRequire: boolean
}

/** Undefined: the model chooses, which is the default. */
export function openaiChoice(choice: ToolChoice, form: ChoiceForm, warn: Warn): Json | undefined {
  const { reference, among, canRequire } = form
  const required = (): Json | undefined => {
    if (canRequire) return 'required'
    warn('This server cannot be made to use a tool, so the model was left to choose.')
    return undefined
  }
  if (choice === 'auto' || choice === 'none') return choice === 'auto' ? undefined : 'none'
  if (choice === 'required') return required()
  if ('tool' in choice) {
    const chosen = reference(choice.tool)
    if (chosen === undefined) warn(`The tool "${choice.tool}" is not offered, so its use was not demanded.`)
    return chosen === undefined || canRequire ? chosen : required()
  }
  const { mode, allowed } = choice
  const tools = allowed.map(reference).filter(tool => tool !== undefined)
  if (tools.length > 0) return among?.({ mode, tools }) ?? (mode === 'required' ? required() : undefined)
  if (mode === 'required')
    warn('None of the tools that may be used is offered, so the use of one was not demanded.')
  return 'none'
}

/** Answered with 429 as well, but no later attempt succeeds. */
export const quotaCodes: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
])
