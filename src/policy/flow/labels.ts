// The labels of a tool with everything that it does not say filled in, always as the least trusted: untrusted output, a
// call that acts, arguments that are sinks.

import { readOutputName } from '../../language/calls.ts'
import {
  type FlowEffect,
  type FlowLabels,
  type FlowRole,
  planActionsName,
  sinkRoles,
} from '../../language/flow.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'

export type Labels = {
  trusted: boolean
  /** Undefined: outsiders fill all fields. */
  outsiders: ReadonlySet<string> | undefined
  effect: FlowEffect
  acts: boolean
  destroys: boolean
  args: ReadonlyMap<string, FlowRole>
  record: string | undefined
  ids: ReadonlyMap<string, string>
  creates: boolean
  private: boolean
  words: readonly string[]
  stated: boolean
  /** Its results are about tools: they are trusted, and no source of values. */
  isAboutTools: boolean
  /** By argument: what a short value of it may be called. Filled when it is first needed. */
  nouns: Map<string, readonly string[]>
  /** The values that an argument has if nothing is said. */
  defaults: ReadonlyMap<string, Json>
  /** Arguments that a call has to have: an empty one is a value too. */
  required: ReadonlySet<string>
  /** By argument: the values that its schema lists. */
  choices: ReadonlyMap<string, readonly Json[]>
  /** Whether the tool itself has a field of this name, so that no model has made it up. */
  isField(name: string): boolean
  /** The same of an argument. Where a schema says nothing of any, each plain name may be one. */
  isArgument(name: string): boolean
}

/** By declaration, which never changes. */
const known = new WeakMap<ToolDeclaration, Labels>()

export function resolveLabels(tool: ToolDeclaration): Labels {
  let labels = known.get(tool)
  if (!labels) {
    labels = fillIn(tool)
    known.set(tool, labels)
  }
  return labels
}

const all = '*'

function fillIn(tool: ToolDeclaration): Labels {
  const flow: FlowLabels = tool.flow ?? {}
  const effect = flow.effect ?? (tool.readOnly ? 'none' : 'changes')
  const named = flow.outsiders
  // Fields that outsiders fill are read too, whatever the output is called.
  const hasOutsiders = named !== undefined && named.length > 0
  const outsiders = named === undefined || named.includes(all) ? undefined : new Set(named.map(fieldName))
  return {
    // The rest of a long result is as its tool; what tools there are is the operator's word.
    trusted: flow.output === 'trusted' && !hasOutsiders && tool.name !== readOutputName,
    outsiders,
    effect,
    acts: effect !== 'none',
    destroys: flow.destroys === true,
    args: new Map(Object.entries(flow.args ?? {})),
    record: flow.record,
    ids: new Map(Object.entries(flow.ids ?? {})),
    creates: flow.creates === true,
    private: flow.private === true,
    words: flow.words ?? [],
    stated: flow.stated === true,
    isAboutTools: tool.finds === true || tool.name === planActionsName,
    nouns: new Map(),
    ...readSchema(tool),
  }
}

function readSchema({
  description,
  input,
  flow,
}: ToolDeclaration): Pick<Labels, 'defaults' | 'required' | 'choices' | 'isField' | 'isArgument'> {
  const schema = input.form === 'json' ? input.schema : {}
  const { properties, required } = schema
  const defaults = new Map<string, Json>()
  const choices = new Map<string, readonly Json[]>()
  const fields = isJsonObject(properties) ? Object.entries(properties) : []
  const declared = new Set([...fields.map(([name]) => name), ...Object.keys(flow?.args ?? {})])
  for (const [name, property] of fields) {
    if (!isJsonObject(property)) continue
    if (property['default'] !== undefined) defaults.set(name, property['default'])
    if (Array.isArray(property['enum'])) choices.set(name, property['enum'])
  }
  const isOpen =
    declared.size === 0 &&
    schema['additionalProperties'] === undefined &&
    schema['patternProperties'] === undefined
  let words: Set<string> | undefined
  const isField = (name: string): boolean => {
    if (declared.has(name)) return true
    if (!plainName.test(name)) return false
    // Fields of objects within are declared, or described in words.
    words ??= new Set(`${description} ${JSON.stringify(schema)}`.match(/[\p{L}\p{N}_-]+/gu))
    return words.has(name)
  }
  return {
    defaults,
    required: new Set(Array.isArray(required) ? required.map(String) : []),
    choices,
    isField,
    isArgument: name => (isOpen && plainName.test(name)) || isField(name),
  }
}

const plainName = /^[\p{L}_][\p{L}\p{N}_-]{0,40}$/u

/** Fields are compared without case and separators: `file_name` is `fileName`. */
export function fieldName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
}

const sinks: ReadonlySet<string> = new Set(sinkRoles)

/** An argument without a role is a sink; so is what a call that changes something looks for. */
export function isSink(role: FlowRole | undefined, effect: FlowEffect): boolean {
  return role === undefined || sinks.has(role) || (role === 'query' && effect === 'changes')
}
