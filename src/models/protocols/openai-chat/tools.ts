// Tools and the choice between them as Chat Completions takes them. A tool that cannot be declared is left out, never
// the request.

import type { ToolDeclaration } from '../../../language/tools.ts'
import type { Json, JsonObject } from '../../../lib/json/index.ts'
import { asObject, asString } from '../../common/json-read.ts'
import { type ChoiceForm, openaiChoice, openaiFunction } from '../../common/openai.ts'
import { type OfferRequest, type Warn, wireJson } from '../../common/prepare.ts'
import { textToolDescription, withExamples } from '../../common/text-tools.ts'
import { hasUsableGrammar, textToolNames } from '../../common/tool-declarations.ts'
import type { NameRule, WireNames } from '../../common/wire-names.ts'
import type { ModelTarget } from '../../protocol.ts'
import { hasQuirk } from './quirks.ts'

export const nameRule: NameRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 }

export const MAX_TOOLS = 128

export type Declarations = {
  /** The list as JSON text; undefined if there are none. */
  tools: string | undefined
  /** The fields that the vendor takes only beside tools. */
  fields: JsonObject
  /** Wire names of the text tools that are offered as functions of one string. */
  textTools: ReadonlySet<string>
}

export function declareTools(
  request: OfferRequest,
  target: ModelTarget,
  names: WireNames,
  warn: Warn,
): Declarations {
  /** By our name. */
  const declared = new Map<string, JsonObject>()
  for (const tool of offeredTools(request, target, warn)) {
    const json = declareTool(tool, names.toWire(tool.name), target, warn)
    if (json !== undefined) declared.set(tool.name, json)
  }
  const functions = hasQuirk(target, 'no-custom-tools') ? request.tools : []
  const textTools = textToolNames(
    functions.filter(({ name }) => declared.has(name)),
    names,
  )
  const tools = [...declared.values(), ...target.hosted]
  if (tools.length === 0) {
    if (request.choice !== 'auto' && request.choice !== 'none')
      warn('The use of a tool was demanded, but no tool is offered.')
    return { tools: undefined, fields: {}, textTools }
  }
  const tool_choice = encodeChoice(request, target, declared, warn)
  const fields: JsonObject = {
    ...(tool_choice !== undefined && { tool_choice }),
    ...(!hasQuirk(target, 'no-parallel-switch') && { parallel_tool_calls: request.parallel }),
  }
  return { tools: wireJson(tools), fields, textTools }
}

/** As many as the vendor takes, the demanded ones first among them. */
function offeredTools(request: OfferRequest, target: ModelTarget, warn: Warn): readonly ToolDeclaration[] {
  const { choice } = request
  const named = typeof choice === 'string' ? [] : 'tool' in choice ? [choice.tool] : choice.allowed
  const isOnlyAllowed =
    typeof choice === 'object' && 'allowed' in choice && hasQuirk(target, 'no-allowed-tools')
  const tools = isOnlyAllowed ? request.tools.filter(tool => named.includes(tool.name)) : request.tools
  const room = Math.max(0, MAX_TOOLS - target.hosted.length)
  if (tools.length <= room) return tools
  warn(`The vendor takes ${MAX_TOOLS} tools at most: ${tools.length - room} are not offered.`)
  const first = tools.filter(tool => named.includes(tool.name))
  const kept = new Set([...new Set([...first, ...tools])].slice(0, room))
  return tools.filter(tool => kept.has(tool))
}

function declareTool(
  tool: ToolDeclaration,
  wireName: string,
  target: ModelTarget,
  warn: Warn,
): JsonObject | undefined {
  const { input } = tool
  const description = withExamples(tool)
  if (input.form === 'text' && !hasQuirk(target, 'no-custom-tools')) {
    if (!hasUsableGrammar(tool, warn)) return undefined
    const { grammar } = input
    const format = grammar ? { type: 'grammar', grammar: { ...grammar } } : { type: 'text' }
    return { type: 'custom', custom: { name: wireName, description, format } }
  }
  const takesStrict = !hasQuirk(target, 'no-strict')
  if (!takesStrict && input.form === 'json' && input.strict === true)
    warn(`The tool "${tool.name}" is not offered as strict, because the vendor has no strict tools.`)
  const declared = openaiFunction(tool, takesStrict, warn)
  if (declared === undefined) return undefined
  const { parameters, strict } = declared
  const described = { name: wireName, description: textToolDescription(tool) }
  return { type: 'function', function: { ...described, parameters, ...(strict && { strict }) } }
}

function encodeChoice(
  { choice }: OfferRequest,
  target: ModelTarget,
  declared: ReadonlyMap<string, JsonObject>,
  warn: Warn,
): Json | undefined {
  const reference = (name: string): JsonObject | undefined => {
    const tool = declared.get(name)
    if (tool === undefined) return undefined
    const type = tool['type'] === 'custom' ? 'custom' : 'function'
    return { type, [type]: { name: asString(asObject(tool[type])['name']) } }
  }
  const among: ChoiceForm['among'] = allowed_tools => ({ type: 'allowed_tools', allowed_tools })
  const canRequire = !hasQuirk(target, 'no-required')
  return openaiChoice(
    choice,
    hasQuirk(target, 'no-allowed-tools') ? { reference, canRequire } : { reference, among, canRequire },
    warn,
  )
}
