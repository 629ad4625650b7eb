// Supposed sessions and calls, made of events as real ones are: for questions such as "what would the gate say about this call,
// after those". They are never stored. Pure.
import type { CallForm, CallPart, OutcomeKind, Provenance } from '../../language/calls.ts'
import type { Event, Grant, Settings } from '../../language/events.ts'
import type { Json } from '../../lib/json/index.ts'
import { evolve } from './evolve.ts'
import { said } from './outcomes.ts'
import { type CallState, emptyState, findCall, type SessionState } from './state.ts'

/** What happened before, in order: the user said something, or a call was made and had its outcome. */
export type SupposedStep =
  | { said: string }
  | {
      tool: string
      input?: Json
      outcome?: OutcomeKind
      /** What the result says. */
      result?: string
      /** The person who allowed it. */
      by?: string
    }

export type SupposedSession = {
  agent: string
  owner: string
  session?: string
  steps?: readonly SupposedStep[]
  grants?: readonly Grant[]
  settings?: Partial<Settings>
  now: number
}

type Unstamped = Event extends infer Each ? (Each extends Event ? Omit<Each, 'v' | 'at'> : never) : never

export function supposeSession(given: SupposedSession): SessionState {
  const { agent, owner, session = 'supposed', steps = [], grants = [], settings, now } = given
  const state = emptyState(session)
  const record = (event: Unstamped): void => void evolve(state, { v: 1, at: now, ...event } as Event) // One of them.
  record({
    type: 'session.created',
    owner,
    agent,
    wire: 'supposed',
    settings: { tools: null, options: {}, clientTools: [], ...settings },
    seed: [],
  })
  for (const grant of grants) record({ type: 'grant.given', grant })
  const [first] = steps
  if (!first || !('said' in first)) startTurn(record, 'turn_0', '')
  for (const [index, step] of steps.entries()) {
    if (!('said' in step)) {
      supposeOutcome(state, step, record)
      continue
    }
    if (state.turn) record({ type: 'turn.ended', turn: state.turn.id, stop: 'end' })
    startTurn(record, `turn_${index + 1}`, step.said)
  }
  return state
}

function startTurn(record: (event: Unstamped) => void, turn: string, text: string): void {
  const parts = text === '' ? [] : [{ type: 'text' as const, text }]
  record({ type: 'turn.started', turn, parts, wire: 'supposed' })
}

function supposeOutcome(
  state: SessionState,
  { tool, input = {}, outcome = 'ok', result, by }: Extract<SupposedStep, { tool: string }>,
  record: (event: Unstamped) => void,
): void {
  const { part } = supposeCall(state, tool, input, state.updatedAt)
  const from: Provenance =
    outcome === 'ok' || outcome === 'error'
      ? { source: 'tool', tool }
      : outcome === 'denied' && by !== undefined
        ? { source: 'person', by }
        : { source: 'runtime' }
  const ended = said(outcome, result ?? (outcome === 'ok' ? 'Done.' : outcome), from)
  if (by !== undefined && outcome !== 'denied') ended.provenance = { allowed: { rule: 'supposed', by } }
  record({ type: 'call.settled', callId: part.id, outcome: ended })
}

/** The call as the next answer of the model. An input that is a text is free text. */
export function supposeCall(state: SessionState, tool: string, input: Json, now: number): CallState {
  const form: CallForm = typeof input === 'string' ? 'text' : 'json'
  const text = typeof input === 'string' ? input : JSON.stringify(input)
  const part: CallPart = { type: 'call', id: `call_${state.seq + 1}`, name: tool, form, text }
  evolve(state, { v: 1, at: now, type: 'model.answered', parts: [part], stop: 'calls', model: 'supposed' })
  const call = findCall(state, part.id)
  if (!call) throw new Error('A call that was just made is not there.')
  return call
}
