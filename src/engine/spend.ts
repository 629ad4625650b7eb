// What model answers cost, counted to the session and to its turn. Pure, but for the state that it changes in place.
import type { Usage } from '../language/events.ts'
import type { SessionState } from './state.ts'

export function spend(state: SessionState, { input, output, cost }: Usage): void {
  const tokens = input + output
  const money = cost === undefined ? state.used.cost : (state.used.cost ?? 0) + cost
  state.used = { tokens: state.used.tokens + tokens, ...(money !== undefined && { cost: money }) }
  if (!state.turn) return
  state.turn.tokens += tokens
  state.turn.money += cost ?? 0
}
