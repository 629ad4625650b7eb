// Remembered permissions of the sessions that are not over, with a button to revoke each.
import { type ReactElement, useCallback, useState } from 'react'
import type { OperatorSessionState } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { grantWords } from '../../../../src/react/notes.ts'
import { operator } from '../../lib/console-state.tsx'
import { Failure, shortId, useLoaded } from '../../lib/parts.tsx'
import { Link } from '../../lib/router.tsx'

export function Grants(): ReactElement {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="grants" open={isOpen} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>Grants</summary>
      {isOpen && <GrantList />}
    </details>
  )
}

/** The newest sessions are looked at; grants belong to a session. */
async function readGrants(signal: AbortSignal): Promise<OperatorSessionState[]> {
  const { sessions } = await operator.sessions({ limit: 50 }, { signal })
  const details = await Promise.all(
    sessions.map(({ id }) => operator.session(id, { signal }).catch(() => undefined)),
  )
  return details.flatMap(detail => (detail && detail.grants.length > 0 ? [detail] : []))
}

function GrantList(): ReactElement {
  const load = useCallback(readGrants, [])
  const { value, error, reload } = useLoaded(load)
  if (error) return <Failure error={error} retry={reload} />
  if (!value) return <p className="tw-muted">Looking at the newest 50 sessions …</p>
  if (value.length === 0)
    return <p className="tw-muted">None of the newest 50 sessions has a grant. “Always…” gives one.</p>
  return (
    <ul className="plain">
      {value.flatMap(session =>
        session.grants.map(grant => (
          <li key={grant.id}>
            <span>
              {printable(grantWords(grant), 300)} in{' '}
              <Link to={`/sessions/${session.id}`} className="link">
                {shortId(session.id)}
              </Link>
            </span>
            <button
              type="button"
              className="tw-button tw-small"
              onClick={() =>
                void operator.command(session.id, { do: 'revoke', grantId: grant.id }).then(reload)
              }
            >
              Revoke
            </button>
          </li>
        )),
      )}
    </ul>
  )
}
