// The command by which a person has a call undone: a turn of one call, of the tool that undoes it.
import { addUndoTool, findUndoable } from '../calls/undo.ts'
import type { Command } from '../ports/boundary.ts'
import { decideDirectCall } from '../rules/decide.ts'
import type { CommandedSession, Taken } from './turn-session.ts'

/** Resolves once the turn has begun. Its call may have to wait for a person then. */
export async function undoCall(
  session: CommandedSession,
  { callId, by, wire, requesters, request, trace }: Extract<Command, { do: 'undo' }>,
): Promise<Taken> {
  session.refuseIfGone()
  const isRepeated = request !== undefined && session.state.requests.has(request.key)
  if (isRepeated) return session.accept(request, () => [])
  const { tool, text } = await findUndoable(session, callId)
  const name = addUndoTool(session, tool)
  const undoes = { callId, tool: tool.name }
  const direct = { tool: name, form: 'json' as const, text, by, wire, undoes }
  return session.accept(request, () =>
    decideDirectCall(
      session.state,
      {
        ...direct,
        ...(requesters && { requesters }),
        ...(request && { request }),
        ...(trace && { trace }),
      },
      session.context,
    ),
  )
}
