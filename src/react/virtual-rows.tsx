// Rows of any height, of which only those near the viewport are in the document: 10,000 of them scroll without effort. The places
// of rows, the way to a row whose height is not known yet, and keeping what a person reads in its place are the work of TanStack
// Virtual; this file draws the rows in the order of the page, so that text can be selected over several of them.
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core'
import {
  memo,
  type ReactElement,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from 'react'

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
  /** The key of the row that is at the top when the list appears. Without one, `follow` begins at the end. */
  opensAt?: string | undefined
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

/** Rows beyond each edge of the viewport, at most 60 in sight. */
const overscan = 12
/** Above the first row and below the last one of a list that is followed. */
const edge = 8
/** Closer to the end than this is at the end. */
const nearEnd = 48

export function VirtualRows<T>(props: VirtualRowsProps<T>): ReactElement {
  const { items, keyOf, render, follow = false, onEnd, role } = props
  const box = useRef<HTMLElement>(null)
  const rows = useRows(props, box)
  const shown = rows.getVirtualItems()
  const last = shown.at(-1)?.index ?? -1
  useEffect(() => {
    if (onEnd && items.length > 0 && last >= items.length - 1) onEnd()
  }, [onEnd, last, items.length])
  const isAway = follow && shown.length > 0 && !rows.isAtEnd(nearEnd)
  return (
    <div className={`tw-rows ${props.className ?? ''}`}>
      <section ref={box} className="tw-scroll" tabIndex={0} aria-label={props.label}>
        {items.length === 0 && props.empty}
        <div className="tw-all-rows" style={{ height: rows.getTotalSize() }}>
          {/* Not a transform, which what sticks to the edge of the list does not count. */}
          <div role={role} style={{ position: 'relative', top: shown[0]?.start ?? 0 }}>
            {shown.map(({ index, key }: VirtualItem) => {
              const item = items[index]
              if (item === undefined) return null
              const place = { rowKey: keyOf(item, index), index, measure: rows.measureElement, role }
              return <OneRow key={key} item={item} render={render as RenderAny} {...place} />
            })}
          </div>
        </div>
      </section>
      {isAway && (
        <button type="button" className="tw-button tw-newest" onClick={() => rows.scrollToEnd()}>
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

type Rows = Virtualizer<HTMLElement, HTMLElement>

/** The virtualizer, with the options of this drawing, and brought to the row that is asked for. */
function useRows<T>(props: VirtualRowsProps<T>, box: { current: HTMLElement | null }): Rows {
  const { items, keyOf, estimate, follow = false } = props
  const [, draw] = useReducer((count: number) => count + 1, 0)
  const latest = useRef({ items, keyOf })
  latest.current = { items, keyOf }
  const getItemKey = useCallback(
    (index: number) => {
      const item = items[index]
      return item === undefined ? index : keyOf(item, index)
    },
    [items, keyOf],
  )
  const options = {
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => estimate,
    getItemKey,
    overscan,
    paddingStart: follow ? edge : 0,
    paddingEnd: follow ? edge : 0,
    anchorTo: follow ? ('end' as const) : ('start' as const),
    followOnAppend: follow,
    scrollEndThreshold: nearEnd,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: draw,
  }
  const [rows] = useState<Rows>(() => new Virtualizer(options))
  rows.setOptions(options)
  useLayoutEffect(() => rows._didMount(), [rows])
  useLayoutEffect(() => rows._willUpdate())
  useOpening(rows, props)
  useTarget(rows, box, props)
  return rows
}

/** Once there are rows: the row that the list opens at, or its end. A target comes before both. */
function useOpening<T>(rows: Rows, { items, keyOf, follow, opensAt, target }: VirtualRowsProps<T>): void {
  const isOpen = useRef(false)
  useLayoutEffect(() => {
    if (isOpen.current || items.length === 0) return
    isOpen.current = true
    if (target) return
    const index = opensAt === undefined ? -1 : items.findIndex((item, at) => keyOf(item, at) === opensAt)
    if (index >= 0) rows.scrollToIndex(index, { align: 'start' })
    else if (follow) rows.scrollToEnd()
  }, [rows, items, keyOf, follow, opensAt, target])
}

/**
 * Brings a row into the middle, and again when the list becomes smaller or larger before its reader has touched it: a part above
 * it may come late. A row that is higher than the viewport begins at its top.
 */
function useTarget<T>(
  rows: Rows,
  box: { current: HTMLElement | null },
  { items, keyOf, target }: VirtualRowsProps<T>,
): void {
  const index = useMemo(
    () => (target ? items.findIndex((item, at) => keyOf(item, at) === target.key) : -1),
    [items, keyOf, target],
  )
  const latest = useRef(index)
  latest.current = index
  const isThere = index >= 0
  useLayoutEffect(() => {
    const element = box.current
    if (!target || !isThere || !element) return undefined
    const bring = (): void => {
      const size = rows.measurementsCache[latest.current]?.size ?? 0
      const isHigher = size > (rows.scrollRect?.height ?? Infinity)
      rows.scrollToIndex(latest.current, { align: isHigher ? 'start' : 'center' })
    }
    bring()
    // Its height is known when it was drawn.
    const timer = setTimeout(bring, 120)
    const resized = new ResizeObserver(bring)
    resized.observe(element)
    const leave = (): void => {
      clearTimeout(timer)
      resized.disconnect()
    }
    // Around the list is the button that goes to the newest, too.
    for (const type of ['wheel', 'pointerdown', 'keydown'])
      element.parentElement?.addEventListener(type, leave, { once: true, passive: true })
    return leave
  }, [rows, box, target, isThere])
}
