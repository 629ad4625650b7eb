// Tools and the choice between them as Anthropic takes them: our tools under names that it allows, the vendor's own
// beside them, strict only where a schema can honour it and the sum of all stays within the vendor's limits. A tool
// that cannot be declared is left out, never the request.

import type { Entry } from '../../../language/history.ts'
import type { ToolDeclaration } from '../../../language/tools.ts'
import type { JsonObject } from '../../../lib/json/index.ts'
import { calledNames } from '../../common/history.ts'
import { asObject } from '../../common/json-read.ts'
import { type OfferRequest, type Warn, wireJson } from '../../common/prepare.ts'
import { runsPrograms } from '../../common/programs.ts'
import { anthropicFitted, anthropicPlain, anthropicStrict, strictCost } from '../../common/schema-dialect.ts'
import { textToolDescription } from '../../common/text-tools.ts'
import { functionSchema, strictSchema, textToolNames } from '../../common/tool-declarations.ts'
import type { BoundTool } from '../../common/vendor-typed.ts'
import type { NameRule, WireNames } from '../../common/wire-names.ts'
import type { ModelTarget } from '../../protocol.ts'
import type { HistoryFacts } from './context.ts'
import { takesDeferred } from './deferred.ts'

const strictDialects = { exact: anthropicStrict, fitted: anthropicFitted }

/** Summed over all strict tools of a request. `characters` stands for a compiled grammar that would be too large. */
const STRICT_LIMITS = { tools: 20, optional: 24, unions: 16, characters: 50_000 }

const COUNTED = ['optional', 'unions', 'characters'] as const

/** The schema stays within what is left. */
export function fitsStrict(schema: JsonObject, left = STRICT_LIMITS): boolean {
  const cost = strictCost(schema)
  return left.tools > 0 && COUNTED.every(name => cost[name] <= left[name])
}

function spendStrict(schema: JsonObject, left: typeof STRICT_LIMITS): void {
  const cost = strictCost(schema)
  for (const name of COUNTED) left[name] -= cost[name]
}

/** Names of the vendor's own tools are taken: a tool of ours with such a name gets another spelling. */
export function nameRuleFor(hosted: readonly JsonObject[]): NameRule & { reserved: ReadonlySet<string> } {
  return { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 128, reserved: new Set(hostedNames(hosted)) }
}

function hostedNames(hosted: readonly JsonObject[]): string[] {
  return hosted.flatMap(tool => (typeof tool['name'] === 'string' && !isOverlay(tool) ? tool['name'] : []))
}

/**
 * An object in `target.hosted` that has a name but neither a vendor's type nor a schema. It adds fields such as
 * `defer_loading`, `allowed_callers` or `cache_control` to our tool of that name, or to all of ours if the name is `*`.
 */
function isOverlay(tool: JsonObject): boolean {
  const isPlain = tool['type'] === undefined || tool['type'] === 'custom'
  return isPlain && tool['input_schema'] === undefined && typeof tool['name'] === 'string'
}

// ---- declarations ----------------------------------------------------------------------------------------

export type ToolContext = {
  request: OfferRequest
  target: ModelTarget
  names: WireNames
  /** Our tools that the vendor defines: they are declared in its form. */
  bound: readonly BoundTool[]
  spoken: readonly Entry[]
  facts: HistoryFacts
  /** The form of the answer, which counts as one more strict schema. */
  format: JsonObject | undefined
  warn: Warn
}

export type Declarations = {
  /** The list as JSON text; undefined if there are none. */
  tools: string | undefined
  /** Where a cache mark stands in that text: at the end of the last tool that is loaded. */
  markAt: number
  /** `tool_choice`; undefined: the model chooses. */
  choice: JsonObject | undefined
  /** A call is demanded. */
  isForced: boolean
  /** Tools are offered, and not only those declared that the history names. */
  hasTools: boolean
  /** Wire name → our name, of the tools that are declared. */
  names: ReadonlyMap<string, string>
  textTools: ReadonlySet<string>
}

export function declareTools(context: ToolContext): Declarations {
  const { request, target, names, bound, spoken, warn } = context
  const found = foundNames(context)
  const { offered, choice } = settleChoice(context)
  const wanted = request.tools.filter(
    ({ name }) => offered === undefined || offered.has(name) || found.has(names.toWire(name)),
  )
  const isDeferred = chooseDeferral(context, found)
  const own = wanted.flatMap(
    tool => declareBound(tool, names, bound) ?? declareTool(tool, isDeferred(tool), context) ?? [],
  )
  allowStrict(own, asObject(context.format?.['schema']), warn)
  const tools = [...own.map(({ json }) => json), ...target.hosted.filter(tool => !isOverlay(tool))]
  addPlaceholders(tools, found)
  const hasTools = tools.length > 0
  // The API refuses calls in a history when no tool is declared.
  if (!hasTools) addPlaceholders(tools, calledNames(spoken, names))
  const loaded = keepOneLoaded(tools, warn)
  const tool_choice = hasTools ? encodeChoice(context, choice, loaded) : noChoice(context, loaded)
  return {
    ...listText(loaded),
    choice: tool_choice,
    isForced: tool_choice?.['type'] === 'any' || tool_choice?.['type'] === 'tool',
    hasTools,
    names: new Map(own.map(({ wire, tool }) => [wire, tool.name])),
    textTools: textToolNames(
      own.map(({ tool }) => tool),
      names,
    ),
  }
}

function listText(tools: readonly JsonObject[]): Pick<Declarations, 'tools' | 'markAt'> {
  if (tools.length === 0) return { tools: undefined, markAt: 0 }
  const last = tools.findLastIndex(tool => tool['defer_loading'] !== true)
  const texts = tools.map(wireJson)
  const before = texts.slice(0, last + 1).join(',')
  return { tools: `[${texts.join(',')}]`, markAt: before.length }
}

/** Wire names that a search found, the vendor's or ours: each must be declared, whatever is offered. */
function foundNames({ facts, names, target }: ToolContext): ReadonlySet<string> {
  if (facts.loads.size === 0 || !takesDeferred(target)) return facts.found
  return new Set([...facts.found, ...[...facts.loads].map(name => names.toWire(name))])
}

/** A tool that was found but that nothing in the history refers to, as after a summary, is declared like any other. */
function chooseDeferral(
  { request, target, names }: ToolContext,
  found: ReadonlySet<string>,
): (tool: ToolDeclaration) => boolean {
  if (!takesDeferred(target)) return () => false
  return ({ deferred, name }) =>
    deferred === true && (request.vendorSearch === true || found.has(names.toWire(name)))
}

type DeclaredTool = { tool: ToolDeclaration; wire: string; json: JsonObject; strict: JsonObject | undefined }

function declareBound(
  tool: ToolDeclaration,
  names: WireNames,
  bound: readonly BoundTool[],
): DeclaredTool | undefined {
  const declared = bound.find(each => each.tool.name === tool.name)?.declared
  if (declared === undefined) return undefined
  const json = { ...declared, ...tool.fields?.['anthropic'] }
  return { tool, wire: names.toWire(tool.name), json, strict: undefined }
}

function declareTool(
  tool: ToolDeclaration,
  isDeferred: boolean,
  { names, target: { hosted }, warn }: ToolContext,
): DeclaredTool | undefined {
  const input_schema = functionSchema(tool, anthropicPlain, warn)
  if (input_schema === undefined) return undefined
  const wire = names.toWire(tool.name)
  const hasPlace = tool.input.form === 'json'
  const description = textToolDescription(tool, !hasPlace)
  const json: JsonObject = {
    name: wire,
    description: description.trim() === '' ? tool.name : description,
    input_schema,
    ...(hasPlace && tool.examples && tool.examples.length > 0 && { input_examples: [...tool.examples] }),
  }
  const program = hosted.find(runsPrograms)?.['type']
  if (tool.callers && program !== undefined)
    json['allowed_callers'] = tool.callers.map(caller => (caller === 'model' ? 'direct' : program))
  for (const overlay of hosted) {
    if (!isOverlay(overlay) || (overlay['name'] !== '*' && overlay['name'] !== tool.name)) continue
    const { name: _, type: __, ...fields } = overlay
    Object.assign(json, fields)
  }
  Object.assign(json, tool.fields?.['anthropic'])
  if (isDeferred) json['defer_loading'] = true
  const wantsStrict = tool.input.form === 'json' && tool.input.strict === true && !isCalledFromCode(json)
  return { tool, wire, json, strict: wantsStrict ? strictSchema(tool, strictDialects, warn) : undefined }
}

/** In the order of declaration, as many as the limits hold. Our own gate checks every call anyway. */
function allowStrict(declared: readonly DeclaredTool[], format: JsonObject, warn: Warn): void {
  const left = { ...STRICT_LIMITS }
  spendStrict(format, left)
  for (const { tool, json, strict } of declared) {
    if (strict === undefined || json['strict'] !== undefined) continue
    if (!fitsStrict(strict, left)) {
      warn(`The tool "${tool.name}" is not strict: the strict tools before it use up what Anthropic allows.`)
      continue
    }
    left.tools -= 1
    spendStrict(strict, left)
    json['input_schema'] = strict
    json['strict'] = true
  }
}

/** Declares tools that the history names and that are no longer offered. */
function addPlaceholders(tools: JsonObject[], wanted: ReadonlySet<string>): void {
  const declared = new Set(tools.map(tool => tool['name']))
  const description = 'This tool is no longer available. Do not call it.'
  for (const name of wanted)
    if (!declared.has(name))
      tools.push({ name, description, input_schema: { type: 'object', properties: {} } })
}

/** The API refuses a request in which every tool is loaded later. */
function keepOneLoaded(tools: JsonObject[], warn: Warn): JsonObject[] {
  if (tools.length === 0 || tools.some(tool => tool['defer_loading'] !== true)) return tools
  warn('No tool would be loaded from the start: none is deferred. Declare a tool search tool.')
  return tools.map(tool => ({ ...tool, defer_loading: false }))
}

function isCalledFromCode(tool: JsonObject): boolean {
  const callers = tool['allowed_callers']
  return (
    Array.isArray(callers) &&
    callers.some(caller => typeof caller === 'string' && caller.startsWith('code_execution_'))
  )
}

// ---- choice ----------------------------------------------------------------------------------------------

type SettledChoice = {
  /** Our tools that are offered; undefined: all. */
  offered: ReadonlySet<string> | undefined
  choice: 'auto' | 'none' | 'any' | { tool: string }
}

function settleChoice({ request: { choice, tools }, target, warn }: ToolContext): SettledChoice {
  const known = new Set([...tools.map(tool => tool.name), ...hostedNames(target.hosted)])
  if (choice === 'auto' || choice === 'none') return { offered: undefined, choice }
  if (choice === 'required') return { offered: undefined, choice: 'any' }
  if ('tool' in choice) {
    if (known.has(choice.tool)) return { offered: undefined, choice }
    warn(`The tool "${choice.tool}" cannot be forced: it is not offered.`)
    return { offered: undefined, choice: 'auto' }
  }
  const offered = new Set(choice.allowed.filter(name => known.has(name)))
  if (offered.size === 0) return { offered: undefined, choice: 'none' }
  return { offered, choice: choice.mode === 'auto' ? 'auto' : 'any' }
}

/** Nothing but placeholders is declared. */
function noChoice({ request, warn }: ToolContext, tools: readonly JsonObject[]): JsonObject | undefined {
  if (request.choice !== 'auto' && request.choice !== 'none')
    warn('The use of a tool was demanded, but no tool is offered.')
  return tools.length > 0 ? { type: 'none' } : undefined
}

/** Undefined: the model chooses, which is the default. */
function encodeChoice(
  { request, target, names, warn }: ToolContext,
  choice: SettledChoice['choice'],
  tools: readonly JsonObject[],
): JsonObject | undefined {
  if (choice === 'none') return { type: 'none' }
  const single = request.parallel ? {} : oneAtATime(tools, warn)
  const auto = Object.keys(single).length === 0 ? undefined : { type: 'auto', ...single }
  if (choice === 'auto') return auto
  if (choice === 'any') return { type: 'any', ...single }
  const name = hostedNames(target.hosted).includes(choice.tool) ? choice.tool : names.toWire(choice.tool)
  const tool = tools.find(each => each['name'] === name)
  if (tool !== undefined && !isCalledFromCode(tool)) return { type: 'tool', name, ...single }
  const why = tool === undefined ? 'it could not be declared' : 'it is called from code'
  warn(`The tool "${choice.tool}" cannot be forced: ${why}.`)
  return auto
}

function oneAtATime(tools: readonly JsonObject[], warn: Warn): JsonObject {
  if (!tools.some(isCalledFromCode)) return { disable_parallel_tool_use: true }
  warn('Calls cannot be limited to one at a time while tools are called from code.')
  return {}
}
