// The last decision, with the button that takes it back. It stays in sight on every page until it is sent.
import { type ReactElement, useEffect } from 'react'
import { printable } from '../../../src/lib/text/index.ts'
import { isTyping } from '../../../src/react/is-typing.ts'
import { useNow } from '../../../src/react/parts.tsx'
import { useConsole } from '../lib/console-state.tsx'
import type { Held } from '../lib/held-decisions.ts'
import { Link } from '../lib/router.tsx'

export default function UndoBar(): ReactElement {
  const { decisions } = useConsole()
  const { held, problem, sent, undo, dismiss } = decisions
  const last = held.at(-1)
  useEffect(() => {
    if (!last) return undefined
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'z' || event.altKey || (event.target && isTyping(event.target))) return
      event.preventDefault()
      undo(last.approval.callId)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [last, undo])
  return (
    <div className="undo" role="status">
      {held.map(each => (
        <OneHeld key={each.approval.callId} held={each} isLast={each === last} />
      ))}
      {held.length === 0 && problem !== undefined && (
        <p className="tw-problem">The decision was not taken: {printable(problem, 300)}</p>
      )}
      {held.length === 0 && problem === undefined && sent && (
        <p>
          {describeHeld(sent)}.{' '}
          <Link to={`/sessions/${sent.approval.session}`} className="link" onClick={dismiss}>
            See what came of it
          </Link>
        </p>
      )}
      {held.length === 0 && (
        <button type="button" className="tw-button tw-small" onClick={dismiss}>
          Close
        </button>
      )}
    </div>
  )
}

function OneHeld({ held, isLast }: { held: Held; isLast: boolean }): ReactElement {
  const { decisions } = useConsole()
  const { callId } = held.approval
  const seconds = Math.max(0, Math.ceil((held.dueAt - useNow(true, 500)) / 1000))
  return (
    <div className="undo-one">
      <p>
        {describeHeld(held)}. <span aria-hidden="true">It is sent in {seconds} s.</span>
      </p>
      <button
        type="button"
        className="tw-button tw-small"
        aria-keyshortcuts={isLast ? 'z' : undefined}
        onClick={() => decisions.undo(callId)}
      >
        Undo{isLast && <kbd>z</kbd>}
      </button>
      <button type="button" className="tw-button tw-small" onClick={() => decisions.sendNow(callId)}>
        Send now
      </button>
    </div>
  )
}

function describeHeld({ approval, answer }: Held): string {
  return `${answer.granted ? 'Allowed' : 'Rejected'} ${printable(approval.tool.name, 80)}`
}
