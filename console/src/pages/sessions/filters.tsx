// What the list of sessions shows: words, status, agent, model and time. All of it is in the address.
import { type ReactElement, useCallback, useEffect, useId, useState } from 'react'
import type { ListedStatus } from '../../../../src/client/index.ts'
import type { SessionOrder } from '../../../../src/language/activity.ts'
import { present } from '../../../../src/lib/json/present.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { ActionIcon } from '../../../../src/react/icons.tsx'
import type { SessionFilter } from '../../../../src/react/use-lists.ts'
import { useConsole } from '../../lib/console-state.tsx'
import { type Address, navigate, useAddress, withQuery } from '../../lib/router.tsx'

const statuses: readonly ListedStatus[] = ['running', 'waiting', 'idle', 'failed']
/** As the rows say it. */
const statusWords: Readonly<Record<string, string>> = { idle: 'done' }
const orders: readonly SessionOrder[] = ['changed', 'cost', 'tokens', 'lasted', 'created']
const times = [
  { name: '1h', label: 'The last hour', hours: 1 },
  { name: '24h', label: 'The last 24 hours', hours: 24 },
  { name: '7d', label: 'The last 7 days', hours: 7 * 24 },
  { name: '30d', label: 'The last 30 days', hours: 30 * 24 },
]

/** As the address says it. */
export function readFilter(query: URLSearchParams): SessionFilter {
  const status = statuses.find(each => each === query.get('status'))
  const member = (name: string): string | undefined => query.get(name) || undefined
  const names = { agent: member('agent'), owner: member('owner'), model: member('model'), q: member('q') }
  const sort = orders.find(each => each === query.get('sort'))
  const ascending = sort && query.get('order') === 'up' ? true : undefined
  return present({ status, ...names, ...readTime(query), sort, ascending })
}

/** A day is a day of this browser's clock. */
function readTime(query: URLSearchParams): { from: number | undefined; to: number | undefined } {
  const { hours } = times.find(({ name }) => name === query.get('time')) ?? {}
  const day = (name: string): Date | undefined => {
    const date = new Date(`${query.get(name) ?? ''}T00:00`)
    return Number.isNaN(date.getTime()) ? undefined : date
  }
  const last = day('until')
  // The last day belongs to the time, however long it is.
  last?.setDate(last.getDate() + 1)
  return {
    from: hours === undefined ? day('since')?.getTime() : Date.now() - hours * 3_600_000,
    to: last?.getTime(),
  }
}

/** `isIndexed`: the server can look into logs. */
export function Filters(props: { filter: SessionFilter; isIndexed: boolean }): ReactElement {
  const { filter, isIndexed } = props
  const address = useAddress()
  const { catalogue, models, me } = useConsole()
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
  const agents = catalogue?.agents.map(agent => agent.name) ?? []
  return (
    <search className="filters">
      <span className="search-field">
        <ActionIcon name="search" />
        <label className="tw-hidden" htmlFor={`${id}-q`}>
          Search sessions
        </label>
        <input
          id={`${id}-q`}
          className="tw-input"
          type="search"
          placeholder={isIndexed ? 'Search texts, tools, arguments, errors' : 'Search openings and ids'}
          value={words}
          onChange={event => setWords(event.target.value)}
        />
      </span>
      <Select
        name="Status"
        value={filter.status}
        options={statuses}
        words={statusWords}
        onChange={value => set('status', value)}
      />
      <Select name="Agent" value={filter.agent} options={agents} onChange={value => set('agent', value)} />
      <Select name="Model" value={filter.model} options={models} onChange={value => set('model', value)} />
      <TimeRange address={address} set={set} />
      {me.operator && filter.owner !== undefined && (
        <button type="button" className="tw-button" onClick={() => set('owner', '')}>
          Owner {printable(filter.owner, 40)} ✕
        </button>
      )}
    </search>
  )
}

/** Some hours up to now, or days from the calendar. */
function TimeRange({
  address,
  set,
}: {
  address: Address
  set: (name: string, value: string) => void
}): ReactElement {
  const [since, until] = [address.query.get('since') ?? '', address.query.get('until') ?? '']
  const time = address.query.get('time') ?? ''
  const isBetween = time === 'days' || since !== '' || until !== ''
  const choose = (value: string): void =>
    navigate(withQuery(address, { time: value, since: undefined, until: undefined }), { replace: true })
  return (
    <>
      <select
        className="tw-input"
        aria-label="Time"
        value={isBetween ? 'days' : time}
        onChange={event => choose(event.target.value)}
      >
        <option value="">Any time</option>
        {times.map(({ name, label }) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
        <option value="days">Between days…</option>
      </select>
      {isBetween && (
        <span className="between">
          <input
            type="date"
            className="tw-input"
            aria-label="From the day"
            value={since}
            onChange={event => set('since', event.target.value)}
          />
          <input
            type="date"
            className="tw-input"
            aria-label="To the day"
            value={until}
            onChange={event => set('until', event.target.value)}
          />
        </span>
      )}
    </>
  )
}

type SelectProps = {
  name: string
  value: string | undefined
  options: readonly string[]
  /** Of options that are shown as something else. */
  words?: Readonly<Record<string, string>>
  onChange: (value: string) => void
}

function Select({ name, value = '', options, words = {}, onChange }: SelectProps): ReactElement {
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
          {printable(words[option] ?? option, 60)}
        </option>
      ))}
    </select>
  )
}
