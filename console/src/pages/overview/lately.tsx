// What needs someone: the sessions that wait longest, and those whose last turn failed.
import { type ReactElement, type ReactNode, useCallback, useEffect } from 'react'
import type { OperatorSession, OperatorSessions } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Time } from '../../../../src/react/index.ts'
import { duration } from '../../../../src/react/words.ts'
import { operator, useConsole } from '../../lib/console-state.tsx'
import { count, Failure, State, useLoaded } from '../../lib/parts.tsx'
import { Link } from '../../lib/router.tsx'

const most = 6

/** `since`: failures before are not shown. */
export function Lately({ since }: { since: number | undefined }): ReactElement {
  const load = useCallback(
    (signal: AbortSignal) =>
      Promise.all([
        operator.sessions({ status: 'waiting', sort: 'changed', ascending: true, limit: most }, { signal }),
        operator.sessions(
          { status: 'failed', sort: 'changed', limit: most, ...(since !== undefined && { from: since }) },
          { signal },
        ),
      ]),
    [since],
  )
  const { value, error, reload } = useLoaded(load)
  useChangesInTime(reload)
  if (error && !value) return <Failure error={error} retry={reload} />
  const [waiting, failed] = value ?? []
  return (
    <div className="overview-lately">
      <Block
        title="Waits longest"
        all="/sessions?status=waiting&sort=changed&order=up"
        found={waiting}
        nothing="Nothing waits."
      >
        {row => (
          <>
            <State kind="waiting" words={row.waits?.join(', ') || 'waits'} />
            <span className="tw-muted">{duration(Math.max(0, Date.now() - row.updatedAt))}</span>
          </>
        )}
      </Block>
      <Block
        title="Failed last"
        all="/sessions?status=failed&sort=changed"
        found={failed}
        nothing="No session failed in this time."
      >
        {row => (
          <>
            <State kind="failed" words={row.stop === 'error' ? 'failed' : (row.stop ?? 'failed')} />
            <span className="tw-muted">
              <Time at={row.updatedAt} />
            </span>
          </>
        )}
      </Block>
    </div>
  )
}

/** Many changes in a moment lead to one request. */
function useChangesInTime(reload: () => void): void {
  const { onChange } = useConsole()
  useEffect(() => {
    let due: ReturnType<typeof setTimeout> | undefined
    const stop = onChange(() => {
      due ??= setTimeout(() => {
        due = undefined
        reload()
      }, 500)
    })
    return () => {
      stop()
      clearTimeout(due)
    }
  }, [onChange, reload])
}

type BlockProps = {
  title: string
  all: string
  found: OperatorSessions | undefined
  nothing: string
  children: (row: OperatorSession) => ReactNode
}

function Block({ title, all, found, nothing, children }: BlockProps): ReactElement {
  const { sessions = [], total } = found ?? {}
  return (
    <section aria-label={title}>
      <h2>
        {title}
        {total !== undefined && total > sessions.length && (
          <Link to={all} className="link">
            all {count(total)}
          </Link>
        )}
      </h2>
      {found && sessions.length === 0 && <p className="tw-muted">{nothing}</p>}
      <ul className="plain">
        {sessions.map(row => (
          <li key={row.id}>
            <Link to={`/sessions/${row.id}`} className="lately-row">
              <span className="lately-opening">{printable(row.opening ?? 'Nothing said yet', 160)}</span>
              <span className="tw-muted lately-agent">{printable(row.agent, 40)}</span>
              {children(row)}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
