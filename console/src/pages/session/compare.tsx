// Two sessions side by side, each live.
import { type ReactElement, useCallback, useId } from 'react'
import { describeActivity, Transcript } from '../../../../src/react/index.ts'
import { plural } from '../../../../src/react/words.ts'
import { operator, useConsole } from '../../lib/console-state.tsx'
import { useLiveSession } from '../../lib/live-session.ts'
import { count, Failure, Loading, money, State, shortId, useLoaded } from '../../lib/parts.tsx'
import { Link, navigate, useAddress, withQuery } from '../../lib/router.tsx'

export default function Compare(): ReactElement {
  const address = useAddress()
  return (
    <div className="compare">
      <header className="page-head">
        <h1>Compare two sessions</h1>
      </header>
      <div className="compare-sides">
        <Side side="a" id={address.query.get('a') ?? ''} />
        <Side side="b" id={address.query.get('b') ?? ''} />
      </div>
    </div>
  )
}

function Side({ side, id }: { side: 'a' | 'b'; id: string }): ReactElement {
  const address = useAddress()
  const load = useCallback((signal: AbortSignal) => operator.sessions({ limit: 100 }, { signal }), [])
  const { value } = useLoaded(load)
  const field = useId()
  const rows = value?.sessions ?? []
  return (
    <section className="compare-side" aria-label={`Session ${side.toUpperCase()}`}>
      <div className="tw-field">
        <label htmlFor={field}>Session {side.toUpperCase()}</label>
        <select
          id={field}
          className="tw-input"
          value={id}
          onChange={event => navigate(withQuery(address, { [side]: event.target.value }), { replace: true })}
        >
          <option value="">Choose one</option>
          {id !== '' && !rows.some(row => row.id === id) && <option value={id}>{shortId(id)}</option>}
          {rows.map(row => (
            <option key={row.id} value={row.id}>
              {shortId(row.id)} {row.opening?.slice(0, 120)}
            </option>
          ))}
        </select>
      </div>
      {id !== '' && <One key={id} id={id} />}
    </section>
  )
}

function One({ id }: { id: string }): ReactElement {
  const { view, error, isCaughtUp } = useLiveSession(id)
  const { looks } = useConsole()
  if (error && !view) return <Failure error={error} />
  if (!view || !isCaughtUp) return <Loading what="the session" />
  const { activity, words } = describeActivity(view)
  return (
    <>
      <p className="compare-facts">
        <State kind={activity} words={words} /> {count(view.usage.input + view.usage.output)} tokens, cost{' '}
        {view.usage.priced ? money(view.usage.cost) : '–'}, {plural(view.calls.size, 'call')}{' '}
        <Link to={`/sessions/${id}`} className="link">
          Open
        </Link>
      </p>
      <Transcript
        items={view.items}
        tools={looks}
        label={`Transcript of ${id}`}
        opensAt={view.active ? undefined : view.items[0]?.key}
      />
    </>
  )
}
