// What all sessions did, counted by the hour or the day, and the orders of lists of sessions: as a store's index gives them, and as
// an overview shows them.
import type { OutcomeKind } from './calls.ts'
import type { SearchPlace } from './search-text.ts'

/** `created` is the order of `list`. The others are by the row and its facts. */
export type SessionOrder = 'created' | 'changed' | 'cost' | 'tokens' | 'lasted'

/** `p95`: 95 of 100 took no longer, within a tenth. */
export type Times = { p50?: number; p95?: number }

/** Model requests: `failed` ones were made again, or ended their turn. `unpriced`: answers without a known price. */
export type StepCounts = {
  steps: number
  failed: number
  input: number
  output: number
  cost: number
  unpriced: number
} & Times
/** Times are without waits for people and applications. */
export type TurnCounts = { turns: number; failed: number } & Times
export type CallCounts = { calls: number; outcomes: Partial<Record<OutcomeKind, number>> } & Times

export type ActivitySlot = { at: number; turns: TurnCounts; steps: StepCounts; calls: CallCounts }

export type ActivityReport = {
  since: number
  until: number
  slotMs: number
  /** Those in which something was, oldest first. */
  slots: ActivitySlot[]
  all: Omit<ActivitySlot, 'at'>
  agents: (Omit<ActivitySlot, 'at'> & { name: string })[]
  models: (StepCounts & { name: string })[]
  tools: (CallCounts & { name: string })[]
  /** What was used, by slot, agent and model. */
  used: { at: number; agent: string; model: string; tokens: number; cost: number }[]
  /** As of what was found. */
  behind: number
}

/** Which sessions, and in which order. */
export type SessionRange = {
  /** Something was recorded in it from this time on, in ms; and it was created before `to`. */
  from?: number
  to?: number
  /** Default: `created`, the newest first. */
  sort?: SessionOrder
  ascending?: boolean
}

/** The newest event with the words of a search, what it says around them, and how many such events there are. */
export type SearchHit = { seq: number; in: SearchPlace; text: string; places: number }
