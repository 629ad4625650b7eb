// The memory of an Anthropic double: its own answers, to check that they come back unchanged.
// Signatures verify by themselves (`seal.ts`). Memory is for what a script wrote itself, and for whole turns.
import type { MemoryOptions } from '../double.ts'
import type { JsonRecord } from '../shape.ts'
import type { Thread } from './threads.ts'

export type AnthropicMemory = ReturnType<typeof newAnthropicMemory>

export const newAnthropicMemory = ({ trustForeign = false }: MemoryOptions = {}) => ({
  counter: 0,
  trustForeign,
  /** Signature → the thinking text it was issued with. */
  signatures: new Map<string, string>(),
  redacted: new Set<string>(),
  encrypted: new Set<string>(),
  /** Tool call id → the thinking blocks of the response that made the call. */
  thinking: new Map<string, JsonRecord[]>(),
  /** Server tool call id → the whole content of the paused response it came in. */
  paused: new Map<string, unknown[]>(),
  /** Tool call id → the container that its code waits in. */
  containers: new Map<string, string>(),
  /** Container → when it expires, in milliseconds. */
  expiries: new Map<string, number>(),
  /** Response id → the conversation that is held under it. */
  threads: new Map<string, Thread>(),
})
