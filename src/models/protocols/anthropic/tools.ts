// Tools and the choice between them as Anthropic takes them: our tools under names it allows, the vendor's own beside
// them, strict only where a schema can honour it and the sum of all stays within its limits. One tool that cannot
// be said is left out, never the request. It knows of the history only which tools that speaks of.

import type { ModelRequest } from '../../../engine/ports.ts'
import type { ToolChoice, ToolDeclaration } from '../../../language/tools.ts'
import type { Json, JsonObject } from '../../../lib/json.ts'
import { grammarProblem, textToolDescription, textToolSchema } from '../../common/custom-tools.ts'
import { anthropicPlain, anthropicStrict, strictCost, toDialect } from '../../common/schema-dialect.ts'
import { type NameRule, toolNames, type WireNames } from '../../common/wire-names.ts'
import type { Target } from '../../protocol.ts'
import type { Warn } from './media.ts'

/** Summed over all strict tools of a request; the last stands for a grammar that would be too large. */
const STRICT_LIMITS = { tools: 20, optional: 24, unions: 16, characters: 50_000 }
const NAME_LENGTH = 128

// ---- names -----------------------------------------------------------------------------------------------

const rules = new Map<string, NameRule>()

/** Names of the vendor's own tools are taken: a tool of ours that has one gets another spelling. */
export function namesOf(
  tools: readonly ToolDeclaration[],
  hosted: readonly JsonObject[],
): { names: WireNames; key: string } {
  const taken = hosted.flatMap(({ name, ...rest }) =>
    typeof name === 'string' && /^[\w-]+$/.test(name) && !isOverlay({ name, ...rest }) ? name : [],
  )
  const key = taken.join('|')
  let rule = rules.get(key)
  if (rule === undefined) {
    const free = key === '' ? '' : `(?!(?:${key})$)`
    rule = { pattern: new RegExp(`^${free}[a-zA-Z0-9_-]+$`), maxLength: NAME_LENGTH }
    rules.set(key, rule)
  }
  return { names: toolNames(tools, rule), key }
}

/**
 * Among `target.hosted`, an object that has a name but neither a vendor's type nor a schema adds fields to our tool
 * of that name, or to all of ours when the name is `*`: `defer_loading`, `allowed_callers`, `cache_control` and such.
 */
function isOverlay(tool: JsonObject): boolean {
  const isPlain = tool['type'] === undefined || tool['type'] === 'custom'
  return isPlain && tool['input_schema'] === undefined && typeof tool['name'] === 'string'
}

// ---- declarations ----------------------------------------------------------------------------------------

export type ToolPlan = {
  tools: JsonObject[]
  choice: JsonObject | undefined
  /** Wire name → our name, of the tools that are declared. */
  names: Map<string, string>
  /** Wire names of text tools. */
  texts: Set<string>
}

export type Mentioned = {
  /** Wire names that the history's calls bear. */
  called(): ReadonlySet<string>
  /** Wire names that must be declared whatever is offered. */
  referred: ReadonlySet<string>
}

export function planTools(
  request: ModelRequest,
  target: Target,
  names: WireNames,
  mentioned: Mentioned,
  thinks: boolean,
  warn: Warn,
): ToolPlan {
  const { offered, choice } = settleChoice(request, thinks, warn)
  const wanted = request.tools.filter(
    tool =>
      offered === undefined || offered.has(tool.name) || mentioned.referred.has(names.toWire(tool.name)),
  )
  const own = wanted.flatMap(tool => declare(tool, names, target.hosted, warn) ?? [])
  allowStrict(own, warn)
  const plan: ToolPlan = {
    tools: own.map(declared => declared.json),
    choice: undefined,
    names: new Map(own.map(({ wire, tool }) => [wire, tool.name])),
    texts: new Set(own.flatMap(({ wire, tool }) => (tool.input.form === 'text' ? wire : []))),
  }
  plan.tools.push(...target.hosted.filter(tool => !isOverlay(tool)))
  addMissing(plan, mentioned.referred)
  const onlyPast = plan.tools.length === 0
  if (onlyPast) addMissing(plan, mentioned.called())
  keepOneLoaded(plan, warn)
  plan.choice = onlyPast
    ? nothingToChoose(plan, request.choice, warn)
    : choiceField(choice, request.parallel, plan, names, warn)
  return plan
}

type Declared = { tool: ToolDeclaration; wire: string; json: JsonObject; strict: JsonObject | undefined }

function declare(
  tool: ToolDeclaration,
  names: WireNames,
  hosted: readonly JsonObject[],
  warn: Warn,
): Declared | undefined {
  const wire = names.toWire(tool.name)
  const description = tool.input.form === 'text' ? textToolDescription(tool) : tool.description
  const schema = schemaOf(tool, warn)
  if (schema === undefined) return undefined
  const json: JsonObject = { name: wire, description: description.trim() === '' ? tool.name : description }
  json['input_schema'] = schema
  for (const overlay of hosted) {
    if (!isOverlay(overlay) || (overlay['name'] !== '*' && overlay['name'] !== tool.name)) continue
    const { name: _, type: __, ...fields } = overlay
    Object.assign(json, fields)
  }
  return { tool, wire, json, strict: isFromCode(json) ? undefined : strictSchema(tool, warn) }
}

function schemaOf(tool: ToolDeclaration, warn: Warn): JsonObject | undefined {
  const problem = grammarProblem(tool)
  if (problem !== undefined) {
    warn(`The tool "${tool.name}" was left out, because of its grammar: ${problem}.`)
    return undefined
  }
  if (tool.input.form === 'text') return textToolSchema
  const adapted = toDialect(tool.input.schema, anthropicPlain)
  if ('unusable' in adapted) {
    warn(`The tool "${tool.name}" was left out: ${adapted.unusable}.`)
    return undefined
  }
  if (adapted.lost.length > 0) warn(`The schema of "${tool.name}" was adapted: ${adapted.lost.join('; ')}.`)
  return adapted.schema
}

function strictSchema({ name, input }: ToolDeclaration, warn: Warn): JsonObject | undefined {
  if (input.form !== 'json' || input.strict !== true) return undefined
  const adapted = toDialect(input.schema, anthropicStrict)
  if (!('unusable' in adapted)) return adapted.schema
  warn(`The tool "${name}" is not strict: ${adapted.unusable}.`)
  return undefined
}

/** In the order of declaration, as many as the limits hold. Our own gate checks every call all the same. */
function allowStrict(declared: readonly Declared[], warn: Warn): void {
  const left = { ...STRICT_LIMITS }
  for (const { tool, json, strict } of declared) {
    if (strict === undefined || json['strict'] !== undefined) continue
    const { optional, unions, characters } = strictCost(strict)
    const fits =
      left.tools > 0 && optional <= left.optional && unions <= left.unions && characters <= left.characters
    if (!fits) {
      warn(`The tool "${tool.name}" is not strict: the strict tools before it use up what Anthropic allows.`)
      continue
    }
    left.tools -= 1
    left.optional -= optional
    left.unions -= unions
    left.characters -= characters
    json['input_schema'] = strict
    json['strict'] = true
  }
}

/** Calls in a history need some tool declared, and what a search has found needs that very one. */
function addMissing(plan: ToolPlan, wanted: ReadonlySet<string>): void {
  const declared = new Set(plan.tools.map(tool => tool['name']))
  for (const name of wanted) {
    if (declared.has(name)) continue
    const description = 'This tool is no longer available. Do not call it.'
    plan.tools.push({ name, description, input_schema: { type: 'object', properties: {} } })
  }
}

/** Tools that load later need one that is there from the start, as a search tool is. */
function keepOneLoaded(plan: ToolPlan, warn: Warn): void {
  if (plan.tools.length === 0 || plan.tools.some(tool => tool['defer_loading'] !== true)) return
  warn('No tool would be loaded from the start: none is deferred. Declare a tool search tool.')
  plan.tools = plan.tools.map(tool => ({ ...tool, defer_loading: false }))
}

function isFromCode(tool: JsonObject): boolean {
  const callers: Json = tool['allowed_callers'] ?? []
  return (
    Array.isArray(callers) &&
    callers.some(caller => typeof caller === 'string' && caller.startsWith('code_execution_'))
  )
}

// ---- choice ----------------------------------------------------------------------------------------------

type Settled = {
  offered: ReadonlySet<string> | undefined
  choice: 'auto' | 'none' | 'any' | { tool: string }
}

/** Which of our tools are offered (undefined: all), and what is left of the choice once thinking has had its say. */
function settleChoice({ choice, tools }: ModelRequest, thinks: boolean, warn: Warn): Settled {
  const known = new Set(tools.map(tool => tool.name))
  if (choice === 'auto' || choice === 'none') return { offered: undefined, choice }
  if (choice === 'required') return { offered: undefined, choice: thinks ? freed(choice, warn) : 'any' }
  if ('tool' in choice) {
    if (!known.has(choice.tool)) {
      warn(`The tool "${choice.tool}" cannot be forced: it is not offered.`)
      return { offered: undefined, choice: 'auto' }
    }
    return thinks
      ? { offered: new Set([choice.tool]), choice: freed(choice, warn) }
      : { offered: undefined, choice }
  }
  const offered = new Set(choice.allowed.filter(name => known.has(name)))
  if (offered.size === 0) return { offered: undefined, choice: 'none' }
  if (choice.mode === 'auto') return { offered, choice: 'auto' }
  return { offered, choice: thinks ? freed(choice, warn) : 'any' }
}

function freed(choice: ToolChoice, warn: Warn): 'auto' {
  const what = typeof choice === 'object' && 'tool' in choice ? `"${choice.tool}"` : 'a tool'
  warn(
    `Calling ${what} was to be forced, which Anthropic refuses while the model thinks: it is left to choose.`,
  )
  return 'auto'
}

function nothingToChoose(plan: ToolPlan, choice: ToolChoice, warn: Warn): JsonObject | undefined {
  if (choice !== 'auto' && choice !== 'none') warn('No tool is offered, so that none can be called.')
  return plan.tools.length > 0 ? { type: 'none' } : undefined
}

function choiceField(
  choice: Settled['choice'],
  parallel: boolean,
  plan: ToolPlan,
  names: WireNames,
  warn: Warn,
): JsonObject | undefined {
  if (choice === 'none') return { type: 'none' }
  const single = parallel ? {} : oneAtATime(plan, warn)
  if (typeof choice === 'string') {
    const isDefault = choice === 'auto' && Object.keys(single).length === 0
    return isDefault ? undefined : { type: choice, ...single }
  }
  const name = names.toWire(choice.tool)
  const tool = plan.tools.find(each => each['name'] === name)
  if (tool !== undefined && !isFromCode(tool)) return { type: 'tool', name, ...single }
  const why = tool === undefined ? 'it could not be declared' : 'it is called from code'
  warn(`The tool "${choice.tool}" cannot be forced: ${why}.`)
  return Object.keys(single).length === 0 ? undefined : { type: 'auto', ...single }
}

function oneAtATime(plan: ToolPlan, warn: Warn): JsonObject {
  if (!plan.tools.some(isFromCode)) return { disable_parallel_tool_use: true }
  warn('Calls cannot be limited to one at a time while tools are called from code.')
  return {}
}
