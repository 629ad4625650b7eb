// A session's transcript with its approvals, and the field to say something. The playground and the session page share it.
import {
  type FormEvent,
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
  useCallback,
  useId,
  useState,
} from 'react'
import { printable } from '../../../src/lib/text/index.ts'
import { Approval, type CallView, Transcript, type TranscriptProps } from '../../../src/react/index.ts'
import { useAttempt } from './attempt.tsx'
import { useConsole } from './console-state.tsx'
import type { LiveSession } from './live-session.ts'
import { Link } from './router.tsx'

type ConversationProps = Pick<
  TranscriptProps,
  'target' | 'selected' | 'onSelect' | 'empty' | 'renderActions'
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
      return seq === undefined ? null : (
        <Link to={`/sessions/${id}#seq=${seq}`} className="row-link">
          Show it
        </Link>
      )
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
        {call.delegated && (
          <Link to={`/sessions/${call.delegated.session}`} className="row-link">
            Session of the agent {printable(call.delegated.agent, 60)}
          </Link>
        )}
        {call.seq !== undefined && (
          <Link to={`/sessions/${id}#seq=${call.seq}`} className="row-link">
            Event #{call.seq}
          </Link>
        )}
      </>
    ),
    [renderClientCall, id],
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
      selected={props.selected}
      onSelect={props.onSelect}
      empty={props.empty}
    />
  )
}

type ComposerProps = {
  onSend: (text: string) => Promise<unknown>
  onStop?: (() => Promise<unknown>) | undefined
  isActive: boolean
  label?: string
  children?: ReactNode
}

export function Composer(props: ComposerProps): ReactElement {
  const { onSend, onStop, isActive, label = 'Message', children } = props
  const [text, setText] = useState('')
  const { attempt, problem } = useAttempt()
  const field = useId()
  const send = (): void => {
    const said = text.trim()
    if (said === '') return
    setText('')
    const sent = onSend(said)
    // A refused message stays in the field.
    sent.catch(() => setText(said))
    attempt(sent)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault()
    send()
  }
  return (
    <form className="composer" onSubmit={onSubmit}>
      <label htmlFor={field} className="tw-hidden">
        {label}
      </label>
      <textarea
        id={field}
        className="tw-input"
        rows={1}
        placeholder={label}
        title="Enter sends, Shift+Enter makes a new line"
        value={text}
        onChange={event => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="composer-tools">
        {children}
        {isActive && onStop && (
          <button type="button" className="tw-button tw-danger" onClick={() => attempt(onStop())}>
            Stop
          </button>
        )}
        <button type="submit" className="tw-button tw-primary" disabled={text.trim() === ''}>
          Send
        </button>
      </div>
      {problem}
    </form>
  )
}
