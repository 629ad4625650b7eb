// The tools that are offered to a model of the Responses API, and which of them it may or must use. Text tools
// are native here. A schema is adapted to what the vendor takes, so that one tool never fails the whole request.

import type { ModelRequest } from '../../../engine/ports.ts'
import type { ToolChoice, ToolDeclaration } from '../../../language/tools.ts'
import type { Json, JsonObject } from '../../../lib/json.ts'
import { grammarProblem } from '../../common/custom-tools.ts'
import { openaiLoose, openaiStrict, toDialect } from '../../common/schema-dialect.ts'
import { type NameRule, toolNames, type WireNames } from '../../common/wire-names.ts'

const nameRule: NameRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 128 }

export type Offer = {
  names: WireNames
  /** What is sent of each of our tools, by our name. */
  tools: Map<string, JsonObject>
}

export function offerTools(tools: readonly ToolDeclaration[], warn: (text: string) => void): Offer {
  const names = toolNames(tools, nameRule)
  const sent = new Map<string, JsonObject>()
  for (const tool of tools) {
    const declared = declare(tool, names.toWire(tool.name), warn)
    if (declared !== undefined) sent.set(tool.name, declared)
  }
  return { names, tools: sent }
}

function declare(
  tool: ToolDeclaration,
  wireName: string,
  warn: (text: string) => void,
): JsonObject | undefined {
  const { name, description, input } = tool
  if (input.form === 'text') {
    const problem = grammarProblem(tool)
    if (problem !== undefined) {
      warn(`The tool "${name}" is not offered, because of its grammar: ${problem}.`)
      return undefined
    }
    const format = input.grammar ? { type: 'grammar', ...input.grammar } : { type: 'text' }
    return { type: 'custom', name: wireName, description, format }
  }
  const shared = { type: 'function', name: wireName, description }
  // Left out, `strict` would be the vendor's guess; so it is always said, and said only where it can be kept.
  const strict = input.strict === false ? undefined : toDialect(input.schema, openaiStrict)
  if (strict !== undefined && 'schema' in strict)
    return { ...shared, parameters: strict.schema, strict: true }
  if (input.strict === true && strict !== undefined)
    warn(`The tool "${name}" is not offered as strict, because of its schema: ${strict.unusable}.`)
  const loose = toDialect(input.schema, openaiLoose)
  if ('unusable' in loose) {
    warn(`The tool "${name}" is not offered, because of its schema: ${loose.unusable}.`)
    return undefined
  }
  for (const loss of loose.lost) warn(`The schema of the tool "${name}" was adapted: ${loss}.`)
  return { ...shared, parameters: loose.schema, strict: false }
}

/** Undefined: nothing is said, and the model chooses by itself. */
export function encodeChoice(
  choice: ToolChoice,
  offer: Offer,
  warn: (text: string) => void,
): Json | undefined {
  if (typeof choice === 'string') return choice === 'auto' ? undefined : choice
  if ('tool' in choice) {
    const chosen = reference(choice.tool, offer)
    if (chosen === undefined) warn(`The tool "${choice.tool}" is not offered, so its use was not demanded.`)
    return chosen
  }
  const tools = choice.allowed.flatMap(name => reference(name, offer) ?? [])
  if (tools.length > 0) return { type: 'allowed_tools', mode: choice.mode, tools }
  if (choice.mode === 'required')
    warn('None of the tools that may be used is offered, so the use of one was not demanded.')
  return 'none'
}

function reference(name: string, offer: Offer): JsonObject | undefined {
  const tool = offer.tools.get(name)
  return tool && { type: tool['type']!, name: tool['name']! }
}

/** `tools` and all that the vendor only takes beside them. */
export function toolFields(
  request: Pick<ModelRequest, 'tools' | 'choice' | 'parallel'>,
  hosted: readonly JsonObject[],
  offer: Offer,
  warn: (text: string) => void,
): JsonObject {
  const tools = [...offer.tools.values(), ...hosted]
  if (tools.length === 0) {
    if (request.choice !== 'auto' && request.choice !== 'none')
      warn('The use of a tool was demanded, but no tool is offered.')
    return {}
  }
  const choice = encodeChoice(request.choice, offer, warn)
  return {
    tools,
    ...(choice !== undefined && { tool_choice: choice }),
    parallel_tool_calls: request.parallel,
  }
}
