// Results that come later: a tool has run, and someone gives its result when it is there. Until then nothing of the call is
// in memory. The result passes the same checks as any other, and is taken once.
import { TurnwireError } from '../../language/errors.ts'
import type { CallPostponed, Event } from '../../language/events.ts'
import type { Finished, Tool, ToolOutput } from '../ports/index.ts'
import type { Context } from '../rules/commands.ts'
import { decideFinished } from '../rules/decide-call.ts'
import { outcomes } from '../rules/outcomes.ts'
import { type CallState, findCall, type SessionState, settledCalls } from '../rules/state.ts'
import type { CallSession } from './call-session.ts'
import { askAfterCall } from './hooks.ts'

type Now = Pick<Context, 'now'>

export function decidePostponed(call: CallState, expiresInMs: number, { now }: Now): CallPostponed {
  return { v: 1, at: now, type: 'call.postponed', callId: call.part.id, expiresAt: now + expiresInMs }
}

/** The calls whose results had to come by `deadline`. */
export function overduePostponed({ batch }: SessionState, deadline: number): CallState[] {
  return batch.filter(({ stage, expiresAt = Infinity }) => stage === 'postponed' && expiresAt <= deadline)
}

export function decideNeverCame(overdue: readonly CallState[], context: Now): Event[] {
  return overdue.flatMap(call => decideFinished(call, outcomes.neverCame(), context))
}

const never = (): boolean => false

/** `isChecked`: its tool is being asked what became of it. */
export function postponedDeadlines(
  { batch }: SessionState,
  isChecked: (call: CallState) => boolean = never,
): number[] {
  return batch.flatMap(call =>
    call.stage === 'postponed' && call.expiresAt !== undefined && !isChecked(call) ? [call.expiresAt] : [],
  )
}

// ---- taking a result -----------------------------------------------------------------------------------------------

/** How long a result waits for the tool to return, if it came first. */
const tooSoonMs = 5_000
const defaultLimit = 64 * 1024

/** Resolves once the result is durable. The first result counts. */
export async function completeCall(session: CallSession, callId: string, output: ToolOutput): Promise<void> {
  await untilPostponed(session, callId)
  const call = postponed(session, callId)
  const tool = finishingTool(session, call)
  const { agent, state } = session
  const finished = await agent.gate.finish(output, tool, callId, state.owner)
  const { outcome, blob } = await afterHook(session, call, tool, finished)
  if (blob) await session.keepBlob(blob)
  // Another result may have come meanwhile.
  postponed(session, callId)
  session.ports.world.crashPoint?.('outcome-decided')
  session.record(decideFinished(call, outcome, session.context))
  session.driver.wake()
  await session.flushed()
}

async function afterHook(
  session: CallSession,
  call: CallState,
  tool: FinishingTool,
  finished: Finished,
): Promise<Finished> {
  if (!session.ports.hooks?.afterCall) return finished
  const output = await askAfterCall(session, call, finished.outcome)
  return output ? session.agent.gate.finish(output, tool, call.part.id, session.state.owner) : finished
}

type FinishingTool = Pick<Tool, 'name' | 'output' | 'outputLimit'>

/** A tool that is gone still has its result bounded. */
function finishingTool({ offer }: CallSession, { part: { name } }: CallState): FinishingTool {
  const offered = offer.byName.get(name)
  return offered?.side === 'server' ? offered.tool : { name, outputLimit: defaultLimit }
}

function postponed({ state, lost, lostBecause }: CallSession, callId: string): CallState {
  if (lost) throw lostBecause
  const call = findCall(state, callId)
  if (call?.stage === 'postponed') return call
  if (call?.stage === 'settled' || settledCalls(state).includes(callId))
    throw new TurnwireError('call_settled', `The call "${callId}" already has its result.`)
  if (!call) throw new TurnwireError('unknown_call', `There is no call "${callId}" in this session.`)
  if (call.stage === 'started')
    throw new TurnwireError('busy', `The call "${callId}" is still running. Send its result in a moment.`)
  throw new TurnwireError('wrong_party', `The call "${callId}" was not postponed: it takes no result.`)
}

/** A job may be faster than the tool that began it. */
function untilPostponed(session: CallSession, callId: string): Promise<void> {
  const runs = (): boolean => findCall(session.state, callId)?.stage === 'started'
  if (!runs()) return Promise.resolve()
  return new Promise(resolve => {
    const done = (): void => {
      unwatch()
      stopClock()
      resolve()
    }
    const unwatch = session.feed.watch(item => {
      if (item.type === 'closed' || !runs()) done()
    })
    const stopClock = session.ports.world.timer(tooSoonMs, done)
  })
}
