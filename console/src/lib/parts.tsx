// Small parts that several pages share.
import { type ReactElement, type ReactNode, useCallback, useEffect, useState } from 'react'
import { dollars } from '../../../src/lib/text/dollars.ts'
import { toError } from '../../../src/lib/text/error-message.ts'
import { printable } from '../../../src/lib/text/index.ts'
import type { Shape } from '../../../src/react/icons.tsx'
import { CopyButton, ShapeIcon } from '../../../src/react/index.ts'

/** A short id that copies whole. */
export function Id({ id }: { id: string }): ReactElement {
  return (
    <span className="id">
      <code title={id}>{shortId(id)}</code>
      <CopyButton text={id} label="Copy" look="icon" />
    </span>
  )
}

export function shortId(id: string): string {
  const [prefix, rest] = id.includes('_')
    ? [id.slice(0, id.indexOf('_') + 1), id.slice(id.indexOf('_') + 1)]
    : ['', id]
  return rest.length <= 8 ? id : `${prefix}${rest.slice(0, 6)}…`
}

export type StateKind = 'idle' | 'new' | 'running' | 'waiting' | 'done' | 'stopped' | 'failed'
const shapes: Readonly<Record<StateKind, Shape>> = {
  idle: 'check',
  new: 'dashed',
  done: 'check',
  running: 'ring',
  waiting: 'pause',
  stopped: 'square',
  failed: 'cross',
}

/** How a session stands, by shape, colour and words. */
export function State({ kind, words }: { kind: StateKind; words: string }): ReactElement {
  return (
    <span className={`state state-${kind}`}>
      <ShapeIcon shape={shapes[kind]} />
      <span>{printable(words, 160)}</span>
    </span>
  )
}

type EmptyProps = { title: string; shape?: Shape; children?: ReactNode }

export function Empty({ title, shape = 'dashed', children }: EmptyProps): ReactElement {
  return (
    <div className="empty">
      <ShapeIcon shape={shape} />
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** In place of a page. `why`: what the page shows. */
export function NeedsOperator({ why }: { why: string }): ReactElement {
  return (
    <Empty title="This page needs an operator key">
      <p>{why} An operator key is made with: npx turnwire keys add &lt;name&gt; --operator</p>
    </Empty>
  )
}

/** An error, and the ways to go on. */
export function Failure(props: {
  error: Error
  retry?: (() => void) | undefined
  children?: ReactNode
}): ReactElement {
  const { error, retry, children } = props
  return (
    <div className="failure" role="alert">
      <p>{printable(error.message, 600)}</p>
      {children}
      {retry && (
        <button type="button" className="tw-button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Grey lines where rows, or the lines of a text, will be. Screen readers are told what is loaded. */
export function Loading({ what, rows = 6 }: { what: string; rows?: number }): ReactElement {
  return (
    <div className="loading" role="status">
      <span className="tw-hidden">Loading {what} …</span>
      {Array.from({ length: rows }, (_, index) => (
        <span key={index} className="skeleton" style={{ width: `${skeletonWidths[index % 5]}%` }} />
      ))}
    </div>
  )
}

/** Of different lengths, as lines of a text are. */
const skeletonWidths = [72, 54, 88, 63, 41]

/** A line to copy into a terminal. */
export function CommandLine({ text }: { text: string }): ReactElement {
  return (
    <div className="command">
      <pre>{text}</pre>
      <CopyButton text={text} />
    </div>
  )
}

/** Reads something and keeps it; `reload` reads it again. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>): {
  value: T | undefined
  error: Error | undefined
  reload: () => void
} {
  const [state, setState] = useState<{ value?: T; error?: Error }>({})
  const [round, setRound] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` asks for it again
  useEffect(() => {
    const stop = new AbortController()
    load(stop.signal).then(
      value => setState({ value }),
      (cause: unknown) => {
        if (stop.signal.aborted) return
        setState(before => ({ ...before, error: toError(cause) }))
      },
    )
    return () => stop.abort()
  }, [load, round])
  // Counted from the value at that time, so that no request for a reload is lost.
  const reload = useCallback(() => setRound(before => before + 1), [])
  return { value: state.value, error: state.error, reload }
}

/** Undefined: not now. */
export function useEvery(ms: number | undefined, act: () => void): void {
  useEffect(() => {
    if (ms === undefined) return undefined
    const timer = setInterval(act, ms)
    return () => clearInterval(timer)
  }, [ms, act])
}

export function money(cost: number | undefined): string {
  return cost === undefined ? '–' : dollars(cost)
}

export function count(number: number | undefined): string {
  return number === undefined ? '–' : number.toLocaleString('en')
}
