// Asks a tool what became of a call that may have taken effect, and makes an outcome of the answer: before the call is settled, and
// on request once it was settled as unknown. Tools without `reconcile` do not come here.
import type { Found, Outcome } from '../../language/calls.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { CallReconciled, CallSettled } from '../../language/events.ts'
import { Abort } from '../../lib/async/abort.ts'
import type { Json } from '../../lib/json/index.ts'
import { readState } from '../log/read-state.ts'
import type { Finished, ReconcileAnswer, ReconcileContext, Tool } from '../ports/index.ts'
import { outcomes } from '../rules/outcomes.ts'
import { type CallState, findCall, type SessionState, settledCalls } from '../rules/state.ts'
import { CallContext } from './call-context.ts'
import type { CallSession } from './call-session.ts'
import { exactText } from './hidden-arguments.ts'
import { takeStream } from './kept-output.ts'

/** A tool is not waited for longer, whatever its own deadline is. */
const longestMs = 30_000

type Checked = Finished & { found: Found }

/** Undefined: it is still not known. Never rejects, unless the session is lost. */
export async function checkCall(
  session: CallSession,
  call: CallState,
  tool: Tool,
  input: Json,
  stop = new Abort(),
): Promise<Checked | undefined> {
  try {
    const answer = await ask(session, call, tool, input, stop)
    if (answer === 'did-not-run') return { found: answer, outcome: outcomes.didNotRun() }
    if (answer === 'unknown') return undefined
    const { part } = call
    const { output, kept } = answer.ran.stream
      ? await takeStream(session, part.id, answer.ran, tool.outputLimit, stop.signal)
      : { output: answer.ran, kept: undefined }
    const { outcome, blob } = await session.agent.gate.finish(output, tool, part.id, session.state.owner)
    const checked: Outcome = { ...outcome, ...(kept && { kept }), checked: true }
    return { found: 'ran', outcome: checked, ...(blob && { blob }) }
  } catch (error) {
    session.ports.log('warn', 'A tool could not say what became of a call.', {
      session: session.id,
      callId: call.part.id,
      tool: tool.name,
      error: wordsOf(error),
    })
    return undefined
  }
}

async function ask(
  session: CallSession,
  call: CallState,
  tool: Tool,
  input: Json,
  stop: Abort,
): Promise<ReconcileAnswer> {
  const { world } = session.ports
  const ms = Math.min(tool.timeoutMs, longestMs)
  const late = Promise.withResolvers<ReconcileAnswer>()
  const forget = stop.onAbort(() => late.resolve('unknown'))
  const stopClock = world.timer(ms, () => {
    stop.abort(new Error(`The tool did not say within ${ms} ms what became of the call.`))
  })
  try {
    const context = reconcileContext(session, call, stop, ms)
    world.crashPoint?.('check-asked')
    return await Promise.race([tool.reconcile?.(input, context) ?? 'unknown', late.promise])
  } finally {
    stopClock()
    forget()
  }
}

/** Only what a question needs: a call that is over makes no progress, asks nobody and makes no calls. */
function reconcileContext(session: CallSession, call: CallState, stop: Abort, ms: number): ReconcileContext {
  const context = new CallContext(session, call, stop, ms)
  const { callId, session: id, owner, idempotencyKey: key } = context
  return {
    callId,
    session: id,
    owner,
    key,
    ...(call.reference !== undefined && { reference: call.reference }),
    get signal() {
      return context.signal
    },
    get fetch() {
      return context.fetch
    },
    get app() {
      return context.app
    },
    get options() {
      return context.options
    },
    get trace() {
      return context.trace
    },
  }
}

/** The outcome of a call that is not settled yet, where `attempt` does not know whether it took effect. */
export async function checkAttempt(
  session: CallSession,
  call: CallState,
  tool: Tool,
  input: Json,
  attempt: Finished,
  stop: Abort,
): Promise<Finished> {
  // That of a call that ran out of time has aborted.
  const checked = await checkCall(session, call, tool, input, stop.aborted ? undefined : stop)
  if (!checked) return attempt
  if (checked.found === 'ran') return checked
  // How it ended stays told: it ran out of time, or the connection was lost.
  const { kind, errorType, thrown } = attempt.outcome
  const { outcome } = checked
  if (kind === 'timeout') return { outcome: { ...outcomes.noEffect(tool.timeoutMs), checked: true } }
  return { outcome: { ...outcome, ...(errorType !== undefined && { errorType }), ...(thrown && { thrown }) } }
}

/** They know no more than that it may have taken effect. */
export function isUnclear({ kind }: Outcome): boolean {
  return kind === 'unknown' || kind === 'timeout'
}

// ---- calls that were settled -----------------------------------------------------------------------------------

/** A call as it stood when it was settled, with its outcome. Undefined: the log has no such call, or it is not settled. */
export async function readSettled(
  session: CallSession,
  callId: string,
): Promise<{ call: CallState; outcome: Outcome } | undefined> {
  await session.flushed()
  let settled: CallSettled | undefined
  const state = await readState(session.ports, session.id, ({ event }) => {
    if (event.type !== 'call.settled' || event.callId !== callId) return false
    settled = event
    return true
  })
  const call = settled && findCall(state, callId)
  return settled && call && { call, outcome: settled.outcome }
}

/** The arguments that it ran with, if they still pass the tool's schema. */
export async function readInput(session: CallSession, call: CallState, tool: Tool): Promise<Json> {
  const text = exactText(session.ports.vault, call)
  const { form } = call.part
  const admission =
    text === undefined
      ? { ok: false as const, reason: 'its arguments were sealed and can no longer be opened.' }
      : await session.agent.gate.admit({ name: tool.name, form, text }, tool, session.state.owner)
  if (admission.ok) return admission.input
  throw new TurnwireError(
    'bad_request',
    `The arguments of call "${call.part.id}" cannot be used any more: ${admission.reason}`,
  )
}

/** By the state of a session in memory: the questions that are under way, so that each call is asked about once at a time. */
const asking = new WeakMap<SessionState, Map<string, Promise<Found | 'unknown'>>>()

export type Asked = Pick<CallReconciled, 'by' | 'told'>

/** Resolves once what was found is durable. A call that was found out about before is not asked about again. */
export function reconcileSettled(
  session: CallSession,
  callId: string,
  asked: Asked,
): Promise<Found | 'unknown'> {
  const { state } = session
  const open = asking.get(state) ?? new Map<string, Promise<Found | 'unknown'>>()
  asking.set(state, open)
  const known = open.get(callId)
  if (known) return known
  const finding = find(session, callId, asked).finally(() => open.delete(callId))
  open.set(callId, finding)
  return finding
}

async function find(session: CallSession, callId: string, asked: Asked): Promise<Found | 'unknown'> {
  const { state } = session
  const before = state.reconciled?.[callId]
  if (before) {
    await session.flushed()
    return before.found
  }
  const tool = reconcilingTool(session, callId)
  const settled = await readSettled(session, callId)
  if (!settled) throw noDoubt(state, callId)
  const checked = await checkCall(session, settled.call, tool, await readInput(session, settled.call, tool))
  if (session.lost) throw session.lostBecause
  if (!checked) return 'unknown'
  const { found, outcome, blob } = checked
  if (blob) await session.keepBlob(blob)
  const { context } = session
  session.ports.world.crashPoint?.('outcome-decided')
  await session.save([
    { v: 1, at: context.now, type: 'call.reconciled', callId, tool: tool.name, found, outcome, ...asked },
  ])
  return found
}

/** Rejects if nothing is to be found out about the call, or its tool cannot say it. */
function reconcilingTool(session: CallSession, callId: string): Tool {
  const name = session.state.doubts?.[callId]
  if (name === undefined) throw noDoubt(session.state, callId)
  const tool = findReconciler(session, name)
  if (tool) return tool
  throw new TurnwireError(
    'bad_request',
    `The tool "${name}" cannot say what became of a call. Give it "reconcile", or look where it takes effect.`,
  )
}

export function findReconciler({ offer }: CallSession, name: string): Tool | undefined {
  const offered = offer.byName.get(name)
  return offered?.side === 'server' && offered.tool.reconcile ? offered.tool : undefined
}

function noDoubt(state: SessionState, callId: string): TurnwireError {
  const words = `The result of call "${callId}" is known: there is nothing to check.`
  return whyUnsettled(state, callId) ?? new TurnwireError('call_settled', words)
}

/** Undefined: the call is settled. */
export function whyUnsettled(state: SessionState, callId: string): TurnwireError | undefined {
  const call = findCall(state, callId)
  if (call && call.stage !== 'settled')
    return new TurnwireError('busy', `The call "${callId}" has no result yet. Wait for it, or stop it.`)
  if (call || settledCalls(state).includes(callId)) return undefined
  return new TurnwireError('unknown_call', `There is no call "${callId}" in this session.`)
}
