// Rows of any height, of which only those near the viewport are in the document: 10,000 of them scroll without effort.
// The browser's scroll anchoring keeps what a person reads in its place while heights become known.
import {
  memo,
  type ReactElement,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { RowHeights } from './row-heights.ts'

export type VirtualRowsProps<T> = {
  items: readonly T[]
  keyOf: (item: T, index: number) => string
  render: (item: T, index: number) => ReactNode
  /** The height of a row that was not measured yet, in pixels. */
  estimate: number
  label: string
  className?: string
  /** Stays at the end while it grows, unless a person has scrolled away. */
  follow?: boolean
  /** The key of a row to bring into the middle. `target.at` makes it happen again for the same row. */
  target?: { key: string; at: number } | undefined
  /** Called when the last rows are in sight. */
  onEnd?: (() => void) | undefined
  /** Shown when a person has scrolled away from the end. */
  newest?: string
  /** A row with nothing in it, in place of an empty list. */
  empty?: ReactNode
  role?: 'list' | undefined
}

const overscan = 600

export function VirtualRows<T>(props: VirtualRowsProps<T>): ReactElement {
  const { items, keyOf, render, follow = false, target, onEnd, role } = props
  const box = useRef<HTMLElement>(null)
  const { heights, measure, measured } = useHeights(props)
  const { view, isAtEnd, isAway, look } = useViewport(box)
  const first = heights.indexAt(view.top - overscan)
  const last = Math.min(items.length, heights.indexAt(view.top + view.height + overscan) + 1)
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs whenever rows were added or measured
  useLayoutEffect(() => {
    const element = box.current
    if (element && follow && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [items, measured, follow])
  useTarget({ box, target, items, keyOf, heights, isAtEnd })
  useEffect(() => {
    if (onEnd && items.length > 0 && last >= items.length) onEnd()
  }, [onEnd, last, items.length])
  const toEnd = (): void => box.current?.scrollTo({ top: box.current.scrollHeight })
  return (
    <div className={`tw-rows ${props.className ?? ''}`}>
      <section
        ref={box}
        className="tw-scroll"
        tabIndex={0}
        aria-label={props.label}
        onScroll={event => look(event.currentTarget)}
      >
        {items.length === 0 && props.empty}
        <div style={{ height: heights.start(first) }} />
        <div role={role}>
          {items.slice(first, last).map((item, index) => {
            const key = keyOf(item, first + index)
            const place = { rowKey: key, index: first + index, measure, role }
            return <OneRow key={key} item={item} render={render as RenderAny} {...place} />
          })}
        </div>
        <div style={{ height: heights.start(items.length) - heights.start(last) }} />
      </section>
      {follow && isAway && (
        <button type="button" className="tw-button tw-newest" onClick={toEnd}>
          {props.newest ?? 'Go to the newest'}
        </button>
      )}
    </div>
  )
}

/** The list gives each row only items of its own kind. */
type RenderAny = (item: unknown, index: number) => ReactNode

type OneRowProps = {
  item: unknown
  index: number
  rowKey: string
  render: RenderAny
  measure: (element: HTMLElement | null) => void
  role: 'list' | undefined
}

/** Scrolling draws the rows that come into sight, and none of those that are there already. */
const OneRow = memo(function OneRow({
  item,
  index,
  rowKey,
  render,
  measure,
  role,
}: OneRowProps): ReactElement {
  return (
    <div data-key={rowKey} data-index={index} ref={measure} className="tw-row" role={role && 'listitem'}>
      {render(item, index)}
    </div>
  )
})

/** Where each row begins, by measured heights and the estimate for the others. */
function useHeights<T>({ items, keyOf, estimate }: VirtualRowsProps<T>): {
  heights: RowHeights
  measure: (element: HTMLElement | null) => void
  measured: number
} {
  const known = useRef(new Map<string, number>())
  const before = useRef<{ items: readonly T[]; heights: RowHeights }>(undefined)
  const heights = useMemo(() => {
    const kept = before.current && sameEnds(before.current.items, items)
    const made = new RowHeights(items.length, index => {
      if (kept && before.current) {
        // Most changes leave most rows where they were, or move them all by as much.
        if (index < kept.first) return before.current.heights.of(index)
        const old = index - items.length + before.current.items.length
        if (index >= items.length - kept.last) return before.current.heights.of(old)
      }
      const item = items[index]
      return (item === undefined ? undefined : known.current.get(keyOf(item, index))) ?? estimate
    })
    before.current = { items, heights: made }
    return made
  }, [items, keyOf, estimate])
  const latest = useRef(heights)
  latest.current = heights
  const [measured, setMeasured] = useState(0)
  const measure = useMeasure(
    useCallback((key, index, height) => {
      if (known.current.get(key) === height) return false
      known.current.set(key, height)
      latest.current.set(index, height)
      return true
    }, []),
    setMeasured,
  )
  return { heights, measure, measured }
}

/** How many items are the same at the beginning, and how many of the others at the end. */
function sameEnds(before: readonly unknown[], now: readonly unknown[]): { first: number; last: number } {
  const most = Math.min(before.length, now.length)
  let first = 0
  while (first < most && before[first] === now[first]) first += 1
  let last = 0
  while (last < most - first && before[before.length - 1 - last] === now[now.length - 1 - last]) last += 1
  return { first, last }
}

/** The visible part, in steps of 200 pixels, and whether it is the end of the list. */
function useViewport(box: { current: HTMLElement | null }): {
  view: { top: number; height: number }
  isAtEnd: { current: boolean }
  isAway: boolean
  look: (element: HTMLElement) => void
} {
  const [view, setView] = useState({ top: 0, height: 900 })
  const isAtEnd = useRef(true)
  const [isAway, setAway] = useState(false)
  const look = useCallback((element: HTMLElement) => {
    const { scrollTop, clientHeight, scrollHeight } = element
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < 48
    setAway(!isAtEnd.current)
    setView(before =>
      before.height === clientHeight && Math.abs(before.top - scrollTop) < 200 && scrollTop !== 0
        ? before
        : { top: scrollTop, height: clientHeight },
    )
  }, [])
  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    const observer = new ResizeObserver(() => look(element))
    observer.observe(element)
    return () => observer.disconnect()
  }, [box, look])
  return { view, isAtEnd, isAway, look }
}

/** One observer for all rows. A ref callback gives it each row when it appears. `take` says whether a height is new. */
function useMeasure(
  take: (key: string, index: number, height: number) => boolean,
  changed: (update: (before: number) => number) => void,
): (element: HTMLElement | null) => void {
  const observer = useRef<ResizeObserver>(undefined)
  useEffect(() => () => observer.current?.disconnect(), [])
  return useCallback(
    (element: HTMLElement | null) => {
      if (!element) return
      observer.current ??= new ResizeObserver(entries => {
        let isOther = false
        for (const { target, borderBoxSize } of entries) {
          const { dataset, isConnected } = target as HTMLElement // only rows are observed
          const height = borderBoxSize[0]?.blockSize ?? 0
          const { key, index } = dataset
          if (!isConnected) observer.current?.unobserve(target)
          else if (key !== undefined && height > 0 && take(key, Number(index), height)) isOther = true
        }
        if (isOther) changed(before => before + 1)
      })
      observer.current.observe(element)
    },
    [take, changed],
  )
}

type TargetOptions<T> = Pick<VirtualRowsProps<T>, 'target' | 'items' | 'keyOf'> & {
  box: { current: HTMLElement | null }
  heights: RowHeights
  isAtEnd: { current: boolean }
}

/** Brings a row into the middle: first by its likely place, then, once it is in the document, exactly. */
function useTarget<T>({ box, target, items, keyOf, heights, isAtEnd }: TargetOptions<T>): void {
  const done = useRef<object>(undefined)
  useEffect(() => {
    const element = box.current
    if (!element || !target || done.current === target) return
    const index = items.findIndex((item, at) => keyOf(item, at) === target.key)
    if (index < 0) return
    done.current = target
    // The list may still be growing: it does not follow its end from here on.
    isAtEnd.current = false
    element.scrollTop = Math.max(0, heights.start(index) - element.clientHeight / 2)
    let tries = 6
    const settle = (): void => {
      const row = element.querySelector(`[data-key="${CSS.escape(target.key)}"]`)
      row?.scrollIntoView({ block: 'center' })
      tries -= 1
      if (tries > 0) requestAnimationFrame(settle)
    }
    requestAnimationFrame(settle)
  }, [box, target, items, keyOf, heights, isAtEnd])
}
