// The log event by event, as it stands in the store. Each event has an address.
import { type ReactElement, useMemo, useState } from 'react'
import type { Event } from '../../../../src/language/events.ts'
import type { Json } from '../../../../src/lib/json.ts'
import { printable } from '../../../../src/lib/text.ts'
import { JsonTree, Time, VirtualRows } from '../../../../src/react/index.ts'
import { ruleWords } from '../../../../src/react/words.ts'
import type { LogEntry } from '../../lib/live-session.ts'
import { Link, useAddress, withQuery } from '../../lib/router.tsx'

type LogProps = {
  log: readonly LogEntry[]
  upTo: number
  query: string
  target: { key: string; at: number } | undefined
}

const keyOf = (entry: LogEntry): string => `e${entry.seq}`

export function Log({ log, upTo, query, target }: LogProps): ReactElement {
  const entries = useMemo(() => {
    const words = query.toLowerCase()
    const shown = log.slice(0, upTo)
    return words === ''
      ? shown
      : shown.filter(({ event }) => JSON.stringify(event).toLowerCase().includes(words))
  }, [log, upTo, query])
  return (
    <VirtualRows
      items={entries}
      keyOf={keyOf}
      estimate={34}
      label="Log"
      className="log"
      follow
      target={target}
      render={entry => <LogRow entry={entry} isTarget={target?.key === keyOf(entry)} />}
      empty={<p className="tw-muted pad">No event matches.</p>}
    />
  )
}

function LogRow({ entry, isTarget }: { entry: LogEntry; isTarget: boolean }): ReactElement {
  const { seq, event } = entry
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
          <span className="log-words">{wordsOf(event)}</span>
        </button>
        <Time at={event.at} />
      </div>
      {isOpen && <JsonTree value={event as unknown as Json} label={`Event ${seq}`} />}
    </div>
  )
}

/** The gist of an event on one line. */
function wordsOf(event: Event): string {
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
        `${event.outcome.kind}: ${event.outcome.parts.map(part => (part.type === 'text' ? part.text : part.type)).join(' ')}`,
        200,
      )
    case 'approval.decided':
      return `${event.granted ? 'allowed' : 'refused'} by ${printable(event.by, 60)}`
    case 'approval.requested':
      return printable(event.reason ?? ruleWords(event.rule), 200)
    case 'turn.ended':
      return event.stop
    default:
      return 'callId' in event ? event.callId : ''
  }
}
