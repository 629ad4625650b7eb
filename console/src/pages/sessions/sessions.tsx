// The list of sessions: live, filtered and searched by the address, of any length.
import { type ReactElement, useCallback, useEffect, useId, useMemo, useState } from 'react'
import type { ListedStatus, OperatorSession } from '../../../../src/client/index.ts'
import { isFailure, type TurnStop } from '../../../../src/language/events.ts'
import { present } from '../../../../src/lib/json/present.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { isTyping } from '../../../../src/react/approval.tsx'
import { Time, VirtualRows } from '../../../../src/react/index.ts'
import { type SessionFilter, type UsedSessions, useSessions } from '../../../../src/react/use-lists.ts'
import { duration, plural } from '../../../../src/react/words.ts'
import { operator, useConsole } from '../../lib/console-state.tsx'
import { count, Empty, Failure, Loading, money, State, type StateKind, shortId } from '../../lib/parts.tsx'
import { Link, navigate, useAddress, withQuery } from '../../lib/router.tsx'

const statuses: readonly ListedStatus[] = ['running', 'waiting', 'idle', 'failed']
const columns = [
  ['status', 'Status'],
  ['opening', 'Opening'],
  ['agent', 'Agent'],
  ['owner', 'Owner'],
  ['model', 'Model'],
  ['wire', 'Wire'],
  ['tokens', 'Tokens'],
  ['cost', 'Cost'],
  ['span', 'Lasted'],
  ['changed', 'Changed'],
] as const
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
      <Row row={row} ownModel={agents?.find(({ name }) => name === row.agent)?.model.id} />
    ),
    [agents],
  )
  const { take, more } = list
  useEffect(() => onChange(take), [onChange, take])
  useRowKeys()
  const isFiltered = Object.keys(filter).length > 0
  return (
    <div className="page sessions">
      <header className="page-head">
        <h1>Sessions</h1>
        <Filters filter={filter} />
      </header>
      {list.error && <Failure error={list.error} retry={() => take({ type: 'open' })} />}
      <div className="session-columns" aria-hidden="true">
        {columns.map(([name, label]) => (
          <span key={name} className={`cell-${name} ${isNumber(name) ? 'number' : ''}`}>
            {label}
          </span>
        ))}
      </div>
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
        {list.isWhole ? plural(list.sessions.length, 'session') : soFar(list)}
      </p>
    </div>
  )
}

/** `j` and `k` move the focus from row to row. Enter opens the one that has it. */
function useRowKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const step = event.key === 'j' ? 1 : event.key === 'k' ? -1 : 0
      if (step === 0 || event.ctrlKey || event.metaKey || event.altKey) return
      if ((event.target && isTyping(event.target)) || document.querySelector('dialog[open]')) return
      const rows = [...document.querySelectorAll<HTMLElement>('.session-row')]
      const at = rows.findIndex(row => row.matches(':focus'))
      rows[at < 0 ? 0 : at + step]?.focus()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}

function soFar({ sessions, isLoading }: UsedSessions): string {
  if (sessions.length === 0) return isLoading ? 'Looking …' : ''
  return `${count(sessions.length)} sessions so far${isLoading ? ', looking for more …' : ''}`
}

function readFilter(query: URLSearchParams): SessionFilter {
  const status = statuses.find(each => each === query.get('status'))
  const member = (name: string): string | undefined => query.get(name) || undefined
  const names = { agent: member('agent'), owner: member('owner'), model: member('model'), q: member('q') }
  return present({ status, ...names })
}

function Filters({ filter }: { filter: SessionFilter }): ReactElement {
  const address = useAddress()
  const { catalogue, me } = useConsole()
  const [words, setWords] = useState(filter.q ?? '')
  const id = useId()
  const set = useCallback(
    (name: string, value: string) => navigate(withQuery(address, { [name]: value }), { replace: true }),
    [address],
  )
  useEffect(() => {
    const timer = setTimeout(() => {
      if (words !== (filter.q ?? '')) set('q', words)
    }, 200)
    return () => clearTimeout(timer)
  }, [words, filter.q, set])
  const models = Object.keys(catalogue?.models ?? {}).filter(name => !name.includes('*'))
  const agents = catalogue?.agents.map(agent => agent.name) ?? []
  return (
    <search className="filters">
      <label className="tw-hidden" htmlFor={`${id}-q`}>
        Search sessions
      </label>
      <input
        id={`${id}-q`}
        className="tw-input"
        type="search"
        placeholder="Search id or first message"
        value={words}
        onChange={event => setWords(event.target.value)}
      />
      <Select
        name="Status"
        value={filter.status}
        options={statuses}
        onChange={value => set('status', value)}
      />
      <Select name="Agent" value={filter.agent} options={agents} onChange={value => set('agent', value)} />
      <Select name="Model" value={filter.model} options={models} onChange={value => set('model', value)} />
      {me.operator && filter.owner !== undefined && (
        <button type="button" className="tw-button" onClick={() => set('owner', '')}>
          Owner {printable(filter.owner, 40)} ✕
        </button>
      )}
    </search>
  )
}

type SelectProps = {
  name: string
  value: string | undefined
  options: readonly string[]
  onChange: (value: string) => void
}

function Select({ name, value = '', options, onChange }: SelectProps): ReactElement {
  return (
    <select
      className="tw-input"
      aria-label={name}
      value={value}
      onChange={event => onChange(event.target.value)}
    >
      <option value="">{name}: all</option>
      {options.map(option => (
        <option key={option} value={option}>
          {printable(option, 60)}
        </option>
      ))}
    </select>
  )
}

/** `ownModel`: what the agent uses unless the session names another. */
function Row({ row, ownModel }: { row: OperatorSession; ownModel: string | undefined }): ReactElement {
  const { kind, words } = describeState(row)
  return (
    <Link to={`/sessions/${row.id}`} className="session-row">
      <span className="cell-status" title={printable(words, 160)}>
        <State kind={kind} words={words} />
      </span>
      <span className="cell-opening">
        <span className={row.opening === undefined ? 'opening-text tw-muted' : 'opening-text'}>
          {printable(row.opening ?? 'Nothing said yet', 200)}
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
    </Link>
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
