// What a gate that follows values is given of a session's log. It reads it, and changes nothing but `memory`.
import type { CallPart, CallResult } from '../../language/calls.ts'
import type { Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'

export type FlowLog = {
  /** The whole history. It only grows. */
  readonly entries: readonly Entry[]
  /** What the model reads of it: the same list, or one that is replaced when a summary or an edit changes it. */
  readonly view: readonly Entry[]
  /** Of a call that another call made: the calls that this one, and those above it, made before and that have their result. */
  readonly nested: readonly { call: CallPart; result: CallResult }[]
  /** The agent's instructions. */
  readonly system?: string | undefined
  /** Of a session that works for another: what the user said there, and whether untrusted text may have been read. */
  readonly parent?: { readonly words: readonly string[]; readonly tainted: boolean }
  /** The tool of this name, as it is declared now. */
  find(name: string): ToolDeclaration | undefined
  /** The arguments of the call may not be shown. */
  readonly isHidden: boolean
  /** Kept for the gate with the session. Only the gate reads it; it can be lost at any time. */
  readonly memory: { kept?: unknown }
}
