// An operator's functions around a turn: before and after a model step, before and after a call, when arguments do not fit,
// and at a turn's end. A hook sees, refuses, or replaces; what it proposes passes the same checks as anything else, and
// every change is an event. A hook that throws, hangs, or returns something else counts as a refusal.
import type { Outcome } from '../language/calls.ts'
import { textOf } from '../language/content.ts'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import type { CallEdited, Event, HookActed, HookName, TurnEnded } from '../language/events.ts'
import type { Entry } from '../language/history.ts'
import type { Json } from '../lib/json.ts'
import { decideEdit, decideSettled } from './decide-call.ts'
import { exactText } from './hidden-arguments.ts'
import { hookAnswerFault } from './hook-answers.ts'
import type { Offered } from './offer.ts'
import { outcomes } from './outcomes.ts'
import type { Admission, EnginePorts, Finished, ModelAnswer, ModelRequest, ToolOutput } from './ports.ts'
import type { Session } from './session.ts'
import { type CallState, findCall } from './state.ts'

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that only looks returns nothing.
type Answered<Change> = Change | undefined | void | Promise<Change | undefined | void>
export type Refusal = { refuse: string }

/** Whose turn it is. */
export type HookSubject = { session: string; owner: string; agent: string }
export type HookStep = HookSubject & {
  readonly system?: string
  readonly history: readonly Entry[]
  /** The names of the tools that the model is offered. */
  readonly tools: readonly string[]
}
export type HookAnswer = HookSubject & { readonly text: string; readonly calls: readonly string[] }
export type HookCall = HookSubject & {
  readonly callId: string
  readonly tool: string
  readonly side: 'server' | 'client'
  readonly input: Json
}
export type HookResult = Omit<HookCall, 'input' | 'side'> & { readonly outcome: Readonly<Outcome> }
export type HookRepair = HookSubject & {
  readonly callId: string
  readonly tool: string
  /** The arguments as the model wrote them, and why they were refused. */
  readonly text: string
  readonly reason: string
}

export type Hooks = {
  /** `system` replaces the instructions; `tools` narrows what is offered. */
  beforeStep?(step: HookStep): Answered<Refusal | { system?: string; tools?: readonly string[] }>
  /** `text` replaces what the model said; its calls stay. With this hook an answer is shown when it is whole. */
  afterStep?(answer: HookAnswer): Answered<Refusal | { text: string }>
  /** Before policy looks at the call. `input` replaces the arguments. */
  beforeCall?(call: HookCall): Answered<Refusal | { input: Json }>
  /** `output` replaces the result. */
  afterCall?(result: HookResult): Answered<Refusal | { output: ToolOutput }>
  /** Arguments that do not fit: gives others, as the text that the model should have written. */
  repair?(call: HookRepair): Answered<string>
  turnEnded?(turn: HookSubject & Pick<TurnEnded, 'turn' | 'stop' | 'limit' | 'error'>): Answered<never>
  /** A hook that takes longer counts as a refusal. Default 10,000. */
  timeoutMs?: number
}

const defaultTimeoutMs = 10_000

/** What the hook gives; a refusal if it fails, takes too long, or gives what is no answer of it. */
async function ask<Change>(
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

function isRefusal(change: unknown): change is Refusal {
  return typeof change === 'object' && change !== null && 'refuse' in change
}

export function subjectOf({ state, agent }: Session): HookSubject {
  return { session: state.id, owner: state.owner, agent: agent.name }
}

function acted(
  session: Session,
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
  const change = await ask(ports, 'beforeStep', subject, () =>
    hooks.beforeStep?.(system === undefined ? seen : { ...seen, system }),
  )
  if (!change) return request
  if (isRefusal(change)) {
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
  const text = textOf(answer.parts)
  const calls = answer.parts.flatMap(part => (part.type === 'call' ? [part.name] : []))
  const change = await ask(ports, 'afterStep', subject, () => hooks.afterStep?.({ ...subject, text, calls }))
  if (!change) return answer
  if (isRefusal(change)) {
    record('refused', change.refuse)
    throw new TurnwireError('hook_refused', `The answer was refused: ${change.refuse}`)
  }
  if (change.text === text) return answer
  record('output')
  const rest = answer.parts.filter(part => part.type !== 'text')
  // What the vendor signed no longer fits the words that stand beside it.
  const { continuity: _, origin: __, ...plain } = answer
  const said = change.text === '' ? [] : [{ type: 'text' as const, text: change.text }]
  return { ...plain, parts: [...said, ...rest.filter(part => part.type === 'call')] }
}

/** Records for a session what its hook did. */
export function recorder(
  session: Session,
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
  session: Session,
  call: CallState,
  offered: Offered,
  input: Json,
): Promise<void> | undefined {
  const { hooks } = session.ports
  const callId = call.part.id
  if (!hooks?.beforeCall || call.stage !== 'proposed' || wasAsked(session, callId)) return undefined
  const subject = subjectOf(session)
  const { name } = offered.tool
  const seen: HookCall = { ...subject, callId, tool: name, side: offered.side, input: structuredClone(input) }
  return ask(session.ports, 'beforeCall', subject, () => hooks.beforeCall?.(seen)).then(change => {
    if (!change || session.lost || call.stage !== 'proposed') return undefined
    if (isRefusal(change)) {
      const settled = decideSettled(call, outcomes.deniedByPolicy(change.refuse), session.context)
      session.record([acted(session, 'beforeCall', 'refused', { callId, reason: change.refuse }), settled])
      return undefined
    }
    const isText = call.part.form === 'text' && typeof change.input === 'string'
    const text = isText ? (change.input as string) : JSON.stringify(change.input)
    return replaceArguments(session, call, offered, 'beforeCall', text)
  })
}

/** A hook is asked once about a call. */
function wasAsked(session: Session, question: string): boolean {
  session.hooked ??= new Set()
  if (session.hooked.has(question)) return true
  session.hooked.add(question)
  return false
}

/** Other arguments from a hook: recorded if they fit, else the call is settled. */
async function replaceArguments(
  session: Session,
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
  session: Session,
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

/** Asks for other arguments in place of those that do not fit, once. Undefined: there is nobody to ask. */
export function askRepair(
  session: Session,
  call: CallState,
  offered: Offered,
  reason: string,
): Promise<void> | undefined {
  const { hooks } = session.ports
  const callId = call.part.id
  if (!hooks?.repair || call.stage !== 'proposed' || call.part.cut) return undefined
  if (wasAsked(session, `repair ${callId}`)) return undefined
  const subject = subjectOf(session)
  const text = exactText(session, call)
  if (text === undefined) return undefined
  const seen: HookRepair = { ...subject, callId, tool: offered.tool.name, text, reason }
  return ask(session.ports, 'repair', subject, () => hooks.repair?.(seen)).then(given => {
    if (typeof given !== 'string' || session.lost || call.stage !== 'proposed') return undefined
    return replaceArguments(session, call, offered, 'repair', given)
  })
}

/** A person's edit is shown to the hook too; it may refuse it, not change it. */
export async function checkEditedInput(
  session: Session,
  call: CallState,
  offered: Offered,
  input: Json,
): Promise<void> {
  const { hooks } = session.ports
  if (!hooks?.beforeCall) return
  const subject = subjectOf(session)
  const { name } = offered.tool
  const seen: HookCall = { ...subject, callId: call.part.id, tool: name, side: offered.side, input }
  const change = await ask(session.ports, 'beforeCall', subject, () => hooks.beforeCall?.(seen))
  if (isRefusal(change))
    throw new TurnwireError('invalid_edit', `The changed call is denied: ${change.refuse}`)
}

/** What the hook makes of a result. Undefined: it stays as it is. */
export async function askAfterCall(
  session: Session,
  { part: { id: callId, name: tool } }: CallState,
  outcome: Outcome,
): Promise<ToolOutput | undefined> {
  const { hooks } = session.ports
  const subject = subjectOf(session)
  const seen: HookResult = { ...subject, callId, tool, outcome: structuredClone(outcome) }
  const change = await ask(session.ports, 'afterCall', subject, () => hooks?.afterCall?.(seen))
  if (!change || session.lost) return undefined
  if (!isRefusal(change)) {
    session.record([acted(session, 'afterCall', 'output', { callId })])
    return change.output
  }
  session.record([acted(session, 'afterCall', 'refused', { callId, reason: change.refuse })])
  const text = `The tool ran, but its result was withheld: ${change.refuse}`
  return { parts: [{ type: 'text', text }], failed: true }
}

/** The same for the result of a client's tool. */
export async function afterClientCall(
  session: Session,
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
export function tellTurnEnded(session: Session, events: readonly Event[]): void {
  const { hooks } = session.ports
  if (!hooks?.turnEnded) return
  for (const event of events) {
    if (event.type !== 'turn.ended') continue
    const { turn, stop, limit, error } = event
    const subject = subjectOf(session)
    const seen = { ...subject, turn, stop, ...(limit && { limit }), ...(error && { error }) }
    void session
      .flushed()
      .then(() => ask(session.ports, 'turnEnded', subject, () => hooks.turnEnded?.(seen)))
      .catch(() => {})
  }
}
