// The transcript of the session page: each row can be linked to and forked from.
import { type ReactElement, useCallback, useState } from 'react'
import type { SessionView, ViewItem } from '../../../../src/react/index.ts'
import { itemSeq } from '../../../../src/react/transcript.tsx'
import { isAsking } from '../../../../src/react/view.ts'
import { Conversation } from '../../lib/conversation.tsx'
import type { LiveSession } from '../../lib/live-session.ts'
import { Empty } from '../../lib/parts.tsx'
import { Link, useAddress, withQuery } from '../../lib/router.tsx'

type TranscriptViewProps = {
  session: LiveSession
  view: SessionView
  target: { key: string; at: number } | undefined
  selected: string | undefined
  onSelect: (item: ViewItem) => void
  onFork: (seq: number) => void
}

export function TranscriptView(props: TranscriptViewProps): ReactElement {
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
