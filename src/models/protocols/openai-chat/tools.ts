// The tools that are offered over Chat Completions, and which of them the model may or must use. A schema is
// adapted to what the server takes, so that one tool never fails the whole request.

import type { ModelRequest } from '../../../engine/ports.ts'
import type { ToolDeclaration } from '../../../language/tools.ts'
import type { Json, JsonObject } from '../../../lib/json.ts'
import { grammarProblem, textToolDescription, textToolSchema } from '../../common/custom-tools.ts'
import { openaiLoose, openaiStrict, toDialect } from '../../common/schema-dialect.ts'
import { type NameRule, toolNames, type WireNames } from '../../common/wire-names.ts'
import type { Target } from '../../protocol.ts'
import type { ChatQuirk } from './quirks.ts'

const nameRule: NameRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 }
const mostTools = 128

export type Warn = (text: string) => void

export type Offer = {
  names: WireNames
  /** What is sent of each of our tools, by our name. */
  tools: Map<string, JsonObject>
  /** Wire names of text tools that are offered as functions. */
  wrapped: Set<string>
}

export function offerTools(
  request: Pick<ModelRequest, 'tools' | 'choice'>,
  target: Target,
  warn: Warn,
): Offer {
  const names = toolNames(request.tools, nameRule)
  const offer: Offer = { names, tools: new Map(), wrapped: new Set() }
  const offered = among(request, has(target, 'no-allowed-tools'))
  const room = Math.max(0, mostTools - target.hosted.length)
  for (const tool of mostWanted(offered, request, room, warn)) {
    const declared = declare(tool, names.toWire(tool.name), target, offer, warn)
    if (declared !== undefined) offer.tools.set(tool.name, declared)
  }
  return offer
}

const has = (target: Target, quirk: ChatQuirk): boolean => target.quirks.has(quirk)

function among(
  request: Pick<ModelRequest, 'tools' | 'choice'>,
  byOffering: boolean,
): readonly ToolDeclaration[] {
  const { choice, tools } = request
  if (!byOffering || typeof choice === 'string' || 'tool' in choice) return tools
  return tools.filter(tool => choice.allowed.includes(tool.name))
}

/** The vendor takes so many and no more: the tool that is demanded is among them. */
function mostWanted(
  tools: readonly ToolDeclaration[],
  { choice }: Pick<ModelRequest, 'choice'>,
  room: number,
  warn: Warn,
): readonly ToolDeclaration[] {
  if (tools.length <= room) return tools
  warn(`The vendor takes ${mostTools} tools at most: ${tools.length - room} are not offered.`)
  const named = typeof choice === 'string' ? [] : 'tool' in choice ? [choice.tool] : choice.allowed
  const first = tools.filter(tool => named.includes(tool.name))
  const kept = new Set([...first, ...tools].slice(0, Math.max(room, first.length)).slice(0, room))
  return tools.filter(tool => kept.has(tool))
}

function declare(
  tool: ToolDeclaration,
  wireName: string,
  target: Target,
  offer: Offer,
  warn: Warn,
): JsonObject | undefined {
  const { name, description, input } = tool
  if (input.form === 'text') {
    const problem = grammarProblem(tool)
    if (problem !== undefined) {
      warn(`The tool "${name}" is not offered, because of its grammar: ${problem}.`)
      return undefined
    }
    if (has(target, 'no-custom-tools')) {
      offer.wrapped.add(wireName)
      return asFunction(wireName, textToolDescription(tool), { parameters: textToolSchema })
    }
    const { grammar } = input
    const format = grammar ? { type: 'grammar', grammar: { ...grammar } } : { type: 'text' }
    return { type: 'custom', custom: { name: wireName, description, format } }
  }
  const wantsStrict = input.strict !== false && !has(target, 'no-strict')
  const strict = wantsStrict ? toDialect(input.schema, openaiStrict) : undefined
  if (strict !== undefined && 'schema' in strict)
    return asFunction(wireName, description, { parameters: strict.schema, strict: true })
  if (input.strict === true)
    warn(
      `The tool "${name}" is not offered as strict, because ${strict === undefined ? 'the vendor has no strict tools' : `of its schema: ${strict.unusable}`}.`,
    )
  const loose = toDialect(input.schema, openaiLoose)
  if ('unusable' in loose) {
    warn(`The tool "${name}" is not offered, because of its schema: ${loose.unusable}.`)
    return undefined
  }
  for (const loss of loose.lost) warn(`The schema of the tool "${name}" was adapted: ${loss}.`)
  return asFunction(wireName, description, { parameters: loose.schema })
}

function asFunction(name: string, description: string, more: JsonObject): JsonObject {
  return { type: 'function', function: { name, description, ...more } }
}

/** `tools` and all that the vendor only takes beside them. */
export function toolFields(request: ModelRequest, target: Target, offer: Offer, warn: Warn): JsonObject {
  const tools = [...offer.tools.values(), ...target.hosted]
  if (tools.length === 0) {
    if (request.choice !== 'auto' && request.choice !== 'none')
      warn('The use of a tool was demanded, but no tool is offered.')
    return {}
  }
  const choice = encodeChoice(request, target, offer, warn)
  return {
    tools,
    ...(choice !== undefined && { tool_choice: choice }),
    ...(!has(target, 'no-parallel-switch') && { parallel_tool_calls: request.parallel }),
  }
}

/** Undefined: nothing is said, and the model chooses by itself. */
function encodeChoice({ choice }: ModelRequest, target: Target, offer: Offer, warn: Warn): Json | undefined {
  if (choice === 'auto' || choice === 'none') return choice === 'auto' ? undefined : 'none'
  if (choice === 'required') return demanded(target, warn)
  if ('tool' in choice) {
    const chosen = reference(choice.tool, offer)
    if (chosen === undefined) warn(`The tool "${choice.tool}" is not offered, so its use was not demanded.`)
    return chosen !== undefined && has(target, 'no-required') ? demanded(target, warn) : chosen
  }
  const tools = choice.allowed.flatMap(name => reference(name, offer) ?? [])
  if (tools.length === 0) {
    if (choice.mode === 'required')
      warn('None of the tools that may be used is offered, so the use of one was not demanded.')
    return 'none'
  }
  if (!has(target, 'no-allowed-tools'))
    return { type: 'allowed_tools', allowed_tools: { mode: choice.mode, tools } }
  return choice.mode === 'required' ? demanded(target, warn) : undefined
}

function demanded(target: Target, warn: Warn): Json | undefined {
  if (!has(target, 'no-required')) return 'required'
  warn('This server cannot be made to use a tool, so the model was left to choose.')
  return undefined
}

function reference(name: string, offer: Offer): JsonObject | undefined {
  const tool = offer.tools.get(name)
  if (tool === undefined) return undefined
  const wireName = offer.names.toWire(name)
  return tool['type'] === 'custom'
    ? { type: 'custom', custom: { name: wireName } }
    : { type: 'function', function: { name: wireName } }
}
