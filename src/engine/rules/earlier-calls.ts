// The calls before a call, as plain data for rules of the policy. Bounded: a rule reads the last of them, not the log. Of a
// result it has the kind alone, since no result may affect a verdict. Pure.
import { budgetToolName, type CallPart, type Outcome } from '../../language/calls.ts'
import { type CallHistory, type EarlierCall, mostEarlierCalls } from '../../language/policy.ts'
import { type Json, parseBounded } from '../../lib/json/index.ts'
import type { CallState, SessionState } from './state.ts'

const longestInput = 16 * 1024

/** `call`: the one that is judged, which is not among them. */
export function earlierCalls(state: SessionState, call: CallState): CallHistory {
  const begin = turnBegin(state)
  const session: EarlierCall[] = []
  let ofTurn = 0
  const add = (earlier: EarlierCall, at: number): boolean => {
    if (at >= begin) ofTurn += 1
    session.push(earlier)
    return session.length >= mostEarlierCalls
  }
  const found = [...callsOfBatch(state, call), ...callsOfEntries(state)]
  for (const { earlier, at } of found) if (add(earlier, at)) break
  session.reverse()
  return { turn: session.slice(session.length - ofTurn), session }
}

type Placed = { earlier: EarlierCall; at: number }

/** Newest first. */
function callsOfBatch({ batch, entries }: SessionState, call: CallState): Placed[] {
  const place = batch.indexOf(call)
  return batch
    .slice(0, place < 0 ? batch.length : place)
    .map(each => ({ earlier: toEarlierCall(each), at: entries.length }))
    .reverse()
}

/** For `evolve`: no entry of the history has the calls that calls made. */
export function rememberNested(state: SessionState): void {
  const nested = state.batch.filter(
    ({ parent, part }) => parent !== undefined && part.name !== budgetToolName,
  )
  if (nested.length === 0) return
  const at = state.entries.length
  const all = [...(state.nestedCalls ?? []), ...nested.map(call => ({ at, call: toEarlierCall(call) }))]
  state.nestedCalls = all.slice(-mostEarlierCalls)
}

/** Of answers whose calls are all settled, newest first, with the calls that their calls made. */
function* callsOfEntries({ entries, nestedCalls = [] }: SessionState): Generator<Placed> {
  let outcomes = new Map<string, Outcome>()
  let nested = nestedCalls.length - 1
  for (let at = entries.length - 1; at >= 0; at--) {
    const entry = entries[at]!
    for (; nested >= 0 && nestedCalls[nested]!.at > at; nested--)
      yield { earlier: nestedCalls[nested]!.call, at }
    if (entry.role === 'tool')
      outcomes = new Map(entry.results.map(({ callId, outcome }) => [callId, outcome]))
    if (entry.role !== 'assistant') continue
    for (const part of entry.parts.toReversed()) {
      const outcome = part.type === 'call' ? outcomes.get(part.id) : undefined
      // Without an outcome it is a call of the batch.
      if (part.type === 'call' && outcome) yield { earlier: describeCall(part, part.text, outcome), at }
    }
  }
}

function toEarlierCall({ part, text, outcome, parent, rule }: CallState): EarlierCall {
  const earlier = describeCall(part, text, outcome)
  if (rule !== undefined && earlier.rule === undefined) earlier.rule = rule
  if (parent !== undefined) earlier.parent = parent
  return earlier
}

function describeCall({ id, name, form }: CallPart, text: string, outcome: Outcome | undefined): EarlierCall {
  const earlier: EarlierCall = { id, tool: name }
  const input = form === 'json' ? readInput(text) : undefined
  if (input !== undefined) earlier.input = input
  if (!outcome) return earlier
  earlier.outcome = outcome.kind
  const { rule, by } = outcome.provenance?.allowed ?? {}
  if (rule !== undefined) earlier.rule = rule
  if (by !== undefined) earlier.by = by
  return earlier
}

function readInput(text: string): Json | undefined {
  return text.length > longestInput ? undefined : parseBounded(text)
}

/** The index after the message that started the turn. Messages that joined it stand after that. */
export function turnBegin({ entries, turn }: SessionState): number {
  let left = turn?.joined ?? 0
  return entries.findLastIndex(({ role }) => role === 'user' && left-- === 0) + 1
}
