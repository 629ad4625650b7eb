// A session's transcript with its approvals. The playground and the session page share it.
import { type ReactElement, type ReactNode, useCallback, useMemo } from 'react'
import { printable } from '../../../src/lib/text/index.ts'
import {
  Approval,
  type CallView,
  type ToolLook,
  Transcript,
  type TranscriptProps,
  type ViewItem,
} from '../../../src/react/index.ts'
import { CallActions } from './call-actions.tsx'
import { toolLooks, useConsole } from './console-state.tsx'
import { EventLink } from './event-link.tsx'
import type { LiveSession } from './live-session.ts'
import { useNarrow } from './narrow.ts'
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
  const { session, renderClientCall, items, onSelect } = props
  // There the inspector covers the transcript: a call opens by its line, and the inspector by a link inside it.
  const isNarrow = useNarrow()
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
          {isNarrow && onSelect && <InspectLink call={call} view={view} onSelect={onSelect} />}
          {call.seq !== undefined && <EventLink {...{ id, seq: call.seq }}>Event #{call.seq}</EventLink>}
        </CallActions>
      </>
    ),
    [renderClientCall, id, command, view, findTool, isNarrow, onSelect],
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
      onSelect={isNarrow ? undefined : onSelect}
      empty={props.empty}
    />
  )
}

type InspectProps = { call: CallView; view: LiveSession['view']; onSelect: (item: ViewItem) => void }

function InspectLink({ call, view, onSelect }: InspectProps): ReactElement | null {
  const item = view?.items.find(each => each.type === 'call' && each.call.id === call.id)
  if (!item) return null
  return (
    <button type="button" className="row-link" onClick={() => onSelect(item)}>
      Inspect
    </button>
  )
}

/** Two agents may have different tools of one name: those of the session's agent come first. */
function useLooks({ view }: LiveSession): ReadonlyMap<string, ToolLook> {
  const { looks, catalogue } = useConsole()
  const own = catalogue?.agents.find(({ name }) => name === view?.agent)
  return useMemo(() => new Map([...looks, ...toolLooks(own?.tools ?? [])]), [looks, own])
}
