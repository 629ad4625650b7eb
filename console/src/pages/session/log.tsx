// The log event by event, as it stands in the store. Each event has an address.
import { type ReactElement, useCallback, useMemo, useState } from 'react'
import type { Event } from '../../../../src/language/events.ts'
import type { Json } from '../../../../src/lib/json/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { JsonTree, type SessionView, VirtualRows } from '../../../../src/react/index.ts'
import { duration, exactTime, preciseTime, ruleWords } from '../../../../src/react/words.ts'
import type { LogEntry } from '../../lib/live-session.ts'
import { Link, useAddress, withQuery } from '../../lib/router.tsx'

type LogProps = {
  log: readonly LogEntry[]
  upTo: number
  query: string
  /** By id: the calls that events are about. */
  calls: SessionView['calls']
  target: { key: string; at: number } | undefined
}

const logEntryKey = (entry: LogEntry): string => `e${entry.seq}`

export default function Log({ log, upTo, query, calls, target }: LogProps): ReactElement {
  const entries = useMemo(() => {
    const words = query.toLowerCase()
    const shown = log.slice(0, upTo)
    return words === ''
      ? shown
      : shown.filter(({ event }) => JSON.stringify(event).toLowerCase().includes(words))
  }, [log, upTo, query])
  const render = useCallback(
    (entry: LogEntry) => (
      <LogRow
        entry={entry}
        // Numbers have no gaps and begin with 1.
        before={log[entry.seq - 2]?.event.at}
        calls={calls}
        isTarget={target?.key === logEntryKey(entry)}
      />
    ),
    [log, calls, target],
  )
  return (
    <VirtualRows
      items={entries}
      keyOf={logEntryKey}
      estimate={34}
      label="Log"
      className="log"
      follow
      target={target}
      render={render}
      empty={<p className="tw-muted pad">No event matches.</p>}
    />
  )
}

type LogRowProps = {
  entry: LogEntry
  before: number | undefined
  calls: SessionView['calls']
  isTarget: boolean
}

function LogRow({ entry, before, calls, isTarget }: LogRowProps): ReactElement {
  const { seq, event } = entry
  const gap = before === undefined ? 0 : event.at - before
  const [isOpen, setOpen] = useState(isTarget)
  const address = useAddress()
  return (
    <div className={isTarget ? 'log-row tw-selected' : 'log-row'}>
      <div className="log-line">
        <Link
          to={withQuery(address, {}, `#seq=${seq}`)}
          className="log-seq"
          aria-label={`Link to event ${seq}`}
        >
          {seq}
        </Link>
        <button type="button" className="log-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <code className="log-type">{event.type}</code>
          <span className="log-words">{describeEvent(event, calls)}</span>
        </button>
        <span className="log-gap">{gap > 0 ? `+${duration(gap)}` : ''}</span>
        <time dateTime={new Date(event.at).toISOString()} title={exactTime(event.at)}>
          {preciseTime(event.at)}
        </time>
      </div>
      {isOpen && <JsonTree value={event as unknown as Json} label={`Event ${seq}`} />}
    </div>
  )
}

/** The gist of an event on one line. */
function describeEvent(event: Event, calls: SessionView['calls']): string {
  const about = 'callId' in event ? (calls.get(event.callId)?.name ?? event.callId) : ''
  switch (event.type) {
    case 'session.created':
      return `${event.agent} over ${event.wire}`
    case 'turn.started': {
      const text = event.parts.find(part => part.type === 'text')
      return printable(text?.type === 'text' ? text.text : '', 200)
    }
    case 'model.answered':
      return printable(
        event.parts
          .map(part =>
            part.type === 'call' ? `${part.name}(${part.text})` : 'text' in part ? part.text : part.type,
          )
          .join(' · '),
        200,
      )
    case 'call.settled':
      return printable(
        `${about} ${event.outcome.kind}: ${event.outcome.parts.map(part => (part.type === 'text' ? part.text : part.type)).join(' ')}`,
        200,
      )
    case 'approval.decided':
      return printable(`${about} ${event.granted ? 'allowed' : 'refused'} by ${event.by}`, 200)
    case 'approval.requested':
      return printable(`${about}: ${event.reason ?? ruleWords(event.rule)}`, 200)
    case 'turn.ended':
      return event.stop
    case 'call.delegated':
      return printable(`${about} to the agent ${event.agent}`, 200)
    case 'call.used':
      return printable(`${about}: ${(event.usage?.input ?? 0) + (event.usage?.output ?? 0)} tokens`, 200)
    default:
      return printable(about, 200)
  }
}
