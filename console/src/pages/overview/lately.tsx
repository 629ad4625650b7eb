// What needs someone: the sessions that wait longest, and those whose last turn failed.
import { type ReactElement, type ReactNode, useCallback, useEffect } from 'react'
import { AapError, type OperatorSession, type SessionQuery } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Time } from '../../../../src/react/index.ts'
import { duration } from '../../../../src/react/words.ts'
import { operator, useConsole } from '../../lib/console-state.tsx'
import { count, Failure, State, useLoaded } from '../../lib/parts.tsx'
import { Link } from '../../lib/router.tsx'

const most = 4
/** Of a store without an index so many are read, and put in order here. */
const mostUnordered = 200

/** `all`: where the others are, if there are others, and what is said of them. */
type Found = { sessions: readonly OperatorSession[]; all?: { address: string; words: string } }

/** `since`: failures before are not shown. */
export function Lately({ since }: { since: number | undefined }): ReactElement {
  const load = useCallback(
    (signal: AbortSignal) =>
      Promise.all([
        byChange({ status: 'waiting', ascending: true }, signal),
        byChange({ status: 'failed', ...(since !== undefined && { from: since }) }, signal),
      ]),
    [since],
  )
  const { value, error, reload } = useLoaded(load)
  useChangesInTime(reload)
  if (error && !value) return <Failure error={error} retry={reload} />
  const [waiting, failed] = value ?? []
  return (
    <div className="overview-lately">
      <Block title="Waits longest" found={waiting} nothing="Nothing waits.">
        {row => (
          <>
            <State kind="waiting" words={row.waits?.join(', ') || 'waits'} />
            <span className="tw-muted">{duration(Math.max(0, Date.now() - row.updatedAt))}</span>
          </>
        )}
      </Block>
      <Block title="Failed last" found={failed} nothing="No session failed in this time.">
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

type Wanted = Pick<SessionQuery, 'from' | 'ascending'> & { status: 'waiting' | 'failed' }

/** Those that changed last; `ascending`: those that did not change for longest. */
async function byChange(wanted: Wanted, signal: AbortSignal): Promise<Found> {
  const { status, ascending } = wanted
  const address = `/sessions?status=${status}`
  try {
    const order = { ...wanted, sort: 'changed', limit: most } as const
    const { sessions, total = 0 } = await operator.sessions(order, { signal })
    if (total <= sessions.length) return { sessions }
    const sorted = `${address}&sort=changed${ascending ? '&order=up' : ''}`
    return { sessions, all: { address: sorted, words: `all ${count(total)}` } }
  } catch (error) {
    if (!(error instanceof AapError) || error.code !== 'bad_request') throw error
  }
  const { ascending: _, ...unordered } = wanted
  const { sessions, next } = await operator.sessions({ ...unordered, limit: mostUnordered }, { signal })
  const inOrder = sessions.toSorted((a, b) => (b.updatedAt - a.updatedAt) * (ascending ? -1 : 1))
  // A page may end early: whether there are others is not known then.
  const isMore = next !== undefined || sessions.length > most
  return { sessions: inOrder.slice(0, most), ...(isMore && { all: { address, words: 'all' } }) }
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
  found: Found | undefined
  nothing: string
  children: (row: OperatorSession) => ReactNode
}

function Block({ title, found, nothing, children }: BlockProps): ReactElement {
  const { sessions = [], all } = found ?? {}
  return (
    <section aria-label={title}>
      <h2>
        {title}
        {all && (
          <Link to={all.address} className="link">
            {all.words}
          </Link>
        )}
      </h2>
      {found && sessions.length === 0 && (
        <p className="tw-muted">{all ? 'None among the newest sessions.' : nothing}</p>
      )}
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
