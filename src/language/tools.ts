// What a tool says of itself. How it is run is the engine's port (`Tool` in engine/ports.ts).
import { hashJson } from '../lib/hash.ts'
import type { Json, JsonObject } from '../lib/json.ts'

/** The kinds of the Agent Client Protocol, used on every wire. */
export const toolKinds = [
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'switch_mode',
  'other',
] as const
export type ToolKind = (typeof toolKinds)[number]

export type Grammar = { syntax: 'lark' | 'regex'; definition: string }
export type ToolInput =
  | { form: 'json'; schema: JsonObject; strict?: boolean }
  | { form: 'text'; grammar?: Grammar }

export type ToolDeclaration = {
  name: string
  title?: string
  description: string
  input: ToolInput
  /** JSON Schema of the structured result. */
  output?: JsonObject
  kind: ToolKind
  readOnly: boolean
  idempotent: boolean
  destructive: boolean
  /** `client`: the application runs it and sends the result. */
  side: 'server' | 'client'
}

const hashes = new WeakMap<ToolDeclaration, string>()

/** The identity that an approval is bound to: any change of what was shown changes it. */
export function toolHash(tool: ToolDeclaration): string {
  let hash = hashes.get(tool)
  if (hash === undefined) {
    const { name, title, description, input, output, kind, readOnly, idempotent, destructive, side } = tool
    const shown = { name, title, description, input, output, kind, readOnly, idempotent, destructive, side }
    // Undefined members are dropped by the canonical form; what remains is JSON by construction.
    hash = hashJson(JSON.parse(JSON.stringify(shown)) as Json)
    hashes.set(tool, hash)
  }
  return hash
}

/**
 * A vendor that runs a tool on its own side may ask first. The question is a call of this tool, which passes the gate,
 * waits for a person and is recorded like any other; it is never declared to a model.
 */
export const hostedApproval = 'hosted_tool_approval'

export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { tool: string }
  | { allowed: string[]; mode: 'auto' | 'required' }
