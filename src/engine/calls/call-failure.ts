// Turns a tool's exception into the outcome of its call: refused and never ran, failed, or sent with an unknown result.
// Whether a call may run again is decided here for every tool, wherever it runs.
import type { Outcome, Thrown } from '../../language/calls.ts'
import { mayRepeat } from '../../language/tools.ts'
import { Unanswered } from '../../lib/net/unanswered.ts'
import { type Finished, InvalidInput, ProtocolFailure, type Tool } from '../ports/index.ts'
import { describeThrown, errorType, isDefect, safeReason } from '../rules/safe-reason.ts'
import type { CallState } from '../rules/state.ts'
import type { CallSession } from './call-session.ts'

/** `retry`: another try does no harm. */
export type Attempt = Finished & { retry?: true }

type Failure = 'refused' | 'failed' | 'unanswered'

export function decideFailed(
  session: CallSession,
  call: CallState,
  tool: Tool,
  error: unknown,
): Attempt | Promise<Attempt> {
  const failure = describeFailure(call, tool, error)
  const finished = session.agent.gate.finish(
    {
      parts: [{ type: 'text', text: wordsFor(failure, safeReason(error)) }],
      failed: true,
      // The gate redacts them.
      details: describeThrown(error),
    },
    { name: tool.name, outputLimit: tool.outputLimit },
    call.part.id,
    session.state.owner,
  )
  const asFailure = ({ outcome: { details, ...outcome }, blob }: Finished): Attempt => {
    const thrown = details as Thrown | undefined // the same members, redacted
    session.ports.log('warn', 'A tool threw.', {
      session: session.id,
      callId: call.part.id,
      tool: tool.name,
      error: errorType(error),
      // The words of the tool's author may hold arguments. They are in the session's log, as arguments are.
      ...(isDefect(error) && thrown && { words: thrown.message }),
      ...(thrown?.stack && { stack: thrown.stack }),
    })
    return {
      outcome: { ...failedOutcome(outcome, failure, tool, error), ...(thrown && { thrown }) },
      ...(blob && { blob }),
      ...(!(error instanceof InvalidInput) && mayRepeat(tool) && { retry: true }),
    }
  }
  return finished instanceof Promise ? finished.then(asFailure) : asFailure(finished)
}

function describeFailure(call: CallState, tool: Tool, error: unknown): Failure {
  // After an earlier attempt nobody can say that nothing has happened.
  if (error instanceof InvalidInput && call.attempt === 1) return 'refused'
  return error instanceof Unanswered && !mayRepeat(tool) ? 'unanswered' : 'failed'
}

function failedOutcome(outcome: Outcome, failure: Failure, { name }: Tool, error: unknown): Outcome {
  if (failure === 'refused') return { ...outcome, kind: 'invalid', from: { source: 'runtime' } }
  const failed = { ...outcome, errorType: errorType(error) }
  if (failure === 'unanswered') return { ...failed, kind: 'unknown', from: { source: 'runtime' } }
  return error instanceof ProtocolFailure
    ? { ...failed, from: { source: 'tool', tool: name, protocolError: error.code } }
    : failed
}

function wordsFor(failure: Failure, reason: string): string {
  if (failure === 'unanswered')
    return `It is not known whether the tool took effect: ${reason} It was not run again. Check before repeating it.`
  return `${failure === 'refused' ? 'The tool was not run' : 'The tool failed'}: ${reason}`
}
