// Vendor-typed tools: a vendor defines them (`bash_20250124`, `shell`, `apply_patch`, `computer`), its models are trained on
// them, and the caller runs them. A tool of ours says in `vendorTyped` under which definition a protocol's models
// see it. The gate, the log, policy and other vendors know only our tool and its own arguments.
//
// To bind another one:
// 1. Add a `VendorTyped` to the table in `vendor-typed.ts` of the protocol's folder. `read` turns the vendor's call into the
//    arguments of our tool, `write` turns them back, `result` makes the vendor's form of an outcome.
// 2. Teach the strict double of that vendor (src/testing/doubles) the declaration, the call and the result.
// 3. Give the tool `vendorTyped: { <protocol>: { type: '…' } }`. Its input schema must take what `read` gives.

import type { CallForm, Outcome } from '../../language/calls.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import type { Warn } from './prepare.ts'

/** All functions are pure. `call` is the vendor's call: a `tool_use` block, an output item, a `functionCall`. */
export type VendorTyped = {
  /** Which declarations it is for, by their `type`. */
  type: RegExp
  /** The declaration as the vendor takes it, from the one that the tool was given. */
  declare(given: JsonObject): JsonObject
  /** The form of our tool's arguments. A tool of the other form is declared as an ordinary one. */
  form: CallForm
  /** Whether a call is one of this tool. */
  isCall(call: JsonObject, declared: JsonObject): boolean
  /** The arguments of our tool as text. Absent: the call has arguments as those of a function, and they are ours. */
  read?(call: JsonObject): string
  /**
   * The fields of the vendor's call that say what our arguments say. Undefined: the vendor has no form for them. Absent: as
   * a function's; or, for a protocol that keeps whole items, calls of other vendors are told as those of a function.
   */
  write?(text: string): JsonObject | undefined
  /** The fields of the vendor's result. Absent: as those of a function. */
  result?(outcome: Outcome, call: JsonObject): JsonObject
  /** Items that follow the result, for what it has no place for. Only for a protocol of items. */
  after?(outcome: Outcome): JsonObject[]
}

/** A tool of ours that is declared in the vendor's form. */
export type BoundTool = { tool: ToolDeclaration; typed: VendorTyped; declared: JsonObject }

/** The quirk of a deployment whose models do not know the vendor's own tools: they are offered functions. */
export const plainTools = 'plain-tools'

/** The tools of a request that this protocol declares in the vendor's form. */
export function bindTools(
  tools: readonly ToolDeclaration[],
  protocol: string,
  table: readonly VendorTyped[],
  warn: Warn,
): BoundTool[] {
  const bound: BoundTool[] = []
  for (const tool of tools) {
    const given = tool.vendorTyped && Object.hasOwn(tool.vendorTyped, protocol) && tool.vendorTyped[protocol]
    if (!given) continue
    const typed = table.find(each => each.type.test(vendorType(given)))
    const declared = typed?.declare(given)
    const isTaken = bound.some(other => JSON.stringify(other.declared) === JSON.stringify(declared))
    if (!typed || !declared)
      warn(`The tool "${tool.name}" is offered as a function: "${vendorType(given)}" is not known here.`)
    else if (typed.form !== tool.input.form)
      warn(`The tool "${tool.name}" is offered as a function: "${vendorType(given)}" takes ${typed.form}.`)
    else if (isTaken)
      warn(
        `The tool "${tool.name}" is offered as a function: another tool is the vendor's "${vendorType(given)}".`,
      )
    else bound.push({ tool, typed, declared })
  }
  return bound
}

/** A vendor without a `type` names the tool by the declaration's one key. */
function vendorType(given: JsonObject): string {
  const { type } = given
  return typeof type === 'string' ? type : (Object.keys(given)[0] ?? '')
}

export function boundTo(bound: readonly BoundTool[], call: JsonObject): BoundTool | undefined {
  return bound.find(({ typed, declared }) => typed.isCall(call, declared))
}
