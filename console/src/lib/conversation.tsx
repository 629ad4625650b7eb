// A session's transcript with its approvals. The playground and the session page share it.
import { type ReactElement, type ReactNode, useCallback } from 'react'
import { printable } from '../../../src/lib/text/index.ts'
import { Approval, type CallView, Transcript, type TranscriptProps } from '../../../src/react/index.ts'
import { useAttempt } from './attempt.tsx'
import { useConsole } from './console-state.tsx'
import { EventLink } from './event-link.tsx'
import type { LiveSession } from './live-session.ts'
import { Link } from './router.tsx'

type ConversationProps = Pick<
  TranscriptProps,
  'target' | 'opensAt' | 'selected' | 'onSelect' | 'empty' | 'renderActions'
> & {
  session: LiveSession
  items?: TranscriptProps['items']
  /** Shown inside a call that waits for this page. */
  renderClientCall?: (call: CallView) => ReactNode
}

export function Conversation(props: ConversationProps): ReactElement {
  const { session, renderClientCall, items } = props
  const { looks } = useConsole()
  const { question, decide, id, view } = session
  const renderSource = useCallback(
    (callId: string) => {
      const seq = view?.calls.get(callId)?.seq
      return seq === undefined ? null : <EventLink {...{ id, seq }}>Show it</EventLink>
    },
    [view, id],
  )
  const renderApproval = useCallback(
    (call: CallView) => (
      <Approval
        key={call.approval?.seq}
        question={question(call)}
        onAnswer={answer => decide(call, answer)}
        renderSource={renderSource}
      />
    ),
    [question, decide, renderSource],
  )
  const renderDetails = useCallback(
    (call: CallView) => (
      <>
        {call.status === 'client' && renderClientCall?.(call)}
        {call.settledAt === undefined && call.seq !== undefined && (
          <StopCall call={call} command={session.command} />
        )}
        {call.settledAt !== undefined && mayTryAgain.includes(call.status) && call.parent === undefined && (
          <TryAgain call={call} isActive={view?.active ?? false} command={session.command} />
        )}
        {call.delegated && (
          <Link to={`/sessions/${call.delegated.session}`} className="row-link">
            Session of the agent {printable(call.delegated.agent, 60)}
          </Link>
        )}
        {call.seq !== undefined && <EventLink {...{ id, seq: call.seq }}>Event #{call.seq}</EventLink>}
      </>
    ),
    [renderClientCall, id, session.command, view?.active],
  )
  return (
    <Transcript
      items={items ?? session.view?.items ?? []}
      tools={looks}
      renderApproval={renderApproval}
      renderDetails={renderDetails}
      renderActions={props.renderActions}
      loadWhole={session.loadWhole}
      onAnswer={(_call, question, answer) => session.command({ do: 'answer', question, ...answer })}
      target={props.target}
      opensAt={props.opensAt}
      selected={props.selected}
      onSelect={props.onSelect}
      empty={props.empty}
    />
  )
}

const mayTryAgain: readonly CallView['status'][] = ['error', 'timeout', 'cancelled', 'abandoned', 'denied']

/** A call is settled once. The model is asked to make another like it, which passes the gate anew. */
function TryAgain({ call, isActive, command }: StopCallProps & { isActive: boolean }): ReactElement {
  const { attempt, problem } = useAttempt()
  const text = `Try ${printable(call.name, 80)} again, with the same arguments.`
  return (
    <>
      <button
        type="button"
        className="tw-button tw-small call-stop"
        title={`Says to the model: ${text}`}
        onClick={() => attempt(command({ do: 'say', text, ...(isActive && { during: 'queue' as const }) }))}
      >
        Try again
      </button>
      {problem}
    </>
  )
}

type StopCallProps = { call: CallView; command: LiveSession['command'] }

function StopCall({ call, command }: StopCallProps): ReactElement {
  const { attempt, problem } = useAttempt()
  return (
    <>
      <button
        type="button"
        className="tw-button tw-small tw-danger call-stop"
        onClick={() => attempt(command({ do: 'cancel-call', callId: call.id }))}
      >
        Stop this call
      </button>
      {problem}
    </>
  )
}
