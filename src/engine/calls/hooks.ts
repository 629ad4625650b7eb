// An operator's functions around a turn: before and after a model step, before and after a call, when arguments do not
// fit, and at a turn's end. A hook sees, refuses, or replaces; what it proposes passes the same checks as anything
// else, and every change is an event. A hook that throws, hangs, or returns something else counts as a refusal.
import type { Outcome } from '../../language/calls.ts'
import { joinText } from '../../language/content.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { CallEdited, Event, HookActed, HookName } from '../../language/events.ts'
import type { Json } from '../../lib/json/index.ts'
import type { Answered, HookCall, HookRepair, HookResult, HookSubject, Refusal } from '../ports/hooks.ts'
import type {
  Admission,
  EnginePorts,
  Finished,
  ModelAnswer,
  ModelRequest,
  ToolOutput,
} from '../ports/index.ts'
import { decideEdit, decideSettled } from '../rules/decide-call.ts'
import { hookAnswerFault } from '../rules/hook-answers.ts'
import type { Offered } from '../rules/offer.ts'
import { outcomes } from '../rules/outcomes.ts'
import { type CallState, findCall } from '../rules/state.ts'
import type { CallSession } from './call-session.ts'
import { exactText } from './hidden-arguments.ts'

const defaultTimeoutMs = 10_000

/** The calls that a hook was asked about, before they run and when their arguments did not fit. */
const shown = new WeakSet<CallState>()
const repaired = new WeakSet<CallState>()

/** The answer of the hook. A hook that fails, takes too long or returns an invalid answer counts as a refusal. */
async function askHook<Change>(
  { hooks, world, log }: Pick<EnginePorts, 'hooks' | 'world' | 'log'>,
  name: HookName,
  subject: HookSubject,
  call: () => Answered<Change>,
): Promise<Change | Refusal | undefined> {
  const late = Promise.withResolvers<never>()
  const ms = hooks?.timeoutMs ?? defaultTimeoutMs
  const stopClock = world.timer(ms, () => late.reject(new Error(`It did not answer within ${ms} ms.`)))
  try {
    const answer = (await Promise.race([call(), late.promise])) ?? undefined
    const fault = answer === undefined ? undefined : hookAnswerFault(name, answer)
    if (fault !== undefined) throw new TypeError(fault)
    return answer
  } catch (error) {
    log('error', 'A hook failed; this counts as a refusal.', {
      ...subject,
      hook: name,
      error: wordsOf(error),
    })
    return { refuse: `the ${name} hook failed` }
  } finally {
    stopClock()
  }
}

function isHookRefusal(change: unknown): change is Refusal {
  return typeof change === 'object' && change !== null && 'refuse' in change
}

export function hookSubject({ state, agent }: CallSession): HookSubject {
  return { session: state.id, owner: state.owner, agent: agent.name }
}

function acted(
  session: CallSession,
  hook: HookName,
  change: HookActed['change'],
  { callId, reason }: { callId?: string; reason?: string } = {},
): HookActed {
  const event: HookActed = { v: 1, at: session.context.now, type: 'hook.acted', hook, change }
  if (callId !== undefined) event.call = callId
  if (reason !== undefined) event.reason = reason
  return event
}

// ---- model steps -------------------------------------------------------------------------------------------------

/** The request as the hook leaves it. Throws `hook_refused`. `record` is told of a change. */
export async function beforeStep(
  ports: Pick<EnginePorts, 'hooks' | 'world' | 'log'>,
  subject: HookSubject,
  request: ModelRequest,
  record: (change: HookActed['change'], reason?: string) => void,
): Promise<ModelRequest> {
  const { hooks } = ports
  if (!hooks?.beforeStep) return request
  const { system, history, tools } = request
  const seen = { ...subject, history: structuredClone(history), tools: tools.map(({ name }) => name) }
  const change = await askHook(ports, 'beforeStep', subject, () =>
    hooks.beforeStep?.(system === undefined ? seen : { ...seen, system }),
  )
  if (!change) return request
  if (isHookRefusal(change)) {
    record('refused', change.refuse)
    throw new TurnwireError('hook_refused', `The request was refused: ${change.refuse}`)
  }
  record('input')
  const { system: newSystem, tools: kept } = change
  return {
    ...request,
    ...(newSystem !== undefined && { system: newSystem }),
    ...(kept && { tools: tools.filter(({ name }) => kept.includes(name)) }),
  }
}

/** The answer as the hook leaves it. Throws `hook_refused`. */
export async function afterStep(
  ports: Pick<EnginePorts, 'hooks' | 'world' | 'log'>,
  subject: HookSubject,
  answer: ModelAnswer,
  record: (change: HookActed['change'], reason?: string) => void,
): Promise<ModelAnswer> {
  const { hooks } = ports
  if (!hooks?.afterStep) return answer
  const text = joinText(answer.parts)
  const calls = answer.parts.flatMap(part => (part.type === 'call' ? [part.name] : []))
  const change = await askHook(ports, 'afterStep', subject, () =>
    hooks.afterStep?.({ ...subject, text, calls }),
  )
  if (!change) return answer
  if (isHookRefusal(change)) {
    record('refused', change.refuse)
    throw new TurnwireError('hook_refused', `The answer was refused: ${change.refuse}`)
  }
  if (change.text === text) return answer
  record('output')
  const rest = answer.parts.filter(part => part.type !== 'text')
  // The vendor's signatures are for the text that the hook replaced.
  const { continuity: _, origin: __, ...plain } = answer
  const said = change.text === '' ? [] : [{ type: 'text' as const, text: change.text }]
  return { ...plain, parts: [...said, ...rest.filter(part => part.type === 'call')] }
}

/** A function that records the change or refusal of this hook as an event of the session. */
export function recorder(
  session: CallSession,
  hook: HookName,
): (change: HookActed['change'], reason?: string) => void {
  return (change, reason) =>
    session.record([acted(session, hook, change, reason === undefined ? {} : { reason })])
}

// ---- calls -------------------------------------------------------------------------------------------------------

/**
 * Asks about a proposed call, once. Undefined: there is nothing to ask. The call is judged anew afterwards, because the hook
 * may have changed its arguments or settled it.
 */
export function askBeforeCall(
  session: CallSession,
  call: CallState,
  offered: Offered,
  input: Json,
): Promise<void> | undefined {
  const { hooks } = session.ports
  const callId = call.part.id
  if (!hooks?.beforeCall || call.stage !== 'proposed' || !isFirst(shown, call)) return undefined
  const subject = hookSubject(session)
  const { name } = offered.tool
  const seen: HookCall = { ...subject, callId, tool: name, side: offered.side, input: structuredClone(input) }
  return askHook(session.ports, 'beforeCall', subject, () => hooks.beforeCall?.(seen)).then(change => {
    if (!change || session.lost || call.stage !== 'proposed') return undefined
    if (isHookRefusal(change)) {
      const settled = decideSettled(call, outcomes.deniedByPolicy(change.refuse), session.context)
      session.record([acted(session, 'beforeCall', 'refused', { callId, reason: change.refuse }), settled])
      return undefined
    }
    const isText = call.part.form === 'text' && typeof change.input === 'string'
    const text = isText ? (change.input as string) : JSON.stringify(change.input)
    return replaceArguments(session, call, offered, 'beforeCall', text)
  })
}

/** True the first time: a hook is asked once about a call. */
function isFirst(asked: WeakSet<CallState>, call: CallState): boolean {
  if (asked.has(call)) return false
  asked.add(call)
  return true
}

/** Other arguments from a hook: recorded if they fit, else the call is settled. */
async function replaceArguments(
  session: CallSession,
  call: CallState,
  { tool }: Offered,
  hook: 'beforeCall' | 'repair',
  text: string,
): Promise<void> {
  const { name, form } = call.part
  const admission = await session.agent.gate.admit({ name, form, text }, tool, session.state.owner)
  if (session.lost || call.stage !== 'proposed') return
  session.record(editEvents(session, call, hook, admission, text))
}

function editEvents(
  session: CallSession,
  call: CallState,
  hook: 'beforeCall' | 'repair',
  admission: Admission,
  text: string,
): Event[] {
  const callId = call.part.id
  if (!admission.ok) {
    const reason = `the ${hook} hook gave arguments that do not fit: ${admission.reason}`
    return [
      acted(session, hook, 'refused', { callId, reason }),
      decideSettled(call, outcomes.invalid(reason), session.context),
    ]
  }
  const edit: Pick<CallEdited, 'callId' | 'text' | 'argsHash' | 'by'> = {
    callId,
    text,
    argsHash: admission.argsHash,
    by: `${hook} hook`,
  }
  return [acted(session, hook, 'input', { callId }), decideEdit(session.state, edit, session.context)]
}

/** Asks the hook once for other arguments in place of those that do not fit. Undefined: there is no hook to ask. */
export function askRepair(
  session: CallSession,
  call: CallState,
  offered: Offered,
  reason: string,
): Promise<void> | undefined {
  const { hooks } = session.ports
  const callId = call.part.id
  if (!hooks?.repair || call.stage !== 'proposed' || call.part.cut) return undefined
  if (!isFirst(repaired, call)) return undefined
  const subject = hookSubject(session)
  const text = exactText(session.ports.vault, call)
  if (text === undefined) return undefined
  const seen: HookRepair = { ...subject, callId, tool: offered.tool.name, text, reason }
  return askHook(session.ports, 'repair', subject, () => hooks.repair?.(seen)).then(given => {
    if (typeof given !== 'string' || session.lost || call.stage !== 'proposed') return undefined
    return replaceArguments(session, call, offered, 'repair', given)
  })
}

/** A person's edit is shown to the hook too; it may refuse it, not change it. */
export async function checkEditedInput(
  session: CallSession,
  call: CallState,
  offered: Offered,
  input: Json,
): Promise<void> {
  const { hooks } = session.ports
  if (!hooks?.beforeCall) return
  const subject = hookSubject(session)
  const { name } = offered.tool
  const seen: HookCall = { ...subject, callId: call.part.id, tool: name, side: offered.side, input }
  const change = await askHook(session.ports, 'beforeCall', subject, () => hooks.beforeCall?.(seen))
  if (isHookRefusal(change))
    throw new TurnwireError('invalid_edit', `The changed call is denied: ${change.refuse}`)
}

/** The output that the hook gives in place of a result. Undefined: the result stays as it is. */
export async function askAfterCall(
  session: CallSession,
  { part: { id: callId, name: tool } }: CallState,
  outcome: Outcome,
): Promise<ToolOutput | undefined> {
  const { hooks } = session.ports
  const subject = hookSubject(session)
  const seen: HookResult = { ...subject, callId, tool, outcome: structuredClone(outcome) }
  const change = await askHook(session.ports, 'afterCall', subject, () => hooks?.afterCall?.(seen))
  if (!change || session.lost) return undefined
  if (!isHookRefusal(change)) {
    session.record([acted(session, 'afterCall', 'output', { callId })])
    return change.output
  }
  session.record([acted(session, 'afterCall', 'refused', { callId, reason: change.refuse })])
  const text = `The tool ran, but its result was withheld: ${change.refuse}`
  return { parts: [{ type: 'text', text }], failed: true }
}

/** The same for the result of a client's tool. */
export async function afterClientCall(
  session: CallSession,
  callId: string,
  finished: Finished,
): Promise<Finished> {
  const call = session.ports.hooks?.afterCall && findCall(session.state, callId)
  if (!call) return finished
  const output = await askAfterCall(session, call, finished.outcome)
  return output ? session.agent.gate.finishClient(output.parts, output.failed === true, callId) : finished
}

// ---- the turn ----------------------------------------------------------------------------------------------------

/** Tells the hook of turns that these events end, once they are durable. */
export function tellTurnEnded(session: CallSession, events: readonly Event[]): void {
  const { hooks } = session.ports
  if (!hooks?.turnEnded) return
  for (const event of events) {
    if (event.type !== 'turn.ended') continue
    const { turn, stop, limit, error } = event
    const subject = hookSubject(session)
    const seen = { ...subject, turn, stop, ...(limit && { limit }), ...(error && { error }) }
    void session
      .flushed()
      .then(() => askHook(session.ports, 'turnEnded', subject, () => hooks.turnEnded?.(seen)))
      .catch(() => {})
  }
}
