// Makes the events of a turn as a whole: an answer, its end, a summary of the history, recovery after a crash. Pure:
// time and ids come in with the context.
import type { CallPart, Outcome } from '../../language/calls.ts'
import { joinText } from '../../language/content.ts'
import { publicError } from '../../language/errors.ts'
import type {
  Event,
  HistoryCompacted,
  ModelAnswered,
  ModelSampled,
  RetriedRequest,
  ShownPart,
  TurnEnded,
} from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import type { ModelAnswer } from '../ports/index.ts'
import type { Context } from './commands.ts'
import { decideFinished } from './decide-call.ts'
import type { Action } from './next.ts'
import { outcomes } from './outcomes.ts'
import { type CallState, hasBegun, type SessionState } from './state.ts'

type Now = Pick<Context, 'now'>

/** `shown`: the calls as they were shown while the model spoke, by their index. They keep their ids. */
export function decideAnswer(
  answer: ModelAnswer,
  model: string,
  shown: readonly ({ id: string } | undefined)[],
  context: Context,
): ModelAnswered {
  let index = 0
  const parts = answer.parts.map(part => {
    if (part.type !== 'call') return part
    const id = shown[index]?.id ?? context.id('call')
    index += 1
    return { ...part, id } satisfies CallPart
  })
  const { stop, origin, usage, continuity, warnings, requestId, vendor, loads, sent } = answer
  const event: ModelAnswered = { v: 1, at: context.now, type: 'model.answered', parts, stop, model }
  if (origin) event.origin = origin
  if (usage) event.usage = usage
  if (continuity) event.continuity = continuity
  if (warnings && warnings.length > 0) event.warnings = warnings
  if (requestId !== undefined) event.requestId = requestId
  if (vendor) event.vendor = vendor
  if (loads && loads.length > 0) event.loads = loads
  if (sent !== undefined) event.sent = sent
  return event
}

/** A model step that is given up: what it had said so far, what readers were shown of that, and about what it used. */
export type CutStep = {
  model: string
  said: readonly ShownPart[]
  shown: ShownPart[]
  cut?: NonNullable<TurnEnded['cut']>
}

/** Of an answer that is interrupted the text so far is recorded. `rest`: the events that end its turn. */
export function decideInterrupted(
  { model, said, shown, cut }: CutStep,
  rest: Event[],
  { now }: Now,
): Event[] {
  const end = cut ? rest.map(event => (event.type === 'turn.ended' ? { ...event, cut } : event)) : rest
  const text = joinText(said)
  if (text === '') return withShown(end, shown)
  const answered: ModelAnswered = {
    v: 1,
    at: now,
    type: 'model.answered',
    parts: [{ type: 'text', text }],
    stop: 'cancelled',
    model,
  }
  if (shown.some(part => part.type !== 'text' || part.phase !== undefined)) answered.shown = shown
  return [answered, ...end]
}

/** The answer of a step that is cut while its turn goes on. None: the model had given nothing. */
export function decideCutAnswer({ model, shown, cut }: CutStep, { now }: Now): ModelAnswered[] {
  if (!cut) return []
  const text = joinText(shown)
  const parts: ModelAnswered['parts'] = text === '' ? [] : [{ type: 'text', text }]
  const answered: ModelAnswered = {
    v: 1,
    at: now,
    type: 'model.answered',
    parts,
    stop: 'cancelled',
    model,
    usage: cut,
  }
  if (shown.some(part => part.type !== 'text' || part.phase !== undefined)) answered.shown = shown
  return [answered]
}

/** The same events; the end of the turn names what was shown of an answer that never came. */
export function withShown<Some extends Event>(events: readonly Some[], shown: ShownPart[]): Some[] {
  return events.map(event => (event.type === 'turn.ended' && shown.length > 0 ? { ...event, shown } : event))
}

/** The same events; the end of the turn names the requests that had failed before. */
export function withRetries<Some extends Event>(events: readonly Some[], retries: RetriedRequest[]): Some[] {
  return events.map(event => (event.type === 'turn.ended' ? { ...event, retries } : event))
}

export function decideEnd(
  { turn }: SessionState,
  { stop, limit }: Pick<Extract<Action, { do: 'end' }>, 'stop' | 'limit'>,
  { now }: Now,
): TurnEnded[] {
  if (!turn) return []
  const ended: TurnEnded = { v: 1, at: now, type: 'turn.ended', turn: turn.id, stop }
  if (limit !== undefined) ended.limit = limit
  return [ended]
}

/** The model could not be asked: the turn ends with what a client may know of the reason. */
export function decideFailure(state: SessionState, reason: unknown, context: Now): TurnEnded[] {
  const { code, message } = publicError(reason)
  return decideEnd(state, { stop: 'error' }, context).map(ended => ({ ...ended, error: { code, message } }))
}

export function decideCancel(state: SessionState, context: Now): Event[] {
  const settled = settleAll(state, call => outcomes.cancelled(hasBegun(call)), context)
  return [...settled, ...decideEnd(state, { stop: 'cancelled' }, context)]
}

/** The turn has used its time. */
export function decideOutOfTime(state: SessionState, context: Now): Event[] {
  const notRun = outcomes.limit('the turn ran out of time.')
  const settled = settleAll(state, call => (hasBegun(call) ? outcomes.outOfTime() : notRun), context)
  return [...settled, ...decideEnd(state, { stop: 'limit', limit: 'time' }, context)]
}

/** A new message ends the turn that waited, and settles its calls. A call that asked, or was postponed, had begun. */
export function decideAbandon(state: SessionState, context: Now): Event[] {
  const outcome = (call: CallState): Outcome =>
    hasBegun(call) ? outcomes.cancelled(true) : outcomes.abandoned()
  const settled = settleAll(state, outcome, context)
  return [...settled, ...decideEnd(state, { stop: 'abandoned' }, context)]
}

function settleAll(state: SessionState, outcome: (call: CallState) => Outcome, context: Now): Event[] {
  if (!state.turn) return []
  const open = state.batch.filter(call => call.stage !== 'settled')
  return open.flatMap(call => decideFinished(call, outcome(call), context))
}

/**
 * After a crash: a call whose start is in the log may have run. A call that may run twice is left to be run again with the
 * same key; any other is settled as unknown, and what it asked a person is withdrawn.
 */
export function decideRecovery(
  state: SessionState,
  mayRepeat: (call: CallState) => boolean,
  context: Now,
): Event[] {
  return state.batch
    .filter(call => call.stage === 'started' && !mayRepeat(call))
    .flatMap(call => decideFinished(call, outcomes.unknown(), context))
}

/** A running call had the model answer something of its own. */
export function decideSampled(
  { part }: CallState,
  by: string,
  model: string,
  { stop, usage }: Pick<ModelAnswer, 'stop' | 'usage'>,
  { now }: Now,
): ModelSampled {
  const event: ModelSampled = { v: 1, at: now, type: 'model.sampled', call: part.id, by, model, stop }
  if (usage) event.usage = usage
  return event
}

/** `entries` stand in for the first `replaces` entries that the model reads. */
export function decideCompaction(
  replaces: number,
  entries: Entry[],
  { model, usage }: Pick<HistoryCompacted, 'model' | 'usage'>,
  { now }: Now,
): HistoryCompacted {
  const event: HistoryCompacted = { v: 1, at: now, type: 'history.compacted', replaces, entries }
  if (model !== undefined) event.model = model
  if (usage) event.usage = usage
  return event
}
