// A session's transcript with its approvals. The playground and the session page share it.
import { type ReactElement, type ReactNode, useCallback, useMemo } from 'react'
import { printable } from '../../../src/lib/text/index.ts'
import {
  Approval,
  type CallView,
  type ToolLook,
  Transcript,
  type TranscriptProps,
} from '../../../src/react/index.ts'
import { CallActions } from './call-actions.tsx'
import { toolLooks, useConsole } from './console-state.tsx'
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
  const looks = useLooks(session)
  const { question, decide, id, view, command, findTool, connection } = session
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
        connection={connection}
        renderSource={renderSource}
      />
    ),
    [question, decide, renderSource, connection],
  )
  const renderDetails = useCallback(
    (call: CallView) => (
      <>
        {call.status === 'client' && renderClientCall?.(call)}
        <CallActions call={call} view={view} command={command} tool={findTool(call.name)}>
          {call.delegated && (
            <Link to={`/sessions/${call.delegated.session}`} className="row-link">
              Session of the agent {printable(call.delegated.agent, 60)}
            </Link>
          )}
          {call.seq !== undefined && <EventLink {...{ id, seq: call.seq }}>Event #{call.seq}</EventLink>}
        </CallActions>
      </>
    ),
    [renderClientCall, id, command, view, findTool],
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

/** Two agents may have different tools of one name: those of the session's agent come first. */
function useLooks({ view }: LiveSession): ReadonlyMap<string, ToolLook> {
  const { looks, catalogue } = useConsole()
  const own = catalogue?.agents.find(({ name }) => name === view?.agent)
  return useMemo(() => new Map([...looks, ...toolLooks(own?.tools ?? [])]), [looks, own])
}
