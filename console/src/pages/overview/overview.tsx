// How all agents do: what they did in the last days, what waits, what failed, and the server itself.
import { type ReactElement, useCallback } from 'react'
import { AapError, type OperatorActivity } from '../../../../src/client/index.ts'
import { duration, plural } from '../../../../src/react/words.ts'
import { operator, useConsole } from '../../lib/console-state.tsx'
import {
  count,
  Empty,
  Failure,
  Loading,
  money,
  NeedsOperator,
  useEvery,
  useLoaded,
} from '../../lib/parts.tsx'
import { type Address, Link, useAddress, withQuery } from '../../lib/router.tsx'
import { shortCount } from '../../lib/scale.ts'
import { Tile } from '../../lib/tile.tsx'
import { Charts } from './charts.tsx'
import { Lately } from './lately.tsx'
import { ServerParts, ThisBrowser } from './server.tsx'
import { Agents, Models, ToolsUsed } from './tables.tsx'

const ranges = [
  { days: 1, label: '24 hours' },
  { days: 7, label: '7 days' },
  { days: 30, label: '30 days' },
  { days: 90, label: '90 days' },
] as const

export default function Overview(): ReactElement {
  const { me } = useConsole()
  const address = useAddress()
  const days = ranges.find(range => String(range.days) === address.query.get('days'))?.days ?? 7
  if (!me.operator && !me.open)
    return (
      <div className="page system page-scroll">
        <NeedsOperator why="Your key sees its own sessions only." />
        <ThisBrowser />
      </div>
    )
  return (
    <div className="page overview system page-scroll">
      <header className="page-head">
        <h1>Overview</h1>
        <Ranges address={address} days={days} />
      </header>
      <Activity days={days} />
      <ServerParts />
      <ThisBrowser />
    </div>
  )
}

function Ranges({ address, days }: { address: Address; days: number }): ReactElement {
  return (
    <nav className="segments" aria-label="Time">
      {ranges.map(range => (
        <Link
          key={range.days}
          to={withQuery(address, { days: String(range.days) })}
          aria-current={range.days === days ? 'true' : undefined}
        >
          {range.label}
        </Link>
      ))}
    </nav>
  )
}

/** The counts change while work goes on: they are read again, and those before stay in sight meanwhile. */
const rereadMs = 15_000

function Activity({ days }: { days: number }): ReactElement {
  const load = useCallback(
    (signal: AbortSignal) => operator.activity({ days, zone: -new Date().getTimezoneOffset() }, { signal }),
    [days],
  )
  const { value, error, reload } = useLoaded(load)
  const isBehind = value !== undefined && value.behind > 0
  useEvery(isBehind ? rereadMs / 10 : rereadMs, reload)
  const isIdle = value !== undefined && value.all.steps.steps === 0 && value.all.turns.turns === 0
  const isUncounted = error instanceof AapError && error.status === 404
  return (
    <>
      {isUncounted && <p className="overview-note tw-muted">The store of this server keeps no counts.</p>}
      {error && !value && !isUncounted && <Failure error={error} retry={reload} />}
      {!value && !error && <Loading what="what was done" />}
      {isIdle && <Idle days={days} />}
      {value && !isIdle && <Tiles report={value} />}
      {value && value.behind > 0 && (
        <p className="overview-note tw-muted" role="status">
          {plural(value.behind, 'session')} with newer events still to be counted.
        </p>
      )}
      <Lately since={value?.since} />
      {value && !isIdle && <Charts report={value} />}
      {value && !isIdle && (
        <div className="overview-tables">
          <div>
            <Models models={value.models} />
            <Agents agents={value.agents} />
          </div>
          <ToolsUsed tools={value.tools} />
        </div>
      )}
    </>
  )
}

function Idle({ days }: { days: number }): ReactElement {
  return (
    <Empty title={`No agent did anything in the last ${days === 1 ? '24 hours' : `${days} days`}`}>
      <p>
        Turns, failures, times, tokens and cost appear here.{' '}
        <Link to="/" className="link">
          Talk to an agent in the playground
        </Link>
        .
      </p>
    </Empty>
  )
}

function Tiles({ report: { all } }: { report: OperatorActivity }): ReactElement {
  const { turns, steps, calls } = all
  const share = turns.failed === 0 ? '' : `${((turns.failed / turns.turns) * 100).toFixed(1)} % of turns`
  const unpriced =
    steps.unpriced > 0
      ? `${count(steps.unpriced)} of ${plural(steps.steps, 'answer')} without a known price`
      : ''
  return (
    <dl className="tiles">
      <Tile
        name="Turns"
        value={count(turns.turns)}
        more={`${plural(steps.steps, 'step')}, ${plural(calls.calls, 'call')}`}
      />
      <Tile name="Failed turns" value={count(turns.failed)} more={share} isBad={turns.failed > 0} />
      <Tile name="Turn, p95" value={time(turns.p95)} more={half(turns.p50)} />
      <Tile name="Step, p95" value={time(steps.p95)} more={half(steps.p50)} />
      <Tile
        name="Tokens"
        value={shortCount(steps.input + steps.output)}
        more={`${shortCount(steps.input)} in, ${shortCount(steps.output)} out`}
      />
      <Tile
        name="Cost"
        value={steps.unpriced > 0 && steps.cost === 0 ? '–' : money(steps.cost)}
        more={unpriced}
      />
    </dl>
  )
}

function time(ms: number | undefined): string {
  return ms === undefined ? '–' : duration(ms)
}

function half(ms: number | undefined): string {
  return ms === undefined ? '' : `half within ${duration(ms)}`
}
