// evolve(state, event): applies an event to a state, in place. It reads no clock, draws no random number and does no I/O. It
// checks nothing either: an event in the log has happened.
import {
  type CallPart,
  type CallResult,
  type Outcome,
  operatorTrust,
  type ReadableOutput,
} from '../../language/calls.ts'
import type { InputPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type {
  Allowed,
  CallClaimed,
  CallSettled,
  CallStarted,
  Event,
  HistoryCompacted,
  HistoryRewound,
  ModelAnswered,
} from '../../language/events.ts'
import type { AssistantEntry, Entry } from '../../language/history.ts'
import { forgetTurnRaises } from './budgets.ts'
import { rememberNested } from './earlier-calls.ts'
import { beginUndo, doubt, endUndo, isDoubtful, reconcile } from './evolve-doubt.ts'
import { queueMessage, takeMessage } from './evolve-message.ts'
import {
  addNested,
  answerQuestion,
  askQuestion,
  closeQuestion,
  countCalls,
  countUse,
  countVote,
  decideCall,
  decidedBudget,
  delegateCall,
  noteRefused,
  postpone,
  resumeParent,
  suspend,
} from './evolve-running.ts'
import { load, loadFrom } from './loaded.ts'
import { sessionStatus } from './next.ts'
import {
  type CallState,
  findCall,
  hasNested,
  indexBatch,
  proposed,
  type SessionState,
  spend,
} from './state.ts'

export function evolve(state: SessionState, event: Event): SessionState {
  if (event.v !== 1 && !(event.v === 2 && event.type === 'approval.requested')) throw unreadable(event)
  state.seq += 1
  state.updatedAt = event.at
  switch (event.type) {
    case 'session.created':
      state.owner = event.owner
      state.agent = event.agent
      state.wire = event.wire
      state.createdAt = event.at
      state.settings = event.settings
      if (event.parent) state.parent = event.parent
      if (event.caps) state.caps = event.caps
      for (const entry of event.seed) addEntry(state, entry)
      loadFrom(state.loaded, event.seed)
      break
    case 'session.configured':
      state.settings = { ...state.settings, ...event.settings }
      break
    case 'request.accepted':
      state.requests.set(event.key, { hash: event.hash, seq: state.seq })
      break
    case 'turn.started':
      startTurn(state, event)
      break
    case 'turn.asked':
      if (state.turn) {
        state.turn.ask = event.ask
        delete state.turn.called
      }
      break
    case 'model.answered':
      takeAnswer(state, event)
      break
    case 'call.handed':
      admitted(state, event.callId, event, 'handed')
      break
    case 'call.claimed':
      claimCall(state, event)
      break
    case 'call.allowed':
      allowCall(state, event.callId, event)
      break
    case 'approval.requested':
      requestApproval(state, event)
      break
    case 'approval.expired':
      expireApproval(state, event.callId)
      break
    case 'approval.decided':
      decideCall(state, event)
      break
    case 'approval.voted':
      countVote(state, event)
      break
    case 'approval.refused':
      noteRefused(state, event)
      break
    case 'call.edited':
      editCall(state, event)
      break
    case 'call.started':
      startCall(state, event)
      break
    case 'call.nested':
      addNested(state, event)
      break
    case 'call.suspended':
      suspend(state, event)
      break
    case 'call.postponed':
      postpone(state, event)
      break
    case 'call.delegated':
      delegateCall(state, event)
      break
    case 'call.used':
      countUse(state, event)
      break
    case 'agent.changed':
      state.handedTo = { agent: event.agent, settings: event.settings }
      break
    case 'question.asked':
      askQuestion(state, event)
      break
    case 'question.answered':
      answerQuestion(state, event)
      break
    case 'question.expired':
      closeQuestion(state, event, 'expired')
      break
    case 'question.withdrawn':
      closeQuestion(state, event, 'withdrawn')
      break
    case 'call.settled':
      settle(state, event)
      break
    case 'call.referenced': {
      const call = findCall(state, event.callId)
      if (call) call.reference = event.reference
      break
    }
    case 'call.reconciled':
      reconcile(state, event)
      if (!state.turn) tellNotices(state)
      break
    case 'turn.ended':
      state.turn = null
      if (state.notices) tellNotices(state)
      state.lastStop = { stop: event.stop }
      if (event.limit !== undefined) state.lastStop.limit = event.limit
      if (event.error) state.lastStop.error = event.error
      break
    case 'message.queued':
      queueMessage(state, event)
      break
    case 'message.delivered': {
      const message = takeMessage(state, event.message, 'delivered')
      if (event.parts) join(state, event.parts, message?.requesters)
      break
    }
    case 'message.withdrawn':
      takeMessage(state, event.message, 'withdrawn')
      break
    case 'grant.given':
      state.grants.set(event.grant.id, event.grant)
      break
    case 'grant.revoked':
      state.grants.delete(event.grantId)
      break
    case 'control.taken':
      state.controlledBy = event.by
      break
    case 'control.returned':
      delete state.controlledBy
      break
    case 'history.compacted':
      compacted(state, event)
      break
    case 'history.rewound':
      rewound(state, event)
      break
    case 'model.sampled':
      if (event.usage) spend(state, event.usage)
      break
    case 'budget.decided':
      decidedBudget(state, event)
      break
    case 'policy.applied':
      state.policy = { version: event.version }
      if (event.shadow !== undefined) state.policy.shadow = event.shadow
      break
    case 'log.signed':
      state.signed = { to: event.to, head: event.head, ...(event.policy && { policy: event.policy }) }
      break
    case 'payment.recorded':
    case 'policy.shadowed':
    case 'call.forbidden':
    case 'call.late':
    case 'hook.acted':
      break
    default:
      throw unreadable(event)
  }
  state.status = sessionStatus(state)
  return state
}

function startTurn(state: SessionState, event: Extract<Event, { type: 'turn.started' }>): void {
  state.turn = {
    id: event.turn,
    wire: event.wire,
    first: state.seq,
    startedAt: event.at,
    steps: 0,
    calls: 0,
    bytes: 0,
    tokens: 0,
    money: 0,
    admitted: new Map(),
  }
  if (state.raised) forgetTurnRaises(state)
  if (event.ask) state.turn.ask = event.ask
  if (event.requesters) state.turn.requesters = event.requesters
  if (event.trace) state.turn.trace = event.trace
  if (event.parts.length > 0) addEntry(state, { role: 'user', parts: event.parts })
  if (event.ask?.undoes !== undefined) beginUndo(state, event.ask.undoes)
}

/** A message joins the turn. An answer that it interrupted was not the last one. */
function join(state: SessionState, parts: InputPart[], by?: readonly string[]): void {
  addEntry(state, { role: 'user', parts })
  if (!state.turn) return
  // The owner's own message adds the owner to the others who asked.
  if (by || state.turn.requesters)
    state.turn.requesters = [
      ...new Set([...(state.turn.requesters ?? [state.owner]), ...(by ?? [state.owner])]),
    ]
  delete state.turn.answered
  state.turn.joined = (state.turn.joined ?? 0) + 1
}

function takeAnswer(state: SessionState, event: ModelAnswered): void {
  const calls = event.parts.filter((part): part is CallPart => part.type === 'call')
  if (event.parts.length > 0) {
    const entry: AssistantEntry = { role: 'assistant', parts: event.parts }
    if (event.origin) entry.origin = event.origin
    if (event.continuity) entry.continuity = event.continuity
    addEntry(state, entry)
  }
  state.batch = calls.map(proposed)
  state.byId = indexBatch(state.batch)
  state.unsettled = calls.length
  if (event.loads) load(state.loaded, event.loads)
  if (event.withheld) state.withheld = event.withheld
  else if (state.withheld) delete state.withheld
  if (event.usage) state.contextTokens = event.usage.input + event.usage.output
  const turn = state.turn
  if (!turn) return
  turn.steps += 1
  if (calls.length > 0) countCalls(state, calls.length)
  for (const part of event.parts) if ('text' in part) turn.bytes += part.text.length
  if (event.usage) spend(state, event.usage)
  if (calls.length > 0) turn.called = true
  else turn.answered = event.stop
}

function stage(state: SessionState, callId: string, to: CallState['stage']): CallState | undefined {
  const call = findCall(state, callId)
  if (call) call.stage = to
  return call
}

type Admitted = { argsHash?: string; toolHash: string }

/** A call counts as one use of its arguments the first time that it passes the gate. */
function admitted(
  state: SessionState,
  callId: string,
  { argsHash, toolHash }: Admitted,
  to: CallState['stage'],
): CallState | undefined {
  const call = findCall(state, callId)
  if (!call) return undefined
  if (call.stage === 'proposed' && state.turn) {
    const texts = state.turn.admitted.get(call.part.name)
    const text = call.sealed === undefined ? call.text : { callId, sealed: call.sealed }
    if (texts) texts.push(text)
    else state.turn.admitted.set(call.part.name, [text])
  }
  call.stage = to
  if (argsHash !== undefined) call.argsHash = argsHash
  call.toolHash = toolHash
  return call
}

function claimCall(state: SessionState, { callId, by, until }: CallClaimed): void {
  const call = findCall(state, callId)
  if (call) call.claim = { by, until }
}

function requestApproval(state: SessionState, event: Extract<Event, { type: 'approval.requested' }>): void {
  const call = admitted(state, event.callId, event, 'asking')
  if (!call) return
  call.rule = event.rule
  delete call.approval
  delete call.reason
  delete call.expiresAt
  delete call.expired
  delete call.preview
  delete call.flow
  delete call.approvers
  delete call.requesters
  delete call.votes
  delete call.refused
  if (event.v === 2) {
    call.approvers = event.approvers
    if (event.requesters) call.requesters = event.requesters
  }
  if (event.reason !== undefined) call.reason = event.reason
  if (event.preview !== undefined) call.preview = event.preview
  if (event.flow !== undefined) call.flow = event.flow
  if (event.expiresAt !== undefined) call.expiresAt = event.expiresAt
}

function expireApproval(state: SessionState, callId: string): void {
  const call = findCall(state, callId)
  if (call?.stage === 'asking') call.expired = true
}

function editCall(state: SessionState, event: Extract<Event, { type: 'call.edited' }>): void {
  const call = findCall(state, event.callId)
  if (!call) return
  call.text = event.text
  if (event.sealed === undefined) delete call.sealed
  else call.sealed = event.sealed
  call.argsHash = event.argsHash
  call.editedBy = event.by
  // Each vote was for the arguments before.
  delete call.votes
}

function allowCall(state: SessionState, callId: string, allowed: Allowed): void {
  const call = admitted(state, callId, allowed, 'approved')
  const grant = allowed.grantId === undefined ? undefined : state.grants.get(allowed.grantId)
  if (call) {
    call.rule = allowed.rule
    delete call.approval
    if (grant) call.approval = { by: grant.by, rule: allowed.rule, grantId: grant.id }
    else if (allowed.rule !== operatorTrust) call.approval = { rule: allowed.rule }
  }
  if (grant?.usesLeft === undefined) return
  if (grant.usesLeft <= 1) state.grants.delete(grant.id)
  else state.grants.set(grant.id, { ...grant, usesLeft: grant.usesLeft - 1 })
}

function startCall(state: SessionState, event: CallStarted): void {
  if (event.allowed) allowCall(state, event.callId, event.allowed)
  const call = stage(state, event.callId, 'started')
  if (!call) return
  call.attempt = event.attempt
}

function settle(state: SessionState, event: CallSettled): void {
  const call = findCall(state, event.callId)
  if (!call) return
  if (call.stage !== 'settled') state.unsettled -= 1
  call.stage = 'settled'
  call.outcome = event.outcome
  if (event.outcome.kind !== 'ok' && isDoubtful(call, event)) doubt(state, call)
  const undoes = state.turn?.ask?.undoes
  if (undoes !== undefined && call.parent === undefined) endUndo(state, undoes, call, event)
  const readable = readableOutput(call, event.outcome)
  if (readable) {
    state.kept ??= new Map()
    state.kept.set(event.callId, readable)
  }
  if (event.outcome.loads) load(state.loaded, event.outcome.loads)
  if (state.turn) {
    // A result that was too large to take does not end the turn: the model is told to ask for less.
    const { cut, produced } = event.outcome
    state.turn.bytes += (cut && produced) ?? shownBytes(event.outcome)
    if (event.limit !== undefined) state.turn.limit = event.limit
  }
  if (call.parent !== undefined) resumeParent(state, call)
  if (state.unsettled === 0) closeBatch(state)
}

/** A call that made another gets its result whole, so that nobody has to read more of it. */
function readableOutput({ parent }: CallState, { kept, cut, from }: Outcome): ReadableOutput | undefined {
  if (kept) return kept
  return cut && from.source === 'tool' && parent === undefined ? { blob: cut.blob, parts: true } : undefined
}

/** A model reads the results of the calls that it made. The loop's own call between two steps is none of them. */
function closeBatch(state: SessionState): void {
  const own = hasNested(state) ? state.batch.filter(call => call.parent === undefined) : state.batch
  if (own.length > 0) addEntry(state, { role: 'tool', results: own.map(toCallResult) })
  if (own.length < state.batch.length) {
    rememberNested(state)
    const asked = state.batch.filter(call => call.parent !== undefined && wasPutToOthers(call))
    if (asked.length > 0) state.answered = [...(state.answered ?? []), ...asked.map(({ part }) => part.id)]
  }
  state.batch = []
  state.byId = undefined
  if (state.notices) tellNotices(state)
  if (state.handedTo) {
    state.agent = state.handedTo.agent
    state.settings = state.handedTo.settings
    delete state.handedTo
  }
}

/** Not between a call and its result. In a turn they count as messages that joined it. */
function tellNotices(state: SessionState): void {
  const { notices = [], turn } = state
  delete state.notices
  for (const text of notices) addEntry(state, { role: 'user', parts: [{ type: 'text', text }] })
  if (turn && notices.length > 0) turn.joined = (turn.joined ?? 0) + notices.length
}

function wasPutToOthers({ argsHash, outcome }: CallState): boolean {
  return argsHash !== undefined || outcome?.from.source === 'client'
}

function shownBytes({ parts }: Outcome): number {
  let bytes = 0
  for (const part of parts) bytes += (part.type === 'text' ? part.text : part.url).length
  return bytes
}

/** The result that the model reads. It is told about an edit. */
export function toCallResult(call: CallState): CallResult {
  const outcome = call.outcome
  if (!outcome) throw new Error(`call ${call.part.id} has no outcome`)
  const isUnchanged = call.text === call.part.text && call.sealed === call.part.sealed
  if (call.editedBy === undefined || isUnchanged)
    return { callId: call.part.id, name: call.part.name, outcome }
  const note = `The arguments were changed before the call was approved. It ran with: ${call.text}`
  return {
    callId: call.part.id,
    name: call.part.name,
    outcome: { ...outcome, parts: [{ type: 'text', text: note }, ...outcome.parts] },
  }
}

// ---- the history: what was said, and what a model reads of it -----------------------------------------------

function addEntry(state: SessionState, entry: Entry): void {
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

function compacted(state: SessionState, event: HistoryCompacted): void {
  const kept = state.view.slice(event.replaces)
  state.compaction = { seq: state.seq, kept: kept.length }
  state.view = [...event.entries, ...kept]
  state.compactedTo = state.view.length
  delete state.contextTokens
  if (event.usage) spend(state, event.usage)
}

function rewound(state: SessionState, { keeps, entries }: HistoryRewound): void {
  loadFrom(state.loaded, entries)
  state.view = [...state.view.slice(0, keeps), ...entries]
  if (state.compactedTo !== undefined) state.compactedTo = Math.min(state.compactedTo, state.view.length)
  delete state.contextTokens
}

/** A log that a newer version wrote must not be misread. */
function unreadable({ type, v }: { type: string; v: number }): TurnwireError {
  const words = `The log holds an event that this version cannot read (${type}, version ${v}). Update Turnwire.`
  return new TurnwireError('store_newer', words)
}
