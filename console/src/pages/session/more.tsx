// What else can be done with a session: the choices of the menu in its head.
import type { ReactElement } from 'react'
import { CopyButton, type SessionView } from '../../../../src/react/index.ts'
import { operator, useConsole } from '../../lib/console-state.tsx'
import type { LiveSession } from '../../lib/live-session.ts'
import { serverUrl } from '../../lib/mount-path.ts'
import { useNarrow } from '../../lib/narrow.ts'
import { Link, navigate } from '../../lib/router.tsx'
import { saveEvalCase } from '../../lib/save-eval-case.ts'
import { saveFile } from '../../lib/save-file.ts'
import { writeCurl } from './curl.ts'

type MoreProps = {
  session: LiveSession
  view: SessionView
  onFork: () => void
  attempt: (work: Promise<unknown>) => void
}

export default function More({ session, view, attempt, onFork }: MoreProps): ReactElement {
  const { me } = useConsole()
  const isNarrow = useNarrow()
  const remove = (): void => {
    if (!confirm('Delete this session and its log? This cannot be undone.')) return
    attempt(operator.remove(session.id).then(() => navigate('/sessions')))
  }
  const button = (label: string, onClick: () => void, look = ''): ReactElement => (
    <button type="button" className={`tw-button tw-small ${look}`} onClick={onClick}>
      {label}
    </button>
  )
  return (
    <>
      {isNarrow && button('Fork…', onFork)}
      <CopyButton text={() => writeCurl(session.id, view)} label="Copy as curl" />
      {button('Export the log', () => attempt(exportLog(session.id)))}
      <CopyButton text={() => `${serverUrl}/sessions/${session.id}`} label="Copy a link" />
      {button('Make an eval case', () => attempt(saveEvalCase(session.id)))}
      <Link className="tw-button tw-small" to={`/compare?a=${encodeURIComponent(session.id)}`}>
        Compare…
      </Link>
      {me.operator &&
        view.controlledBy === undefined &&
        button('Take manual control', () => attempt(session.command({ do: 'take-control' })))}
      {button('Summarise the history', () => attempt(session.command({ do: 'compact' })))}
      {button('Delete…', remove, 'tw-danger')}
    </>
  )
}

/** A link would not carry the secret of the sign-in. */
async function exportLog(id: string): Promise<void> {
  saveFile(await operator.export(id), `${id}.jsonl`)
}
