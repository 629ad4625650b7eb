// Tools and the choice between them as the Responses API takes them. Text tools are native here. A tool that cannot be
// declared is left out, never the request.

import type { ToolCaller, ToolChoice, ToolDeclaration } from '../../../language/tools.ts'
import type { Json, JsonObject } from '../../../lib/json/index.ts'
import { type ChoiceForm, openaiChoice, openaiFunction } from '../../common/openai.ts'
import { type OfferRequest, type Warn, wireJson } from '../../common/prepare.ts'
import { runsPrograms } from '../../common/programs.ts'
import { withExamples } from '../../common/text-tools.ts'
import { hasUsableGrammar } from '../../common/tool-declarations.ts'
import type { BoundTool } from '../../common/vendor-typed.ts'
import type { NameRule, WireNames } from '../../common/wire-names.ts'
import type { ModelTarget } from '../../protocol.ts'
import { type Declare, searchable, takesDeferred } from './deferred.ts'

export const nameRule: NameRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 128 }

export type Declaring = {
  target: ModelTarget
  declare: Declare
  /** Tools that the input declares, by our names. */
  introduced: ReadonlySet<string>
}

export type Declarations = {
  /** The list as JSON text; undefined if there are none. */
  tools: string | undefined
  /** The fields that the vendor takes only beside tools. */
  fields: JsonObject
}

export function declareTools(
  request: OfferRequest,
  { target, declare, introduced }: Declaring,
  warn: Warn,
): Declarations {
  /** By our name. */
  const declared = new Map<string, JsonObject>()
  const searched: JsonObject[] = []
  const tools: JsonObject[] = []
  const hasPrograms = target.hosted.some(runsPrograms)
  for (const tool of request.tools) {
    const plain = declare(tool)
    if (plain === undefined) continue
    const json =
      hasPrograms && tool.callers ? { ...plain, allowed_callers: encodeCallers(tool.callers) } : plain
    declared.set(tool.name, json)
    if (tool.deferred && request.vendorSearch) searched.push(json)
    else if (!introduced.has(tool.name)) tools.push(json)
  }
  // A vendor that refused to search has refused the request before: without the search nothing could be found.
  if (searched.length > 0 && takesDeferred(target)) tools.push(...searchable(searched))
  tools.push(...target.hosted)
  if (tools.length === 0 && introduced.size === 0) {
    if (request.choice !== 'auto' && request.choice !== 'none')
      warn('The use of a tool was demanded, but no tool is offered.')
    return { tools: undefined, fields: {} }
  }
  const tool_choice = encodeChoice(request.choice, declared, warn)
  return {
    tools: tools.length > 0 ? wireJson(tools) : undefined,
    fields: { ...(tool_choice !== undefined && { tool_choice }), parallel_tool_calls: request.parallel },
  }
}

/** Each tool is declared once, however often a request names it. */
export function declarer(names: WireNames, bound: readonly BoundTool[], warn: Warn): Declare {
  const made = new Map<string, JsonObject | undefined>(
    bound.map(({ tool, declared }) => [tool.name, declared]),
  )
  return tool => {
    if (!made.has(tool.name)) made.set(tool.name, declareTool(tool, names.toWire(tool.name), warn))
    return made.get(tool.name)
  }
}

function encodeCallers(callers: readonly ToolCaller[]): string[] {
  return callers.map(caller => (caller === 'model' ? 'direct' : 'programmatic'))
}

function declareTool(tool: ToolDeclaration, wireName: string, warn: Warn): JsonObject | undefined {
  const { input } = tool
  const description = withExamples(tool)
  const own = tool.fields?.['openai-responses']
  if (input.form === 'text') {
    if (!hasUsableGrammar(tool, warn)) return undefined
    const format = input.grammar ? { type: 'grammar', ...input.grammar } : { type: 'text' }
    return { type: 'custom', name: wireName, description, format, ...own }
  }
  // Without `strict` the vendor decides by itself, so it is always set.
  const fields = openaiFunction(tool, true, warn)
  return fields && { type: 'function', name: wireName, description, ...fields, ...own }
}

function encodeChoice(
  choice: ToolChoice,
  declared: ReadonlyMap<string, JsonObject>,
  warn: Warn,
): Json | undefined {
  const reference = (name: string): JsonObject | undefined => {
    const tool = declared.get(name)
    // A tool that the vendor defines has a type and no name.
    return tool && { type: tool['type']!, ...(tool['name'] !== undefined && { name: tool['name'] }) }
  }
  const among: ChoiceForm['among'] = allowed => ({ type: 'allowed_tools', ...allowed })
  return openaiChoice(choice, { reference, among, canRequire: true }, warn)
}
