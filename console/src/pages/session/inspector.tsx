// The selected item in full: times, the events about it as they are in the log, and the actions on it.
import { type CSSProperties, type KeyboardEvent, type PointerEvent, type ReactElement, useState } from 'react'
import { wordsOf } from '../../../../src/language/errors.ts'
import type { Json } from '../../../../src/lib/json/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { type CallView, CopyButton, JsonTree, Status, type ViewItem } from '../../../../src/react/index.ts'
import { itemSeq } from '../../../../src/react/transcript.tsx'
import { duration, exactTime, preciseTime } from '../../../../src/react/words.ts'
import { operator } from '../../lib/console-state.tsx'
import type { LiveSession } from '../../lib/live-session.ts'
import { serverUrl } from '../../lib/mount-path.ts'
import { Link, useAddress, withQuery } from '../../lib/router.tsx'
import { saveFile } from '../../lib/save-file.ts'
import { read, write } from '../../lib/theme.ts'

type InspectorProps = {
  session: LiveSession
  item: ViewItem
  onClose: () => void
  onFork: (seq: number) => void
}

export default function Inspector(props: InspectorProps): ReactElement {
  const { session, item, onClose, onFork } = props
  const address = useAddress()
  const { width, drag, onKeyDown } = useWidth()
  const seq = itemSeq(item)
  const about = new Set(item.type === 'call' ? item.call.events : seq === undefined ? [] : [seq])
  const events = session.log.filter(entry => about.has(entry.seq))
  return (
    <aside className="inspector" aria-label="Inspector" style={widthStyle(width)}>
      {/* biome-ignore lint/a11y/useSemanticElements: a rule takes no focus, and this one is moved */}
      <div
        className="drag"
        role="separator"
        aria-label="Width of the inspector"
        aria-orientation="vertical"
        aria-valuenow={Math.round(width)}
        aria-valuemin={narrowest}
        aria-valuemax={Math.round(widest())}
        tabIndex={0}
        onPointerDown={drag}
        onKeyDown={onKeyDown}
      />
      <header className="inspector-head">
        <h2>{item.type === 'call' ? printable(item.call.name, 60) : titles[item.type]}</h2>
        <span className="spacer" />
        <button
          type="button"
          className="tw-button tw-small"
          onClick={onClose}
          aria-label="Close the inspector"
        >
          Close
        </button>
      </header>
      {item.type === 'call' && <Times call={item.call} />}
      {item.type === 'answer' && item.usage && (
        <JsonTree value={item.usage as unknown as Json} label="Usage" />
      )}
      {seq !== undefined && (
        <div className="tw-actions">
          <button type="button" className="tw-button tw-small" onClick={() => onFork(seq)}>
            Fork from here…
          </button>
          {item.type === 'call' && item.call.settledAt !== undefined && (
            <ReceiptButton session={session.id} call={item.call.id} />
          )}
          <CopyButton text={`${serverUrl}${address.path}#seq=${seq}`} label="Copy link" />
          <Link className="tw-button tw-small" to={withQuery(address, { view: 'log' }, `#seq=${seq}`)}>
            In the log
          </Link>
        </div>
      )}
      <h3>Events</h3>
      {events.map(entry => (
        <InspectedEvent key={entry.seq} entry={entry} />
      ))}
    </aside>
  )
}

function InspectedEvent({ entry: { seq, event } }: { entry: LiveSession['log'][number] }): ReactElement {
  return (
    <details className="tw-details">
      <summary>
        {seq} <code>{event.type}</code> {preciseTime(event.at)}
      </summary>
      <JsonTree value={event as unknown as Json} label={`Event ${seq}`} />
    </details>
  )
}

/** Saves the receipt of a settled call, with which anyone can check who allowed it and how it ended. */
function ReceiptButton({ session, call }: { session: string; call: string }): ReactElement {
  const [problem, setProblem] = useState<string>()
  const save = async (): Promise<void> => {
    try {
      const receipt = await operator.receipt(session, call)
      const text = `${JSON.stringify(receipt, null, 2)}\n`
      saveFile(new Blob([text], { type: 'application/json' }), `receipt-${call}.json`)
      setProblem(undefined)
    } catch (error) {
      setProblem(wordsOf(error))
    }
  }
  return (
    <>
      <button type="button" className="tw-button tw-small" onClick={() => void save()}>
        Download the receipt
      </button>
      {problem !== undefined && <p role="alert">{printable(problem, 300)}</p>}
    </>
  )
}

/** A variable, which a phone's style does not use. */
function widthStyle(width: number): CSSProperties {
  return { '--inspector-width': `${width}px` } as CSSProperties // React's type knows no variables
}

const titles: Readonly<Record<Exclude<ViewItem['type'], 'call'>, string>> = {
  user: 'User message',
  answer: 'Answer of the model',
  hosted: 'Hosted tool',
  system: 'Instructions',
  note: 'Note',
}

function Times({ call }: { call: CallView }): ReactElement {
  const { proposedAt, approval, startedAt, settledAt } = call
  const rows: [string, number, number | undefined][] = [
    ['Asked for by the model', proposedAt, undefined],
    ...(approval
      ? [['Asked a person', approval.at, approval.at - proposedAt] as [string, number, number]]
      : []),
    ...(approval?.decided
      ? [
          [
            approval.decided.granted ? 'Allowed' : 'Refused',
            approval.decided.at,
            approval.decided.at - approval.at,
          ] as [string, number, number],
        ]
      : []),
    ...(startedAt === undefined
      ? []
      : [
          ['Started', startedAt, startedAt - (approval?.decided?.at ?? proposedAt)] as [
            string,
            number,
            number,
          ],
        ]),
    ...(settledAt === undefined
      ? []
      : [['Ended', settledAt, settledAt - (startedAt ?? proposedAt)] as [string, number, number]]),
  ]
  return (
    <>
      <Status status={call.status} />
      <table className="times">
        <tbody>
          {rows.map(([name, at, ms]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td title={exactTime(at)}>{preciseTime(at)}</td>
              <td>{ms === undefined ? '' : `+${duration(ms)}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

const narrowest = 280
const widest = (): number => innerWidth * 0.7
const fitting = (width: number): number => Math.max(narrowest, Math.min(widest(), width))

type Width = {
  width: number
  drag: (event: PointerEvent) => void
  onKeyDown: (event: KeyboardEvent) => void
}

/** Dragged at its left edge, or moved by the arrow keys there. The width is kept in this browser. */
function useWidth(): Width {
  const [width, setWidth] = useState(() => Number(read('turnwire-inspector')) || 420)
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowLeft' ? 24 : event.key === 'ArrowRight' ? -24 : 0
    if (step === 0) return
    event.preventDefault()
    setWidth(fitting(width + step))
  }
  const drag = (down: PointerEvent): void => {
    const start = width + down.clientX
    const move = (event: globalThis.PointerEvent): void => {
      setWidth(fitting(start - event.clientX))
    }
    const up = (): void => {
      document.removeEventListener('pointermove', move)
      document.removeEventListener('pointerup', up)
    }
    document.addEventListener('pointermove', move)
    document.addEventListener('pointerup', up)
  }
  write('turnwire-inspector', String(width))
  return { width, drag, onKeyDown }
}
