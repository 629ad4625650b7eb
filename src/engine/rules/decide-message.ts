// Makes the events of messages that are said while a turn is under way: they wait, join the turn, start the next one, or are
// taken back. Pure: time and ids come in with the context.

import { TurnwireError } from '../../language/errors.ts'
import type {
  Event,
  MessageDelivered,
  MessageQueued,
  MessageWithdrawn,
  ModelAnswered,
  SessionConfigured,
  Settings,
  TurnStarted,
  WaitMode,
} from '../../language/events.ts'
import { mayRepeat } from '../../language/tools.ts'
import type { During } from '../ports/boundary.ts'
import type { Tool } from '../ports/index.ts'
import type { Context, Say } from './commands.ts'
import { decideFinished } from './decide-call.ts'
import { checkAsk, checkOfferSettings, type Offered } from './offer.ts'
import { outcomes } from './outcomes.ts'
import { type CallState, hasBegun, type SessionState, type WaitingMessage } from './state.ts'

type Now = Pick<Context, 'now'>

/** More messages than this do not wait in one session. */
const mostWaiting = 100

/** A message that is said now has to wait: a turn is under way, and the caller does not want to be refused. */
export function mustWait({ turn }: SessionState, during: During | undefined): during is WaitMode {
  return during !== undefined && during !== 'refuse' && turn !== null
}

export function decideQueued(
  state: SessionState,
  say: Say,
  during: WaitMode,
  context: Context,
): MessageQueued {
  if (say.parts.length === 0 || say.rewindTo)
    throw new TurnwireError(
      'busy',
      'A turn is under way in this session. Only a new message can wait for it: this request repeats an earlier one.',
    )
  if ((state.messages?.length ?? 0) >= mostWaiting)
    throw new TurnwireError('busy', `${mostWaiting} messages wait in this session. Withdraw some, or wait.`)
  checkAsk(say.ask)
  const { settings } = say
  if (settings)
    checkOfferSettings(context.agent, { ...state.settings, ...settings }, settings, say.ask?.clientOnly)
  return {
    v: 1,
    at: context.now,
    type: 'message.queued',
    message: context.id('msg'),
    during,
    parts: say.parts,
    wire: say.wire,
    ...(say.ask && { ask: say.ask }),
    ...(settings && Object.keys(settings).length > 0 && { settings }),
    ...(say.requesters && { requesters: say.requesters }),
    ...(say.trace && { trace: say.trace }),
    ...(say.request && { key: say.request.key }),
  }
}

export function decideTakeBack(
  { messages, heard }: SessionState,
  { message, by, reason }: { message: string; by: string; reason?: string },
  { now }: Now,
): MessageWithdrawn {
  if (messages?.some(({ id }) => id === message))
    return {
      v: 1,
      at: now,
      type: 'message.withdrawn',
      message,
      by,
      ...(reason !== undefined && { reason }),
    }
  const known = heard?.[message]
  if (known === undefined)
    throw new TurnwireError('not_found', `There is no message "${message}" that waited in this session.`)
  throw new TurnwireError('message_delivered', `The message "${message}" was ${known} before.`)
}

/** What became of a message that had to wait. It was delivered if nothing is remembered of it any more. */
export function messageState(
  { messages, heard }: Pick<SessionState, 'messages' | 'heard'>,
  id: string,
): 'queued' | 'delivered' | 'withdrawn' {
  return messages?.some(message => message.id === id) ? 'queued' : (heard?.[id] ?? 'delivered')
}

/** All that wait are taken back. */
export function decideTakeAllBack(state: SessionState, by: string, context: Now): MessageWithdrawn[] {
  return (state.messages ?? []).map(({ id }) => decideTakeBack(state, { message: id, by }, context))
}

/** Before the model is asked: messages that steer join the turn. */
export function decideJoined(state: SessionState, context: Context): Event[] {
  const { turn, messages = [] } = state
  if (!turn) return []
  return messages.filter(isSteering).flatMap(message => joinTurn(state, turn.id, message, context))
}

function isSteering({ during }: Pick<WaitingMessage, 'during'>): boolean {
  return during !== 'queue'
}

function joinTurn(state: SessionState, turn: string, message: WaitingMessage, context: Context): Event[] {
  const { id, parts, ask, settings } = message
  const { now: at } = context
  const delivered: MessageDelivered = { v: 1, at, type: 'message.delivered', message: id, turn, parts }
  const events: Event[] = [...configured(state, settings, context), delivered]
  return ask ? [...events, { v: 1, at, type: 'turn.asked', ask }] : events
}

/** Settings that fitted when the message was said and fit no longer are left out: another agent may have taken over. */
function configured(
  state: SessionState,
  settings: Partial<Settings> | undefined,
  { agent, now }: Context,
): SessionConfigured[] {
  if (!settings) return []
  try {
    checkOfferSettings(agent, { ...state.settings, ...settings }, settings)
    return [{ v: 1, at: now, type: 'session.configured', settings }]
  } catch {
    return []
  }
}

/** The message that starts the next turn: one that steers before one that is queued. */
export function nextMessage(messages: readonly WaitingMessage[]): WaitingMessage | undefined {
  return messages.find(isSteering) ?? messages[0]
}

/** `trace`: of the turn. */
export function decideStartedBy(
  state: SessionState,
  { id, parts, wire, ask, settings, requesters }: WaitingMessage,
  trace: TurnStarted['trace'],
  context: Context,
): Event[] {
  const turn = context.id('turn')
  const { now: at, version } = context
  return [
    ...configured(state, settings, context),
    { v: 1, at, type: 'message.delivered', message: id, turn },
    {
      v: 1,
      at,
      type: 'turn.started',
      turn,
      parts,
      wire,
      ...(ask && { ask }),
      ...(requesters && { requesters }),
      ...(trace && { trace }),
      ...(version !== undefined && { version }),
    },
  ]
}

/**
 * After a message that interrupts: `cut` is the partial answer of the model step that it ended, after which all that steer join
 * at once. Calls that may be stopped are cancelled; the message joins when the others have their results.
 */
export function decideInterruption(
  state: SessionState,
  queued: MessageQueued,
  cut: readonly ModelAnswered[],
  find: (name: string) => Offered | undefined,
  context: Context,
): Event[] {
  const { turn, messages = [] } = state
  if (turn && cut.length > 0) {
    const { message: id, ...rest } = queued
    const steering = [...messages.filter(isSteering), { ...rest, id }]
    return [...cut, ...steering.flatMap(message => joinTurn(state, turn.id, message, context))]
  }
  // Calls that calls made end with those.
  return state.batch
    .filter(call => call.parent === undefined && call.stage !== 'settled' && mayStop(state, call, find))
    .flatMap(call => decideFinished(call, outcomes.interrupted(hasBegun(call)), context))
}

/** A call of which nothing runs, or whose tool allows it. A call that makes calls: if those that run allow it too. */
function mayStop(state: SessionState, call: CallState, find: (name: string) => Offered | undefined): boolean {
  const { stage, part, delegated } = call
  if (stage !== 'started' && stage !== 'postponed') return true
  const offered = find(part.name)
  if (offered?.side !== 'server' || !isInterruptible(offered.tool, delegated !== undefined)) return false
  return state.batch.every(
    nested => nested.parent !== part.id || nested.stage === 'settled' || mayStop(state, nested, find),
  )
}

/**
 * Unless it says otherwise, a tool whose calls may be repeated does no harm when it is stopped. A program has no effect but that
 * of its calls; the calls of an agent in another session are not known here.
 */
function isInterruptible(tool: Tool, isDelegated: boolean): boolean {
  return tool.interruptible ?? (mayRepeat(tool) || (tool.resumable === true && !isDelegated))
}
