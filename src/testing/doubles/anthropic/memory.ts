// The memory of an Anthropic double: its own answers, to check that they come back unchanged.
// Signatures verify by themselves (`seal.ts`). Memory is for what a script wrote itself, and for whole turns.
import type { MemoryOptions } from '../double.ts'
import type { JsonRecord } from '../shape.ts'
import type { Thread } from './threads.ts'

export type AnthropicMemory = {
  counter: number
  trustForeign: boolean
  /** Signature → the thinking text it was issued with. */
  signatures: Map<string, string>
  redacted: Set<string>
  encrypted: Set<string>
  /** Tool call id → the thinking blocks of the response that made the call. */
  thinking: Map<string, JsonRecord[]>
  /** Server tool call id → the whole content of the paused response it came in. */
  paused: Map<string, unknown[]>
  /** Tool call id → the container that its code waits in. */
  containers: Map<string, string>
  /** Container → when it expires, in milliseconds. */
  expiries: Map<string, number>
  /** Response id → the conversation that is held under it. */
  threads: Map<string, Thread>
}

export const newAnthropicMemory = ({ trustForeign = false }: MemoryOptions = {}): AnthropicMemory => ({
  counter: 0,
  trustForeign,
  signatures: new Map(),
  redacted: new Set(),
  encrypted: new Set(),
  thinking: new Map(),
  paused: new Map(),
  containers: new Map(),
  expiries: new Map(),
  threads: new Map(),
})
