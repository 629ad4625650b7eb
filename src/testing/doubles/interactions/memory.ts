// The memory of an Interactions double: stored interactions, the ids of others, and the thoughts that it issued.
import type { MemoryOptions } from '../double.ts'
import type { JsonRecord } from '../shape.ts'

export type StoredInteraction = {
  interaction: JsonRecord
  input: unknown
  isBackground: boolean
  /** Calls that wait for a result: id → name. */
  pending: Map<string, string>
  frames: { id: string; event: string; data: string }[]
}

export type InteractionsMemory = {
  counter: number
  trustForeign: boolean
  stored: Map<string, StoredInteraction>
  /** Ids of interactions that were answered with `store: false`. */
  unstored: Set<string>
  /** Thought signature → the thought's summary, and the first call after it. */
  thoughts: Map<string, { summary: string; firstCall: string | null }>
}

export const newInteractionsMemory = ({ trustForeign = false }: MemoryOptions = {}): InteractionsMemory => ({
  counter: 0,
  trustForeign,
  stored: new Map(),
  unstored: new Set(),
  thoughts: new Map(),
})
