// A session's state: the fold of its log. It is changed in place, one event at a time, so that the cost of a step does
// not grow with the session. Folding the log anew gives an equal state.
import type { Person } from '../../language/approvers.ts'
import type { Approval, CallPart, Found, Outcome, ReadableOutput } from '../../language/calls.ts'
import type { ErrorCode } from '../../language/errors.ts'
import type {
  Ask,
  Grant,
  LimitName,
  MessageQueued,
  ModelStop,
  SessionParent,
  Settings,
  TurnStop,
  Usage,
} from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import type { EarlierCall } from '../../language/policy.ts'
import type { AnswerAction, FormContent } from '../../language/questions.ts'
import type { TraceContext } from '../../language/trace.ts'
import type { ListSummary, SessionFacts, SessionStatus } from '../ports/index.ts'
import type { SessionCall, SessionQuestion } from '../ports/session-call.ts'

/** Arguments that were redacted where they are shown. */
export type HiddenText = { callId: string; sealed: string }

/** A call as readers are given it, and what only the engine knows. */
export type CallState = Omit<SessionCall, 'questions'> & {
  /** Its key in the call that made it. */
  key?: string
  /** The call that it stands for, which runs in a session that works for the parent. */
  mirrors?: { session: string; callId: string }
  /** Of such a call: the decision, which is passed on to that session. */
  decided?: { granted: boolean; by: string; reason?: string; remember?: true; people?: Person[] }
  /** Those who tried to decide and may not, by the log. */
  refused?: string[]
  /** Set when `text` was redacted: the exact arguments. */
  sealed?: string
  /** The rule, person or grant that let it run. Absent: the operator trusts its tool. */
  approval?: Approval
  /** The client that runs it, until a time. */
  claim?: { by: string; until: number }
  /** The time for an answer is over. */
  expired?: true
  /** How often it was suspended. */
  suspensions?: number
  /** Names its work at the service that does it. */
  reference?: string
  questions?: QuestionState[]
}

export type QuestionState = SessionQuestion & {
  answer?: { action: AnswerAction; content?: FormContent; sealed?: string; by: string }
}

export type TurnState = {
  id: string
  wire: string
  /** The number of the event that started it. */
  first: number
  ask?: Ask
  /** Those who asked for it. Absent: the owner of the session. */
  requesters?: readonly string[]
  trace?: TraceContext
  /** The model has made a call since it was asked: a demand of one is met. */
  called?: true
  startedAt: number
  /** Messages that joined it. */
  joined?: number
  /** Requests to the model so far. */
  steps: number
  calls: number
  bytes: number
  tokens: number
  money: number
  /** By tool: the arguments of its calls that passed the gate. */
  admitted: Map<string, (string | HiddenText)[]>
  limit?: LimitName
  /** Set once the model has answered without asking for a tool. */
  answered?: ModelStop
}

/** A message that waits for its delivery. */
export type WaitingMessage = Omit<MessageQueued, 'v' | 'type' | 'message' | 'key'> & { id: string }

export type Reconciled = { tool: string; found: Found; outcome: Outcome }
export type Undone = 'open' | 'done' | 'unknown'

export type SessionState = {
  id: string
  seq: number
  owner: string
  agent: string
  /** The agent that goes on once the calls of the current answer are settled. */
  handedTo?: { agent: string; settings: Settings }
  /** The call of another session that it works for. */
  parent?: SessionParent
  caps?: Partial<Record<LimitName, number>>
  /** The sessions that worked for calls of this one. */
  workers?: string[]
  wire: string
  createdAt: number
  updatedAt: number
  settings: Settings
  /** The beginning of the first thing that a user said. */
  opening?: string
  /** The whole history. */
  entries: Entry[]
  /** The entries that a model reads: the same list, until a compaction replaces its beginning by a summary. */
  view: Entry[]
  /** The tokens of the last request and its answer. Absent: there was none since the last compaction. */
  contextTokens?: number
  /** How long the view was right after the last compaction. */
  compactedTo?: number
  /** The event of the last compaction, and how many of the entries before it stayed in the view. */
  compaction?: { seq: number; kept: number }
  turn: TurnState | null
  /** Derived from the turn and its calls by `evolve`. */
  status: SessionStatus
  /** The calls of the last answer and those that they made, until all are settled. */
  batch: CallState[]
  /** The same by id, if there are many. */
  byId: Map<string, CallState> | undefined
  /** How many calls of the batch are not settled. */
  unsettled: number
  /** Of all model requests. Replaced, not changed. */
  used: { tokens: number; cost?: number }
  /** Of all turns, those of sessions that worked for them included. Absent: none. */
  calls?: number
  /** What may be spent of budgets that people let grow, by their key. */
  raised?: Record<string, number>
  grants: Map<string, Grant>
  /** The version of the rules that gave the last verdict, and of those beside them. Absent: there were none. */
  policy?: { version: string; shadow?: string }
  /** The last calls that calls made, in answers whose calls are all settled. `at`: how many entries there were then. */
  nestedCalls?: { at: number; call: EarlierCall }[]
  /** The tools that searches have found, in the order in which they were first found. */
  loaded: string[]
  /** By key. `message`: the message that it said, if that had to wait. */
  requests: Map<string, { hash: string; seq: number; message?: string }>
  /** The tools that a hook withheld from the model when it gave the last answer. */
  withheld?: string[]
  /** Outputs of which the store has more than the model was shown, by call. */
  kept?: Map<string, ReadableOutput>
  /** Calls of calls that someone was asked about, or ran, in answers whose calls are all settled. */
  answered?: string[]
  /** Messages that wait, in the order in which they were said. There are none outside a turn. Absent: there is none. */
  messages?: WaitingMessage[]
  /** By id: the messages that waited once, the newest. */
  heard?: Record<string, 'delivered' | 'withdrawn'>
  /** The tools of calls that were settled although they may have taken effect, by call. Absent: there is none. */
  doubts?: Record<string, string>
  /** By call: what was found out about such calls later. */
  reconciled?: Record<string, Reconciled>
  /** By call: it was undone, is being undone, or may have been. */
  undone?: Record<string, Undone>
  /** What the model is to be told once it reads the results of the calls that are open, or the turn has ended. */
  notices?: string[]
  controlledBy?: string
  /** The last event that is signed, the head and the version of the rules there. Absent: none is. */
  signed?: { to: number; head: string; policy?: string }
  lastStop?: { stop: TurnStop; limit?: LimitName; error?: { code: ErrorCode; message: string } }
}

export function emptyState(id: string): SessionState {
  const entries: Entry[] = []
  return {
    id,
    seq: 0,
    owner: '',
    agent: '',
    wire: '',
    createdAt: 0,
    updatedAt: 0,
    settings: { tools: null, options: {}, clientTools: [] },
    entries,
    view: entries,
    turn: null,
    status: 'idle',
    batch: [],
    byId: undefined,
    unsettled: 0,
    used: { tokens: 0 },
    grants: new Map(),
    loaded: [],
    requests: new Map(),
  }
}

/** Those who asked for the turn. */
export function findRequesters({ turn, owner }: Pick<SessionState, 'turn' | 'owner'>): readonly string[] {
  return turn?.requesters ?? [owner]
}

/** A batch this large is looked up by an index. */
const largeBatch = 16

export function indexBatch(batch: readonly CallState[]): Map<string, CallState> | undefined {
  return batch.length < largeBatch ? undefined : new Map(batch.map(call => [call.part.id, call]))
}

export function findCall({ batch, byId }: SessionState, callId: string): CallState | undefined {
  if (byId) return byId.get(callId)
  for (const call of batch) if (call.part.id === callId) return call
  return undefined
}

/** A call as it stands when it was made. */
export function proposed(part: CallPart, index: number): CallState {
  const call: CallState = { part, index, stage: 'proposed', text: part.text, attempt: 0 }
  if (part.sealed !== undefined) call.sealed = part.sealed
  return call
}

export function addToBatch(state: SessionState, call: CallState): void {
  state.batch.push(call)
  state.unsettled += 1
  if (state.byId) state.byId.set(call.part.id, call)
  else state.byId = indexBatch(state.batch)
}

/** Calls have made calls in this batch. They stand after all that the model made. */
export function hasNested({ batch }: SessionState): boolean {
  return batch.at(-1)?.parent !== undefined
}

/** It runs, and goes on when a person has answered. */
export function isInQuestion({ stage, questions }: CallState): boolean {
  return stage === 'started' && questions !== undefined && questions.some(({ closed }) => !closed)
}

/** Adds to what the session and its turn have used. */
export function spend(state: SessionState, { input, output, cost }: Usage): void {
  const tokens = input + output
  const money = cost === undefined ? state.used.cost : (state.used.cost ?? 0) + cost
  state.used = { tokens: state.used.tokens + tokens, ...(money !== undefined && { cost: money }) }
  if (!state.turn) return
  state.turn.tokens += tokens
  state.turn.money += cost ?? 0
}

/** Every call that has its result, in the order of the calls. */
export function settledCalls({ batch, entries, answered = [] }: SessionState): string[] {
  const before = entries.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  const now = batch.filter(({ stage }) => stage === 'settled')
  return [...before.map(({ callId }) => callId), ...answered, ...now.map(({ part }) => part.id)]
}

export function summariseForList({ settings, opening, wire, agent, parent }: SessionState): ListSummary {
  const summary: ListSummary = { settings, wire, agent }
  if (opening !== undefined) summary.opening = opening
  if (parent) summary.parent = parent.session
  return summary
}

/** When the turn goes on although nobody has answered. */
function nextDue(batch: readonly CallState[]): number | undefined {
  let due: number | undefined
  for (const call of batch)
    for (const { closed, expiresAt } of [
      ...(call.stage === 'postponed' ? [{ closed: undefined, expiresAt: call.expiresAt }] : []),
      ...(call.questions ?? []),
    ])
      if (!closed && expiresAt !== undefined && (due === undefined || expiresAt < due)) due = expiresAt
  return due
}

/** Its tool has begun, and may have taken effect. */
export function hasBegun({ stage }: CallState): boolean {
  return stage === 'started' || stage === 'postponed'
}

/** How the last turn of a session at rest ended, if it did not simply end. */
export function unusualStop({ turn, lastStop }: SessionState): TurnStop | undefined {
  return turn || lastStop?.stop === 'end' ? undefined : lastStop?.stop
}

/** `waits`: the tools whose calls wait for a client or a person. */
export function sessionFacts(state: SessionState, status: SessionStatus): SessionFacts {
  const { used, batch } = state
  if (status !== 'waiting') {
    const stop = unusualStop(state)
    return stop === undefined ? used : { ...used, stop }
  }
  const open = batch.filter(call => call.stage === 'handed' || call.stage === 'asking' || isInQuestion(call))
  const dueAt = nextDue(batch)
  const asks = open.filter(({ stage }) => stage === 'asking').length
  return {
    ...used,
    waits: open.map(({ part }) => part.name),
    ...(asks > 0 && { asks }),
    ...(dueAt !== undefined && { dueAt }),
  }
}
