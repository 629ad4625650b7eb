// evolve(state, event): applies an event to a state, in place. It reads no clock, draws no random number and does no I/O. It
// checks nothing either: an event in the log has happened.
import type { CallPart, CallResult, Outcome } from '../language/calls.ts'
import type { InputPart } from '../language/content.ts'
import { TurnwireError } from '../language/errors.ts'
import type {
  Allowed,
  CallNested,
  CallSettled,
  CallStarted,
  CallSuspended,
  Event,
  HistoryCompacted,
  HistoryRewound,
  ModelAnswered,
  QuestionAnswered,
  QuestionAsked,
  Usage,
} from '../language/events.ts'
import type { AssistantEntry, Entry } from '../language/history.ts'
import { load, loadFrom } from './loaded.ts'
import { nestedOf } from './nested.ts'
import {
  addToBatch,
  type CallState,
  findCall,
  indexBatch,
  type QuestionState,
  type SessionState,
} from './state.ts'

export function evolve(state: SessionState, event: Event): SessionState {
  if (event.v !== 1) throw unreadable(event)
  state.seq += 1
  state.updatedAt = event.at
  switch (event.type) {
    case 'session.created':
      state.owner = event.owner
      state.agent = event.agent
      state.wire = event.wire
      state.createdAt = event.at
      state.settings = event.settings
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
      if (event.granted) stage(state, event.callId, 'approved')
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
    case 'question.asked':
      ask(state, event)
      break
    case 'question.answered':
      answer(state, event)
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
    case 'turn.ended':
      state.turn = null
      state.lastStop = { stop: event.stop }
      if (event.limit !== undefined) state.lastStop.limit = event.limit
      if (event.error) state.lastStop.error = event.error
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
    case 'call.late':
    case 'hook.acted':
      break
    default:
      throw unreadable(event)
  }
  return state
}

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
  if (event.ask) state.turn.ask = event.ask
  if (event.parts.length > 0) addEntry(state, { role: 'user', parts: event.parts })
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
  if (event.usage) state.contextTokens = event.usage.input + event.usage.output
  const turn = state.turn
  if (!turn) return
  turn.steps += 1
  turn.calls += calls.length
  for (const part of event.parts) if ('text' in part) turn.bytes += part.text.length
  if (event.usage) spend(state, event.usage)
  if (calls.length > 0) turn.called = true
  else turn.answered = event.stop
}

function proposed(part: CallPart, index: number): CallState {
  const call: CallState = { part, index, stage: 'proposed', text: part.text, attempt: 0 }
  if (part.sealed !== undefined) call.sealed = part.sealed
  return call
}

function addNested(state: SessionState, { parent, key, call: part }: CallNested): void {
  addToBatch(state, { ...proposed(part, state.batch.length), parent, key })
  if (state.turn) state.turn.calls += 1
}

/** One of its calls may have been settled while it stopped: then it runs again at once. */
function suspend(state: SessionState, { callId, seen }: CallSuspended): void {
  const call = findCall(state, callId)
  if (!call) return
  const settled = nestedOf(state, callId).filter(({ stage }) => stage === 'settled').length
  call.stage = settled > seen ? 'approved' : 'suspended'
  call.suspensions = (call.suspensions ?? 0) + 1
}

function spend(state: SessionState, { input, output, cost }: Usage): void {
  const tokens = input + output
  const money = cost === undefined ? state.used.cost : (state.used.cost ?? 0) + cost
  state.used = { tokens: state.used.tokens + tokens, ...(money !== undefined && { cost: money }) }
  if (!state.turn) return
  state.turn.tokens += tokens
  state.turn.money += cost ?? 0
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

function requestApproval(state: SessionState, event: Extract<Event, { type: 'approval.requested' }>): void {
  const call = admitted(state, event.callId, event, 'asking')
  if (!call) return
  call.rule = event.rule
  delete call.reason
  delete call.expiresAt
  delete call.expired
  if (event.reason !== undefined) call.reason = event.reason
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
}

function allowCall(state: SessionState, callId: string, allowed: Allowed): void {
  const call = admitted(state, callId, allowed, 'approved')
  if (call) call.rule = allowed.rule
  const grant = allowed.grantId === undefined ? undefined : state.grants.get(allowed.grantId)
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

function ask(state: SessionState, event: QuestionAsked): void {
  const call = findCall(state, event.callId)
  if (!call) return
  const { question: id, key, message, schema, url, expiresAt } = event
  const question: QuestionState = { id, key, message }
  if (schema) question.schema = schema
  if (url !== undefined) question.url = url
  if (expiresAt !== undefined) question.expiresAt = expiresAt
  call.questions ??= []
  call.questions.push(question)
}

function answer(state: SessionState, event: QuestionAnswered): void {
  const question = closeQuestion(state, event, 'answered')
  if (!question) return
  const { action, content, sealed, by } = event
  question.answer = { action, by }
  if (content) question.answer.content = content
  if (sealed !== undefined) question.answer.sealed = sealed
}

function closeQuestion(
  state: SessionState,
  { callId, question: id }: { callId: string; question: string },
  closed: NonNullable<QuestionState['closed']>,
): QuestionState | undefined {
  const question = findCall(state, callId)?.questions?.find(each => each.id === id)
  if (question) question.closed = closed
  return question
}

function settle(state: SessionState, event: CallSettled): void {
  const call = findCall(state, event.callId)
  if (!call) return
  if (call.stage !== 'settled') state.unsettled -= 1
  call.stage = 'settled'
  call.outcome = event.outcome
  if (event.outcome.loads) load(state.loaded, event.outcome.loads)
  if (state.turn) {
    state.turn.bytes += event.outcome.produced ?? shownBytes(event.outcome)
    if (event.limit !== undefined) state.turn.limit = event.limit
  }
  const parent = call.parent === undefined ? undefined : findCall(state, call.parent)
  if (parent?.stage === 'suspended') parent.stage = 'approved'
  if (state.unsettled === 0) closeBatch(state)
}

/** A model reads the results of the calls that it made. */
function closeBatch(state: SessionState): void {
  const own = state.batch.filter(call => call.parent === undefined)
  addEntry(state, { role: 'tool', results: own.map(resultOf) })
  if (own.length < state.batch.length) {
    const asked = state.batch.filter(call => call.parent !== undefined && wasPutToOthers(call))
    if (asked.length > 0) state.answered = [...(state.answered ?? []), ...asked.map(({ part }) => part.id)]
  }
  state.batch = []
  state.byId = undefined
}

function wasPutToOthers({ argsHash, outcome }: CallState): boolean {
  return argsHash !== undefined || outcome?.from.source === 'client'
}

const shownBytes = ({ parts }: Outcome): number =>
  parts.reduce((bytes, part) => bytes + (part.type === 'text' ? part.text : part.url).length, 0)

/** The result that the model reads. It is told about an edit. */
export function resultOf(call: CallState): CallResult {
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

/** A log that a newer version wrote must not be misread. */
function unreadable(event: { type: string; v: number }): TurnwireError {
  return new TurnwireError(
    'store_newer',
    `The log holds an event that this version cannot read (${event.type}, version ${event.v}). Update Turnwire.`,
  )
}
