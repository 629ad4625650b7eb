// Small parts that the others are made of: a status in shape and word, text that hides nothing, copying, folding.
import { type ReactElement, type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { printable, utf8Length } from '../lib/text/index.ts'
import { ActionIcon, ShapeIcon, statusShapes } from './icons.tsx'
import type { CallStatus } from './view.ts'
import { byteSize, exactTime, relativeTime, statusWords } from './words.ts'

export function Status({ status, words }: { status: CallStatus; words?: string | undefined }): ReactElement {
  return (
    <span className={`tw-status tw-status-${status}`}>
      <ShapeIcon shape={statusShapes[status]} />
      <span>{words ?? statusWords[status]}</span>
    </span>
  )
}

/** Text from a model or a tool. Controls, bidi marks and invisible characters are spelled out. */
export function SafeText({ text, oneLine = false }: { text: string; oneLine?: boolean }): ReactElement {
  return <>{printable(text, { multiline: !oneLine })}</>
}

export function CopyButton({
  text,
  label = 'Copy',
  look = 'words',
}: {
  text: string | (() => string)
  label?: string
  /** `icon`: a picture, whose label is read out and shown on hover. */
  look?: 'words' | 'icon'
}): ReactElement {
  const [copied, setCopied] = useState(false)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const copy = (): void => {
    void copyText(typeof text === 'string' ? text : text()).then(() => {
      setCopied(true)
      clearTimeout(timer.current)
      timer.current = setTimeout(() => setCopied(false), 1500)
    })
  }
  if (look === 'words')
    return (
      <button type="button" className="tw-button tw-small" onClick={copy} data-stays>
        {copied ? 'Copied' : label}
      </button>
    )
  return (
    <button
      type="button"
      className="tw-button tw-icon"
      onClick={copy}
      aria-label={copied ? 'Copied' : label}
      title={copied ? 'Copied' : label}
    >
      {copied ? <ShapeIcon shape="check" /> : <ActionIcon name="copy" />}
    </button>
  )
}

/** Pages that are not served over HTTPS or loopback have no clipboard API: there the text is put into a field and copied. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}

const shownAtOnce = 6000
const shownAtEnds = 2500

/** A long text shows its head and its tail, with the size between them, until a person wants all of it. */
export function LongText({ text, wrap = true }: { text: string; wrap?: boolean }): ReactElement {
  const [isWhole, setWhole] = useState(false)
  const className = wrap ? 'tw-text' : 'tw-text tw-nowrap'
  if (isWhole || text.length <= shownAtOnce)
    return (
      <pre className={className}>
        <SafeText text={text} />
      </pre>
    )
  const between = text.slice(shownAtEnds, -shownAtEnds)
  return (
    <div className="tw-long">
      <pre className={className}>
        <SafeText text={text.slice(0, shownAtEnds)} />
      </pre>
      <button type="button" className="tw-button tw-fold" onClick={() => setWhole(true)}>
        Show {byteSize(utf8Length(between))} between the beginning and the end
      </button>
      <pre className={className}>
        <SafeText text={text.slice(-shownAtEnds)} />
      </pre>
    </div>
  )
}

/** Relative, with the exact time on hover, for screen readers and in copies. */
export function Time({ at, now }: { at: number; now?: number }): ReactElement {
  const ticking = useNow(now === undefined)
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {relativeTime(at, now ?? ticking)}
    </time>
  )
}

/** One timer for all parts that show a time that passes at this rate. */
class Clock {
  #now = Date.now()
  #timer: ReturnType<typeof setInterval> | undefined
  readonly #listeners = new Set<() => void>()
  readonly #everyMs: number

  constructor(everyMs: number) {
    this.#everyMs = everyMs
  }

  readonly now = (): number => this.#now

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    this.#timer ??= setInterval(() => {
      this.#now = Date.now()
      for (const each of this.#listeners) each()
    }, this.#everyMs)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }
}

const clocks = new Map<number, Clock>()
const stopped = { subscribe: () => () => {}, now: () => 0 }

function sharedClock(everyMs: number): Clock {
  const clock = clocks.get(everyMs) ?? new Clock(everyMs)
  clocks.set(everyMs, clock)
  return clock
}

/** The time, again every 15 seconds. */
export function useNow(isOn = true, everyMs = 15_000): number {
  // The clock may have ticked last some time before this part appeared.
  const [first] = useState(() => Date.now())
  const { subscribe, now } = isOn ? sharedClock(everyMs) : stopped
  return Math.max(first, useSyncExternalStore(subscribe, now, now))
}

/** A name and its value, in a list of facts. */
export function Fact(props: { name: string; className?: string; children: ReactNode }): ReactElement {
  const { name, className, children } = props
  return (
    <div className={className}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

export function Fold(props: {
  label: ReactNode
  open?: boolean
  children: ReactNode
  className?: string
}): ReactElement {
  const [isOpen, setOpen] = useState(props.open ?? false)
  return (
    <details
      className={`tw-details ${props.className ?? ''}`}
      open={isOpen}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>{props.label}</summary>
      {isOpen && props.children}
    </details>
  )
}

/** Warnings for a person before the answer. */
export function Warnings({ words }: { words: readonly string[] }): ReactElement | null {
  if (words.length === 0) return null
  return (
    <ul className="tw-warnings">
      {words.map(each => (
        <li key={each}>{printable(each, 300)}</li>
      ))}
    </ul>
  )
}
