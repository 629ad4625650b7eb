// What a person can do about one call, on one line below it: stop it, have it tried again, ask what became of it, undo it. The server
// checks each of them again, and says in words why it refuses one.
import { type ReactElement, type ReactNode, useState } from 'react'
import { printable } from '../../../src/lib/text/index.ts'
import { type CallView, type SessionView, StopCall } from '../../../src/react/index.ts'
import { useAttempt } from './attempt.tsx'
import type { OperatorTool } from './console-state.tsx'
import type { LiveSession } from './live-session.ts'

type CallActionsProps = {
  call: CallView
  view: SessionView | undefined
  command: LiveSession['command']
  tool: OperatorTool | undefined
  /** Links. */
  children?: ReactNode
}

export function CallActions({ call, view, command, tool, children }: CallActionsProps): ReactElement {
  const { attempt, problem } = useAttempt()
  const [found, setFound] = useState<string>()
  const isActive = view?.active ?? false
  const again = `Try ${printable(call.name, 80)} again, with the same arguments.`
  const check = async (): Promise<void> => {
    const answer = await command({ do: 'reconcile', callId: call.id })
    setFound(answer.found === 'unknown' ? 'Its tool does not know what became of it.' : undefined)
  }
  const undo = (): void => {
    const words = `Have this call of ${printable(call.name, 80)} undone? It is a call of its own, which the rules judge.`
    if (confirm(words)) attempt(command({ do: 'undo', callId: call.id }))
  }
  const button = (label: string, title: string, onClick: () => void): ReactElement => (
    <button type="button" className="tw-button tw-small" title={title} onClick={onClick}>
      {label}
    </button>
  )
  return (
    <div className="call-actions">
      <StopCall call={call} onStop={callId => command({ do: 'cancel-call', callId })} />
      {mayTryAgain(call) &&
        button('Try again', `Says to the model: ${again}`, () =>
          attempt(command({ do: 'say', text: again, ...(isActive && { during: 'queue' as const }) })),
        )}
      {tool?.canReconcile &&
        isDoubtful(call) &&
        button('What became of it?', 'Asks its tool. Nothing runs again', () => attempt(check()))}
      {tool?.canUndo &&
        mayUndo(call, view) &&
        button('Undo this call…', 'By a call of its own, which passes the same gate', undo)}
      <UndoState undo={undoingCall(call, view)} />
      {children}
      <span role="status">{found}</span>
      {problem}
    </div>
  )
}

const failed: readonly CallView['status'][] = ['error', 'timeout', 'cancelled', 'abandoned', 'denied']

/** A call is settled once. The model is asked to make another like it, which passes the gate anew. */
function mayTryAgain({ settledAt, status, parent }: CallView): boolean {
  return settledAt !== undefined && parent === undefined && failed.includes(status)
}

/** It may have taken effect, and nobody has found out. */
function isDoubtful({ status, startedAt, checked, outcome }: CallView): boolean {
  if (checked || outcome?.checked) return false
  return status === 'unknown' || ((status === 'timeout' || status === 'cancelled') && startedAt !== undefined)
}

/** It took effect, and no undo of it has, or may have. */
function mayUndo(call: CallView, view: SessionView | undefined): boolean {
  const { status, outcome, checked, parent } = call
  const hasRun =
    checked?.found === 'ran' || status === 'ok' || (status === 'error' && outcome?.from.source === 'tool')
  if (!hasRun || parent !== undefined || (view?.active ?? true)) return false
  const undo = undoingCall(call, view)
  return undo === undefined || ['denied', 'invalid', 'error', 'abandoned'].includes(undo.status)
}

function undoingCall({ undoneBy }: CallView, view: SessionView | undefined): CallView | undefined {
  return undoneBy === undefined ? undefined : view?.calls.get(undoneBy)
}

function UndoState({ undo }: { undo: CallView | undefined }): ReactElement | null {
  if (!undo) return null
  if (undo.settledAt === undefined) return <span className="tw-muted">It is being undone.</span>
  if (undo.status === 'ok') return <span className="good">Undone.</span>
  const isKnown = ['denied', 'invalid', 'error', 'abandoned'].includes(undo.status)
  return (
    <span className={isKnown ? 'tw-muted' : 'bad'}>
      {isKnown ? 'It was not undone.' : 'It may have been undone.'}
    </span>
  )
}
