// A command from outside, carried out on a session: secrets are sealed, results bounded, edits checked, and the answer
// says which events came of it. decide.ts decides which events a command makes; this only prepares and reports.
import type { Person } from '../../language/approvers.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { OptionValue, Settings } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import type { TraceContext } from '../../language/trace.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { completeCall } from '../calls/postpone.ts'
import { readState } from '../log/read-state.ts'
import type {
  Accepted,
  Command,
  GivenAnswer,
  GivenDecision,
  GivenSettings,
  RequestKey,
} from '../ports/boundary.ts'
import { NotApprover } from '../rules/decide-approval.ts'
import { decideClaim } from '../rules/decide-call.ts'
import { decideTakeAllBack } from '../rules/decide-message.ts'
import { findQuestion } from '../rules/decide-question.ts'
import { findCall, settledCalls } from '../rules/state.ts'
import { waitingCalls } from '../rules/summary.ts'
import { cancelCall } from './cancel-call.ts'
import { compactNow } from './compact.ts'
import { ManualControl } from './manual-control.ts'
import { sayLater, withdrawMessage } from './messages.ts'
import { reconcileCall } from './reconcile-call.ts'
import type { CommandedSession } from './turn-session.ts'
import { undoCall } from './undo-call.ts'

/** How long a cancellation waits for tools that it stopped. */
const returnWithinMs = 10_000

type CommandOf<Name extends Command['do']> = Extract<Command, { do: Name }>

/** Commands that need the session in memory. */
export type LoadedCommand = Exclude<Command, { do: 'keep' }>

export async function runCommand(session: CommandedSession, command: LoadedCommand): Promise<Accepted> {
  const before = session.state.seq
  const waited = waitingCalls(session.state.batch)
  const done = (more: Partial<Accepted> = {}): Accepted => {
    const { seq, turn } = session.state
    return {
      first: before + 1,
      count: seq - before,
      at: session.state.updatedAt,
      waited,
      replayed: false,
      ...(turn && { turn: turn.id }),
      ...more,
    }
  }
  switch (command.do) {
    case 'say':
      return done(await say(session, command))
    case 'respond':
      return done(await runRespond(session, command))
    case 'call': {
      const { do: _, ...direct } = command
      return done(await session.call(traced(session, direct)))
    }
    case 'complete':
      await completeCall(session, command.callId, command.output)
      return done()
    case 'claim':
      await session.save([decideClaim(session.state, command, session.context)])
      return done()
    case 'configure':
      await session.configure(sealSettings(session, command.settings))
      return done()
    case 'grant':
      return done({ grant: await session.grant(command.grant) })
    case 'revoke':
      await session.revoke(command.grantId, command.by)
      return done()
    case 'cancel':
      return done({ count: (await cancel(session, command)) ? session.state.seq - before : 0 })
    case 'cancel-call':
      await cancelCall(session, command)
      return done()
    case 'reconcile':
      return done({ found: await reconcileCall(session, command) })
    case 'undo':
      return done(await undoCall(session, traced(session, command)))
    case 'withdraw':
      await withdrawMessage(session, command)
      return done()
    case 'sign':
      await session.signLog()
      return done()
    case 'compact':
      return done({ count: (await compactNow(session)) ? 1 : 0 })
    default:
      await ManualControl.run(session, command)
      return done()
  }
}

async function say(session: CommandedSession, command: CommandOf<'say'>): Promise<Partial<Accepted>> {
  const { do: _, settings, request, parts, during, ...rest } = command
  const attempt = request && findAttempt(session, request)
  const given = {
    // The message of a request whose turn failed is in the history already.
    parts: attempt?.repeats === 'failed' ? [] : parts,
    ...(attempt?.repeats === 'again' && { rewindTo: await viewBefore(session, request?.key ?? '') }),
    ...(settings && { settings: sealSettings(session, settings) }),
    ...(attempt && { request: attempt.request }),
  }
  const later = during && sayLater(session, { ...rest, ...given, during })
  return later ?? session.say({ ...traced(session, rest), ...given })
}

/** The turn that it starts has a trace of its own, below that of the caller. */
function traced<Start extends { trace?: TraceContext }>(session: CommandedSession, start: Start): Start {
  const trace = session.ports.observer?.startTurn?.(session, start.trace)
  return trace ? { ...start, trace } : start
}

/** A result, or a decision of these people. */
type AnsweredCall = { callId: string; people?: readonly Person[] }

type CommandAttempt = { request: RequestKey; repeats?: 'failed' | 'again' }

/** The key under which a request is made now: that of its last attempt, or a new one if it is to be made once more. */
function findAttempt({ state }: CommandedSession, request: RequestKey): CommandAttempt {
  const { requests, turn, lastStop } = state
  const { hash, retry, again } = request
  if (!(retry || again) || !requests.has(request.key)) return { request }
  const attemptKey = (attempt: number): string => (attempt === 1 ? request.key : `${request.key}#${attempt}`)
  let last = 1
  while (requests.has(attemptKey(last + 1))) last += 1
  const isSame = requests.get(attemptKey(last))?.hash === hash
  const anew = { key: attemptKey(last + 1), hash }
  if (again === 'always' || (again && !isSame)) return { request: anew, repeats: 'again' }
  const failed = turn === null && lastStop?.stop === 'error'
  return retry && isSame && failed
    ? { request: anew, repeats: 'failed' }
    : { request: { key: attemptKey(last), hash } }
}

/** The view when the turn of this request began. Calls that the request abandoned have their results in it. */
async function viewBefore({ state, ports }: CommandedSession, key: string): Promise<Entry[]> {
  const accepted = state.requests.get(key)?.seq ?? 0
  const { view } = await readState(
    ports,
    state.id,
    ({ seq, event }) => seq > accepted && event.type === 'turn.started',
  )
  return view
}

async function runRespond(
  session: CommandedSession,
  command: CommandOf<'respond'>,
): Promise<Partial<Accepted>> {
  const { do: _, settings, results, decisions, answers = [], afterStop, skipAnswered, ...rest } = command
  const isOpen = (answered: AnsweredCall): boolean => !skipAnswered || !isAnswered(session, answered)
  const isAsked = ({ question }: GivenAnswer): boolean =>
    !skipAnswered || findQuestion(session.state, question)?.question.closed === undefined
  const open = {
    results: results.filter(isOpen),
    decisions: decisions.filter(isOpen),
    answers: answers.filter(isAsked),
  }
  const count = open.results.length + open.decisions.length + open.answers.length
  if (skipAnswered && count === 0) return {}
  try {
    return await session.respond(
      {
        ...rest,
        results: open.results,
        ...(open.answers.length > 0 && { answers: open.answers }),
        decisions: open.decisions.map(decision => checkDecision(session, decision)),
        ...(settings && { settings: sealSettings(session, settings) }),
      },
      afterStop,
    )
  } catch (error) {
    // Nothing of the request is recorded but the attempt.
    if (error instanceof NotApprover && error.attempt) await session.save([error.attempt])
    throw error
  }
}

function isAnswered({ state }: CommandedSession, { callId, people }: AnsweredCall): boolean {
  const call = findCall(state, callId)
  if (call?.votes && people?.every(({ name }) => call.votes?.some(vote => vote.name === name))) return true
  if (call) return call.stage !== 'asking' && call.stage !== 'handed'
  return settledCalls(state).includes(callId)
}

function checkDecision({ state }: CommandedSession, { edit, ...decision }: GivenDecision) {
  if (edit === undefined || !decision.granted) return decision
  return { ...decision, edit: editText(edit, decision.callId, findCall(state, decision.callId)?.part.form) }
}

function editText(edit: string | JsonObject, callId: string, form: 'json' | 'text' = 'json'): string {
  if (typeof edit === 'string') return edit
  if (form === 'json') return JSON.stringify(edit)
  const { input } = edit
  if (typeof input === 'string') return input
  throw new TurnwireError(
    'bad_request',
    `The call "${callId}" takes free text: send it as "input": {"input": "<text>"}.`,
  )
}

async function cancel(
  session: CommandedSession,
  { turn, settled, withdraw }: CommandOf<'cancel'>,
): Promise<boolean> {
  if (turn !== undefined && session.state.turn && session.state.turn.id !== turn) return false
  if (withdraw !== undefined && session.state.messages)
    session.record(decideTakeAllBack(session.state, withdraw, session.context))
  const cancelled = await session.cancel()
  if (!settled) return cancelled
  const late = Promise.withResolvers<void>()
  const stopClock = session.ports.world.timer(returnWithinMs, late.resolve)
  await Promise.race([Promise.all([session.driver.settle(), session.driver.returned()]), late.promise])
  stopClock()
  return cancelled
}

/** Secret options are sealed before they come near the log. */
export function sealSettings<Given extends Partial<GivenSettings>>(
  { agent, ports, state }: Pick<CommandedSession, 'agent' | 'ports'> & { state?: CommandedSession['state'] },
  given: Given,
): Omit<Given, 'options'> & Pick<Settings, 'options'> {
  const { options: chosen, ...rest } = given
  if (!chosen) return rest as Omit<Given, 'options'> & Pick<Settings, 'options'> // There are none to seal.
  const seal = (name: string, value: string): OptionValue =>
    agent.options.some(option => option.name === name && option.type === 'secret')
      ? { sealed: ports.vault.seal(value, 'option') }
      : value
  const options = Object.fromEntries(
    Object.entries(chosen).flatMap(([name, value]) => {
      const current = value === null ? optionIn(state?.settings.options, name) : seal(name, value)
      return current === undefined ? [] : [[name, current]]
    }),
  )
  return { ...rest, options }
}

function optionIn(options: Settings['options'] | undefined, name: string): OptionValue | undefined {
  return options && Object.hasOwn(options, name) ? options[name] : undefined
}
