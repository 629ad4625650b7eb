// The part of `evolve` about the history: what was said, what a model reads of it, and what that cost.
import type { InputPart } from '../../language/content.ts'
import type { HistoryCompacted, HistoryRewound, Usage } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import { loadFrom } from './loaded.ts'
import type { SessionState } from './state.ts'

export function addEntry(state: SessionState, entry: Entry): void {
  state.entries.push(entry)
  if (state.opening === undefined && entry.role === 'user') open(state, entry.parts)
  if (state.view !== state.entries) state.view.push(entry)
}

const longestOpening = 400

function open(state: SessionState, parts: readonly InputPart[]): void {
  for (const part of parts) {
    if (part.type !== 'text' || part.text.trim() === '') continue
    state.opening = part.text.trim().slice(0, longestOpening).toWellFormed()
    return
  }
}

export function compacted(state: SessionState, event: HistoryCompacted): void {
  const kept = state.view.slice(event.replaces)
  state.compaction = { seq: state.seq, kept: kept.length }
  state.view = [...event.entries, ...kept]
  state.compactedTo = state.view.length
  delete state.contextTokens
  if (event.usage) spend(state, event.usage)
}

export function rewound(state: SessionState, { keeps, entries }: HistoryRewound): void {
  loadFrom(state.loaded, entries)
  state.view = [...state.view.slice(0, keeps), ...entries]
  if (state.compactedTo !== undefined) state.compactedTo = Math.min(state.compactedTo, state.view.length)
  delete state.contextTokens
}

export function spend(state: SessionState, { input, output, cost }: Usage): void {
  const tokens = input + output
  const money = cost === undefined ? state.used.cost : (state.used.cost ?? 0) + cost
  state.used = { tokens: state.used.tokens + tokens, ...(money !== undefined && { cost: money }) }
  if (!state.turn) return
  state.turn.tokens += tokens
  state.turn.money += cost ?? 0
}
