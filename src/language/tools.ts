// A tool's declaration. How a tool is run is the engine's port (`Tool` in engine/ports/tool.ts).
import { hashJson } from '../lib/json/hash.ts'
import type { Json, JsonObject } from '../lib/json/index.ts'
import type { FlowLabels } from './flow.ts'

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

export const toolCallers = ['model', 'code'] as const
export type ToolCaller = (typeof toolCallers)[number]

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
  /** Tells apart tools of different servers that are declared alike. Part of the tool's identity; models and people are not shown it. */
  server?: string
  /** The callers that may call it: the model itself, programs that the model writes, or both. Absent: both. */
  callers?: readonly ToolCaller[]
  /** Inputs that fit, for the model to learn from. */
  examples?: readonly Json[]
  /** By protocol name: further fields of the declaration, for a model of that vendor. */
  fields?: Readonly<Record<string, JsonObject>>
  /** The model is not shown it before a search has found it. */
  deferred?: true
  /** Its results name tools that the model can call from then on. */
  finds?: true
  /**
   * By protocol name: the vendor's own definition of this tool, such as `{ type: 'bash_20250124' }`. A model of that vendor
   * is offered the tool under it, and calls it in the vendor's form; any other model is offered a function.
   */
  vendorTyped?: Readonly<Record<string, JsonObject>>
  /** What it says of its results and arguments. Absent: untrusted results, and arguments that lead somewhere. */
  flow?: FlowLabels
}

/** A second run does no harm: it changes nothing, or takes effect once for each call. */
export function mayRepeat({
  readOnly,
  idempotent,
}: Pick<ToolDeclaration, 'readOnly' | 'idempotent'>): boolean {
  return readOnly || idempotent
}

export function mayCall({ callers }: Pick<ToolDeclaration, 'callers'>, caller: ToolCaller): boolean {
  return callers === undefined || callers.includes(caller)
}

/** By declaration, which never changes. Declarations are plain data of many owners, so no single owner could hold it. */
const hashes = new WeakMap<ToolDeclaration, string>()

/** The identity that an approval is bound to. Any change of the declaration changes it. */
export function toolHash(tool: ToolDeclaration): string {
  let hash = hashes.get(tool)
  if (hash === undefined) {
    const { name, title, description, input, output, kind, readOnly, idempotent, destructive, side } = tool
    const { examples, server } = tool
    // The labels of a server's tool are the server's word. Those of the operator's own tools may change without asking anew.
    const flow = server === undefined ? undefined : hashedLabels(tool)
    const known = { name, title, description, input, output, kind, readOnly, idempotent, destructive, side }
    const shown = { ...known, examples, server, flow }
    // A declaration is JSON except for undefined members, which JSON.stringify drops.
    hash = hashJson(JSON.parse(JSON.stringify(shown)) as Json)
    hashes.set(tool, hash)
  }
  return hash
}

/** Whether it destroys is in `destructive`. A tool without other labels keeps the hash that it had before there were any. */
function hashedLabels({ flow = {} }: ToolDeclaration): FlowLabels | undefined {
  const { destroys: _destroys, stated: _stated, ...labels } = flow
  return Object.keys(labels).length === 0 ? undefined : labels
}

/**
 * A vendor that runs a tool on its own side may ask for approval first. Its question becomes a call of this tool, which
 * passes the gate, waits for a person and is recorded like any other call. It is never declared to a model.
 */
export const hostedApproval = 'hosted_tool_approval'

export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { tool: string }
  | { allowed: string[]; mode: 'auto' | 'required' }
