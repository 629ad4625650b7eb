// The list of sessions: live, filtered and searched by the address, of any length.
import { type ReactElement, useCallback, useEffect, useMemo } from 'react'
import type { OperatorSession } from '../../../../src/client/index.ts'
import type { SessionOrder } from '../../../../src/language/activity.ts'
import { isFailure, type TurnStop } from '../../../../src/language/events.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Time, VirtualRows } from '../../../../src/react/index.ts'
import { type SessionFilter, type UsedSessions, useSessions } from '../../../../src/react/use-lists.ts'
import { duration, plural } from '../../../../src/react/words.ts'
import { operator, useConsole } from '../../lib/console-state.tsx'
import { usePageKeys } from '../../lib/page-keys.ts'
import { count, Empty, Failure, Loading, money, State, type StateKind, shortId } from '../../lib/parts.tsx'
import { Link, navigate, useAddress, withQuery } from '../../lib/router.tsx'
import { Filters, readFilter } from './filters.tsx'

const columns: readonly { name: string; label: string; sort?: SessionOrder }[] = [
  { name: 'status', label: 'Status' },
  { name: 'opening', label: 'Opening' },
  { name: 'agent', label: 'Agent' },
  { name: 'owner', label: 'Owner' },
  { name: 'model', label: 'Model' },
  { name: 'wire', label: 'Wire' },
  { name: 'tokens', label: 'Tokens', sort: 'tokens' },
  { name: 'cost', label: 'Cost', sort: 'cost' },
  { name: 'span', label: 'Lasted', sort: 'lasted' },
  { name: 'changed', label: 'Changed', sort: 'changed' },
]
const isNumber = (name: string): boolean => ['tokens', 'cost', 'span', 'changed'].includes(name)
const sessionRowKey = (row: OperatorSession): string => row.id

export default function Sessions(): ReactElement {
  const address = useAddress()
  const filter = useMemo(() => readFilter(address.query), [address.query])
  const { onChange, catalogue } = useConsole()
  const list = useSessions(operator, filter)
  const agents = catalogue?.agents
  const renderRow = useCallback(
    (row: OperatorSession) => (
      <Row
        row={row}
        ownModel={agents?.find(({ name }) => name === row.agent)?.model.id}
        words={filter.q ?? ''}
      />
    ),
    [agents, filter.q],
  )
  const { take, more } = list
  useEffect(() => onChange(take), [onChange, take])
  useWholeSearch(filter.q, list)
  usePageKeys(walkRows)
  const isFiltered = Object.keys(filter).length > 0
  return (
    <div className="page sessions">
      <header className="page-head">
        <h1>Sessions</h1>
        <Count total={list.total ?? 0} isFiltered={isFiltered} />
        <Filters filter={filter} isIndexed={list.isIndexed} />
      </header>
      <ListFailure list={list} filter={filter} />
      <Columns filter={filter} isIndexed={list.isIndexed} />
      <VirtualRows
        items={list.sessions}
        keyOf={sessionRowKey}
        estimate={40}
        label="Sessions"
        role="list"
        onEnd={more}
        render={renderRow}
        empty={
          list.isLoading ? (
            <Loading what="the sessions" />
          ) : (
            !list.error && <Nothing isFiltered={isFiltered} />
          )
        }
      />
      <p className="tw-muted list-foot" role="status">
        {footWords(list)}
      </p>
      {filter.q !== undefined && list.behind > 0 && (
        <p className="tw-muted list-foot-more">
          The newest words of {plural(list.behind, 'session')} are still to be read.
        </p>
      )}
    </div>
  )
}

function Count({ total, isFiltered }: { total: number; isFiltered: boolean }): ReactElement | null {
  if (total === 0) return null
  return (
    <span className="tw-muted list-count">
      {count(total)}
      {isFiltered && ' match'}
    </span>
  )
}

/** A link may ask for an order that this server does not have. */
function ListFailure({ list, filter }: { list: UsedSessions; filter: SessionFilter }): ReactElement | null {
  const address = useAddress()
  if (!list.error) return null
  return (
    <Failure error={list.error} retry={() => list.take({ type: 'open' })}>
      {filter.sort && (
        <p>
          <Link to={withQuery(address, { sort: undefined, order: undefined })} className="link">
            Show the newest first
          </Link>
        </p>
      )}
    </Failure>
  )
}

/** Searches again while the index does not have the newest words yet. */
function useWholeSearch(words: string | undefined, { behind, take }: UsedSessions): void {
  useEffect(() => {
    if (words === undefined || behind === 0) return
    const timer = setTimeout(() => take({ type: 'open' }), 3_000)
    return () => clearTimeout(timer)
  }, [words, behind, take])
}

function Columns({ filter, isIndexed }: { filter: SessionFilter; isIndexed: boolean }): ReactElement {
  return (
    <div className="session-columns">
      {columns.map(({ name, label, sort }) => (
        <span key={name} className={`cell-${name} ${isNumber(name) ? 'number' : ''}`}>
          {sort && isIndexed ? (
            <SortBy sort={sort} label={label} filter={filter} />
          ) : (
            <span aria-hidden="true">{label}</span>
          )}
        </span>
      ))}
    </div>
  )
}

/** `j` and `k` move the focus from row to row. Enter opens the one that has it. */
function walkRows(key: string): void {
  const step = key === 'j' ? 1 : key === 'k' ? -1 : 0
  if (step === 0) return
  const rows = [...document.querySelectorAll<HTMLElement>('.session-row')]
  const at = rows.findIndex(row => row.matches(':focus'))
  rows[at < 0 ? 0 : at + step]?.focus()
}

function footWords({ sessions, isWhole, isLoading, total }: UsedSessions): string {
  if (isWhole && (total === undefined || total === sessions.length)) return plural(sessions.length, 'session')
  if (sessions.length === 0) return isLoading ? 'Looking …' : ''
  const of = total === undefined ? 'sessions so far' : `of ${plural(total, 'session')}`
  return `${count(sessions.length)} ${of}${isLoading ? ', looking for more …' : ''}`
}

/**
 * A column by which the list can be ordered: the largest or newest first, then the smallest, then as it was. What a search finds
 * is ordered by its last change, unless another order is chosen.
 */
function SortBy(props: { sort: SessionOrder; label: string; filter: SessionFilter }): ReactElement {
  const { sort, label, filter } = props
  const address = useAddress()
  const isChosen = (filter.sort ?? (filter.q && 'changed')) === sort
  const next = isChosen ? (filter.ascending ? undefined : 'up') : 'down'
  const arrow = filter.ascending ? '↑' : '↓'
  return (
    <button
      type="button"
      className="sort-by"
      aria-pressed={isChosen}
      aria-label={`Sort by ${label.toLowerCase()}${isChosen ? `, ${filter.ascending ? 'smallest' : 'largest'} first now` : ''}`}
      onClick={() =>
        navigate(withQuery(address, { sort: next && sort, order: next === 'up' ? 'up' : undefined }), {
          replace: true,
        })
      }
    >
      {isChosen && `${arrow} `}
      {label}
    </button>
  )
}

/** `ownModel`: what the agent uses unless the session names another. */
function Row(props: { row: OperatorSession; ownModel: string | undefined; words: string }): ReactElement {
  const { row, ownModel, words } = props
  const state = describeState(row)
  const { found } = row
  return (
    <Link to={`/sessions/${row.id}${found ? `#seq=${found.seq}` : ''}`} className="session-row">
      <span className="cell-status" title={printable(state.words, 160)}>
        <State kind={state.kind} words={state.words} />
      </span>
      <span className="cell-opening">
        <span className={row.opening === undefined ? 'opening-text tw-muted' : 'opening-text'}>
          <Marked text={printable(row.opening ?? 'Nothing said yet', 200)} words={words} />
        </span>
        {row.forkedFrom && <span className="tag">fork</span>}
        <code className="tw-muted">{shortId(row.id)}</code>
      </span>
      <span className="cell-agent">{printable(row.agent, 40)}</span>
      <span className="cell-owner tw-muted">{printable(row.owner, 40)}</span>
      <span className="cell-model tw-muted">{printable(row.model ?? ownModel ?? '–', 40)}</span>
      <span className="cell-wire tw-muted">{printable(row.wire ?? '', 20)}</span>
      <span className="number cell-tokens">{count(row.tokens)}</span>
      <span className="number cell-cost">{money(row.cost)}</span>
      <span className="number cell-span tw-muted" title="From its first to its last event">
        {duration(row.updatedAt - row.createdAt)}
      </span>
      <span className="number cell-changed tw-muted">
        <Time at={row.updatedAt} />
      </span>
      {found && <Found found={found} words={words} />}
    </Link>
  )
}

/** The event in which a search found its words, and what it says around them. */
function Found({
  found,
  words,
}: {
  found: NonNullable<OperatorSession['found']>
  words: string
}): ReactElement {
  return (
    <span className="cell-found tw-muted">
      <span className="tag">{found.in}</span>
      <Marked text={printable(found.text, 240)} words={words} />
      {found.places > 1 && <> · {count(found.places)} places</>}
    </span>
  )
}

/** The beginnings of words that were looked for are marked. */
function Marked({ text, words }: { text: string; words: string }): ReactElement {
  const wanted = words.match(/[\p{L}\p{N}]+/gu) ?? []
  if (wanted.length === 0) return <>{text}</>
  const pattern = new RegExp(`((?<![\\p{L}\\p{N}])(?:${wanted.join('|')}))`, 'giu')
  // Every second piece is one that matched.
  return (
    <>
      {text
        .split(pattern)
        .map((piece, index) => (index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece))}
    </>
  )
}

/** As the head of the session says it, from the same log. */
function describeState(row: OperatorSession): { kind: StateKind; words: string } {
  const { status, waits = [], stop, leftAlone } = row
  const isNew = row.opening === undefined && row.events < 2
  if (leftAlone) return { kind: 'stopped', words: 'left alone' }
  if (status === 'waiting')
    return { kind: status, words: waits.length > 0 ? `waits for ${waits.join(', ')}` : 'waiting' }
  if (status === 'running') return { kind: status, words: status }
  if (isNew) return { kind: 'new', words: 'nothing said yet' }
  if (stop === undefined) return { kind: 'done', words: 'done' }
  return { kind: isFailure(stop) ? 'failed' : 'stopped', words: listWords[stop] }
}

const listWords: Readonly<Record<TurnStop, string>> = {
  end: 'done',
  length: 'cut at its length',
  refusal: 'the model refused',
  filter: 'filtered',
  limit: 'a limit was reached',
  cancelled: 'stopped',
  abandoned: 'left',
  error: 'failed',
}

function Nothing({ isFiltered }: { isFiltered: boolean }): ReactElement {
  return isFiltered ? (
    <Empty title="No session matches">
      <p>
        <Link to="/sessions" className="link">
          Show all sessions
        </Link>
      </p>
    </Empty>
  ) : (
    <Empty title="There are no sessions yet">
      <p>
        They appear here from every wire.{' '}
        <Link to="/" className="link">
          Start one in the playground
        </Link>
        .
      </p>
    </Empty>
  )
}
