// decide(state, command): the events that a command from outside makes, or a refusal that leaves no trace. Pure: time,
// ids and the agent come in with the context. Events of the loop itself are made in decide-turn.ts and decide-call.ts.
import { checkPatterns } from '../../language/argument-patterns.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Event, Grant, GrantGiven, Settings } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import type { RequestKey } from '../ports/boundary.ts'
import { awaited, isNeedlessGrant } from './awaited.ts'
import type { Context, Create, Decision, DirectCall, Respond, Say } from './commands.ts'
import { decideApproval } from './decide-approval.ts'
import { decideSettled } from './decide-call.ts'
import { decideAnswered } from './decide-question.ts'
import { decideAbandon, decideAnswer } from './decide-turn.ts'
import { checkAsk, checkOfferSettings } from './offer.ts'
import { checkSeed } from './seed.ts'
import type { SessionState } from './state.ts'

export function decideCreate(create: Create, context: Context): Event[] {
  const { clientOnly, ...created } = create
  checkOfferSettings(context.agent, create.settings, create.settings, clientOnly)
  if (create.seed.length > 0) checkSeed(create.seed)
  return [{ v: 1, at: context.now, type: 'session.created', ...created }]
}

export function decideSay(state: SessionState, say: Say, context: Context): Event[] {
  const { status } = state
  if (status === 'running') throw busy()
  if (say.ask) checkAsk(say.ask)
  const events: Event[] = configure(state, say.settings, context, say.ask?.clientOnly)
  if (state.turn) events.push(...decideAbandon(state, context))
  const { parts, wire, ask, rewindTo } = say
  if (rewindTo) events.push(decideRewind(state, rewindTo, context))
  const turn = context.id('turn')
  events.push({
    v: 1,
    at: context.now,
    type: 'turn.started',
    turn,
    parts,
    wire,
    ...(ask && { ask }),
    ...(say.requesters && { requesters: say.requesters }),
    ...(say.trace && { trace: say.trace }),
    ...(context.version !== undefined && { version: context.version }),
  })
  return keyed(events, say.request, context)
}

/** The entries that the model still reads are named by their number: only others are written once more. */
function decideRewind({ view }: SessionState, entries: readonly Entry[], { now }: Context): Event {
  const same = (index: number): boolean => JSON.stringify(view[index]) === JSON.stringify(entries[index])
  let keeps = 0
  while (keeps < entries.length && keeps < view.length && same(keeps)) keeps += 1
  return { v: 1, at: now, type: 'history.rewound', keeps, entries: entries.slice(keeps) }
}

/** A caller asks for a tool in place of a model: a turn of one call. */
export function decideDirectCall(state: SessionState, direct: DirectCall, context: Context): Event[] {
  if (state.status === 'running') throw busy()
  const { tool: name, form, text, by, wire, requesters, trace, undoes } = direct
  if (undoes) checkUndo(state, undoes.callId)
  const { now: at } = context
  const turn = context.id('turn')
  // Vendors want a history to begin with a user's words.
  const words = undoes
    ? `Undo the call ${undoes.callId} of the tool "${undoes.tool}".`
    : `Call the tool "${name}".`
  const parts = [{ type: 'text' as const, text: words }]
  const answer = { parts: [{ type: 'call' as const, name, form, text }], stop: 'calls' as const }
  const events: Event[] = [
    ...decideAbandon(state, context),
    {
      v: 1,
      at,
      type: 'turn.started',
      turn,
      parts,
      wire,
      ask: { direct: true, ...(undoes && { undoes: undoes.callId }) },
      ...(requesters && { requesters }),
      ...(trace && { trace }),
      ...(context.version !== undefined && { version: context.version }),
    },
    decideAnswer(answer, `caller:${by}`, [], context),
  ]
  return keyed(events, direct.request, context)
}

/** A call is undone once. While something else waits in the session, that is answered first: an undo abandons nothing. */
function checkUndo({ turn, undone }: SessionState, callId: string): void {
  if (turn)
    throw new TurnwireError(
      'busy',
      'A turn is under way in this session, and waits for someone. Answer what waits, or cancel it, then undo the call.',
    )
  const known = undone?.[callId]
  if (known === undefined) return
  throw new TurnwireError(
    'call_undone',
    known === 'unknown'
      ? `An undo of the call "${callId}" may have taken effect. It is not run again.`
      : `The call "${callId}" was undone before.`,
  )
}

export function decideRespond(state: SessionState, respond: Respond, context: Context): Event[] {
  const { answers = [] } = respond
  if (respond.results.length + respond.decisions.length + answers.length === 0)
    throw new TurnwireError('bad_request', 'The request answers no call.')
  refuseRepeats(respond)
  const { ask, settings } = respond
  checkAsk(ask)
  const events: Event[] = configure(state, settings, context, ask?.clientOnly)
  if (ask) events.push({ v: 1, at: context.now, type: 'turn.asked', ask })
  for (const { callId, outcome } of respond.results) {
    events.push(decideSettled(awaited(state, callId, 'handed'), outcome, context))
  }
  const answered = respond.results.length + answers.length
  for (const decision of neededDecisions(state, respond.decisions, answered))
    events.push(...decideApproval(state, decision, context))
  for (const answer of answers) events.push(decideAnswered(state, answer, context))
  return keyed(events, respond.request, context)
}

/** A permission for a call that runs already is left out beside other answers. Alone it is refused, with what waits. */
function neededDecisions(state: SessionState, decisions: Decision[], answered: number): Decision[] {
  const needed = decisions.filter(decision => !isNeedlessGrant(state, decision))
  return needed.length + answered > 0 ? needed : decisions
}

function refuseRepeats(respond: Respond): void {
  const seen = new Set<string>()
  for (const { callId } of [...respond.results, ...respond.decisions]) {
    if (seen.has(callId))
      throw new TurnwireError('duplicate_call', `The request answers the call "${callId}" twice.`)
    seen.add(callId)
  }
  for (const { question } of respond.answers ?? []) {
    if (seen.has(question))
      throw new TurnwireError('duplicate_call', `The request answers the question "${question}" twice.`)
    seen.add(question)
  }
}

export function decideGrant(grant: Omit<Grant, 'id'>, context: Context): GrantGiven {
  if (grant.expiresAt !== undefined && grant.expiresAt <= context.now)
    throw new TurnwireError('bad_request', 'The grant has expired before it was given.')
  if (grant.usesLeft !== undefined && !(Number.isSafeInteger(grant.usesLeft) && grant.usesLeft > 0))
    throw new TurnwireError('bad_request', 'A grant is for one use or more.')
  if (grant.where) {
    if (grant.argsHash !== undefined || grant.deny)
      throw new TurnwireError('bad_request', 'Patterns are for a permission without a hash of arguments.')
    checkPatterns(grant.where)
  }
  const { people, ...given } = grant
  // A copy is no word of the person in whose session it is made.
  const byPeople = people && context.agent.gate.namesApprovers && grant.copyOf === undefined
  return {
    v: 1,
    at: context.now,
    type: 'grant.given',
    grant: { ...given, ...(byPeople && { people }), id: context.id('grant') },
  }
}

export function decideRevoke(state: SessionState, grantId: string, by: string, context: Context): Event[] {
  if (!state.grants.has(grantId))
    throw new TurnwireError('not_found', `There is no grant "${grantId}" in this session.`)
  return [{ v: 1, at: context.now, type: 'grant.revoked', grantId, by }]
}

export function decideConfigure(state: SessionState, settings: Partial<Settings>, context: Context): Event[] {
  if (state.status === 'running') throw busy()
  return configure(state, settings, context)
}

function configure(
  state: SessionState,
  settings: Partial<Settings> | undefined,
  context: Context,
  clientOnly?: boolean,
): Event[] {
  if (!settings || Object.keys(settings).length === 0) return []
  checkOfferSettings(context.agent, { ...state.settings, ...settings }, settings, clientOnly)
  return [{ v: 1, at: context.now, type: 'session.configured', settings }]
}

/** Someone takes manual control of the session. `force` takes it from another person who has it. */
export function decideTakeControl(
  state: SessionState,
  by: string,
  force: boolean,
  context: Context,
): Event[] {
  const { controlledBy } = state
  if (controlledBy === by) return []
  if (controlledBy !== undefined && !force)
    throw new TurnwireError('controlled', `This session is controlled by ${controlledBy}.`)
  const at = context.now
  const taken: Event = { v: 1, at, type: 'control.taken', by }
  return controlledBy === undefined ? [taken] : [{ v: 1, at, type: 'control.returned', by }, taken]
}

export function decideReleaseControl(by: string, context: Context): Event[] {
  return [{ v: 1, at: context.now, type: 'control.returned', by }]
}

function keyed(events: Event[], request: RequestKey | undefined, context: Context): Event[] {
  if (!request) return events
  const { key, hash } = request
  return [{ v: 1, at: context.now, type: 'request.accepted', key, hash, events: events.length }, ...events]
}

function busy(): TurnwireError {
  return new TurnwireError('busy', 'A turn is running in this session. Wait for it to stop, or cancel it.')
}
