// The transcript of the session page: each row can be linked to and forked from. Below it the field for the next message.
import { lazy, type ReactElement, Suspense, useCallback, useEffect, useState } from 'react'
import { Composer, type SessionView, type ViewItem } from '../../../../src/react/index.ts'
import { LaterDiff, LaterQuestion, LaterReport } from '../../../../src/react/later-parts.ts'
import { itemSeq } from '../../../../src/react/transcript.tsx'
import { isAsking } from '../../../../src/react/view.ts'
import { Conversation } from '../../lib/conversation.tsx'
import type { LiveSession } from '../../lib/live-session.ts'
import { Empty, Loading } from '../../lib/parts.tsx'
import { Link, useAddress, withQuery } from '../../lib/router.tsx'

const Manual = lazy(() => import('./manual.tsx'))

type TranscriptViewProps = {
  session: LiveSession
  view: SessionView
  target: { key: string; at: number } | undefined
  selected: string | undefined
  onSelect: (item: ViewItem) => void
  onFork: (seq: number) => void
}

/** What a call that waits shows is loaded before the transcript opens at its head, which would move when it grows. */
export default function TranscriptView(props: TranscriptViewProps): ReactElement {
  const { session, view } = props
  const [parts] = useState(() => findParts(session, view))
  const [isReady, setReady] = useState(parts.length === 0)
  useEffect(() => {
    void Promise.all(parts.map(part => part.load())).then(() => setReady(true))
  }, [parts])
  return isReady ? <ShownTranscript {...props} /> : <Loading what="the view" />
}

function findParts(session: LiveSession, { calls }: SessionView): { load: () => Promise<void> }[] {
  return [...calls.values()].flatMap((call): { load: () => Promise<void> }[] => {
    if (isAsking(call)) return [LaterQuestion]
    if (call.status !== 'waiting') return []
    const { preview, last, changed } = session.question(call)
    return [...(preview ? [LaterReport] : []), ...(last || changed ? [LaterDiff] : [])]
  })
}

function ShownTranscript(props: TranscriptViewProps): ReactElement {
  const { session, view, target, selected, onSelect, onFork } = props
  const address = useAddress()
  const [opensAt] = useState(() => findOpening(view))
  const renderActions = useCallback(
    (item: ViewItem) => {
      const seq = itemSeq(item)
      if (seq === undefined || item.type === 'call') return null
      return (
        <>
          <Link
            to={withQuery(address, {}, `#seq=${seq}`)}
            aria-label={`Link to event ${seq}`}
            className="row-link"
          >
            #{seq}
          </Link>
          <button
            type="button"
            className="row-link"
            onClick={() => onSelect(item)}
            aria-label={`Inspect event ${seq}`}
          >
            Inspect
          </button>
          {(item.type === 'user' || item.type === 'answer') && (
            <button
              type="button"
              className="row-link"
              onClick={() => onFork(seq)}
              aria-label={`Fork from event ${seq}`}
            >
              Fork
            </button>
          )}
        </>
      )
    },
    [address, onSelect, onFork],
  )
  return (
    <>
      <Conversation
        session={session}
        items={view.items}
        target={target}
        opensAt={opensAt}
        selected={selected ?? target?.key}
        onSelect={onSelect}
        renderActions={renderActions}
        empty={
          <Empty title="Nothing was said yet">
            <p>Send the first message below.</p>
          </Empty>
        }
      />
      <NextMessage session={session} view={view} />
    </>
  )
}

function NextMessage({ session, view }: Pick<TranscriptViewProps, 'session' | 'view'>): ReactElement {
  return (
    <>
      <Suspense>{view.controlledBy !== undefined && <Manual session={session} view={view} />}</Suspense>
      <Composer
        onSend={(text, during) => session.command({ do: 'say', text, ...(during && { during }) })}
        isActive={view.active}
        messages={view.messages}
        connection={session.connection}
        onWithdraw={message => session.command({ do: 'withdraw', message })}
        label="Send a message to this session"
      />
    </>
  )
}

/**
 * A session that waits for a person opens at the head of what it asks, a finished one at the message that it answered.
 * Undefined: it is at work, and opens at its end.
 */
function findOpening({ active, items }: SessionView): string | undefined {
  const opening = active
    ? items.find(item => item.type === 'call' && (item.call.status === 'waiting' || isAsking(item.call)))
    : items.findLast(item => item.type === 'user')
  return opening?.key
}
