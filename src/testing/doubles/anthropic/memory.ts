/**
 * What an Anthropic double remembers of its own answers, to check that they come back unchanged.
 * Signatures verify by themselves (`seal.ts`); memory is for what a script chose and for whole turns.
 */

import type { JsonRecord } from '../shape.ts'
import type { Thread } from './threads.ts'

export type AnthropicMemory = {
  counter: number
  /** Signatures and encrypted texts of unknown origin are taken as genuine. */
  trustForeign: boolean
  /** Scripted signature → the thinking text it was handed out with. */
  signatures: Map<string, string>
  redacted: Set<string>
  encrypted: Set<string>
  /** Tool call id → the thinking blocks of the response that asked for it. */
  thinking: Map<string, JsonRecord[]>
  /** Server tool call id → the whole content of the paused response it came in. */
  paused: Map<string, unknown[]>
  /** Tool call id → the container that its code waits in. */
  containers: Map<string, string>
  /** Response id → the conversation that is held under it. */
  threads: Map<string, Thread>
}

export const newAnthropicMemory = (options: { trustForeign?: boolean } = {}): AnthropicMemory => ({
  counter: 0,
  trustForeign: options.trustForeign ?? false,
  signatures: new Map(),
  redacted: new Set(),
  encrypted: new Set(),
  thinking: new Map(),
  paused: new Map(),
  containers: new Map(),
  threads: new Map(),
})
