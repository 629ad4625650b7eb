// The timeline strip: a canvas that keys and pointer walk, and the same bars as a list for everybody else.
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactElement,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { printable } from '../../../../src/lib/text/index.ts'
import { type SessionView, Status, VirtualRows } from '../../../../src/react/index.ts'
import { useNow } from '../../../../src/react/parts.tsx'
import { duration, plural } from '../../../../src/react/words.ts'
import { barBox, type Colours, draw, laneHeight, timelineHeight } from './timeline-draw.ts'
import { type Bar, layOut, type Timeline } from './timeline-layout.ts'

type TimelineProps = {
  view: SessionView
  selected: string | undefined
  onOpen: (bar: Bar) => void
  /** It has the page for itself: the bars are there as a list too. */
  isPage?: boolean
}
type Range = { from: number; to: number }
const whole: Range = { from: 0, to: 1 }

export default function TimelineStrip({
  view,
  selected,
  onOpen,
  isPage = false,
}: TimelineProps): ReactElement {
  const now = useNow(view.active, 500)
  const [isNested, setNested] = useState(isPage)
  const timeline = useMemo(() => layOut(view, Math.max(now, view.updatedAt), isNested), [view, now, isNested])
  const [range, setRange] = useState(whole)
  const [at, setAt] = useState<string>()
  const [isCritical, setCritical] = useState(false)
  const [isList, setList] = useState(false)
  const bar = timeline.bars.find(each => each.key === at)
  const zoom = (factor: number): void => setRange(before => zoomed(before, factor))
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step !== 0) setAt(neighbour(timeline, at, step, setRange))
    else if (event.key === '+' || event.key === '=') zoom(0.5)
    else if (event.key === '-') zoom(2)
    else if (event.key === '0') setRange(whole)
    else if (event.key === 'Enter' && bar) onOpen(bar)
    else return
    event.preventDefault()
  }
  const words = bar ? describeBar(bar) : describeTimeline(timeline, view)
  return (
    <section className={isPage ? 'timeline timeline-page' : 'timeline'} aria-label="Timeline">
      <div className="timeline-tools">
        <output className="timeline-words">{words}</output>
        <Sign label="Zoom in" sign="+" onClick={() => zoom(0.5)} />
        <Sign label="Zoom out" sign="−" onClick={() => zoom(2)} />
        <Sign label="Fit the width" sign="Fit the width" onClick={() => setRange(whole)} />
        {timeline.hasNested && <Switch label="Inner calls" isOn={isNested} set={setNested} />}
        <Switch label="Critical path" isOn={isCritical} set={setCritical} />
        {!isPage && <Switch label="As a list" isOn={isList} set={setList} />}
      </div>
      {isList && !isPage ? (
        <BarList timeline={timeline} onOpen={onOpen} />
      ) : (
        <Canvas
          timeline={timeline}
          range={range}
          setRange={setRange}
          selected={at ?? selected}
          isCritical={isCritical}
          onPoint={setAt}
          onOpen={onOpen}
          onKeyDown={onKeyDown}
        />
      )}
      {isPage && <BarList timeline={timeline} onOpen={onOpen} />}
    </section>
  )
}

function Sign({ label, sign, onClick }: { label: string; sign: string; onClick: () => void }): ReactElement {
  return (
    <button type="button" className="tw-button tw-small" onClick={onClick} aria-label={label} title={label}>
      {sign}
    </button>
  )
}

function Switch({
  label,
  isOn,
  set,
}: {
  label: string
  isOn: boolean
  set: (isOn: boolean) => void
}): ReactElement {
  return (
    <button type="button" className="tw-button tw-small" aria-pressed={isOn} onClick={() => set(!isOn)}>
      {label}
    </button>
  )
}

function zoomed({ from, to }: Range, factor: number): Range {
  const middle = (from + to) / 2
  const half = Math.min(0.5, Math.max(0.0005, ((to - from) * factor) / 2))
  const start = Math.min(Math.max(0, middle - half), 1 - half * 2)
  return { from: start, to: start + half * 2 }
}

/** The next bar in the order of time, brought into sight. */
function neighbour(
  timeline: Timeline,
  at: string | undefined,
  step: number,
  setRange: (update: (before: Range) => Range) => void,
): string | undefined {
  const { bars, scale } = timeline
  const index = bars.findIndex(bar => bar.key === at)
  const next = bars[Math.max(0, Math.min(bars.length - 1, index < 0 ? 0 : index + step))]
  if (!next) return undefined
  const place = scale.toUnit(next.from)
  setRange(before => {
    if (place >= before.from && place <= before.to) return before
    const half = (before.to - before.from) / 2
    const start = Math.min(Math.max(0, place - half), 1 - half * 2)
    return { from: start, to: start + half * 2 }
  })
  return next.key
}

function describeBar(bar: Bar): string {
  const share = bar.share > 0 ? `, ${Math.round(bar.share * 100)} % of its turn’s work` : ''
  const argument = bar.detail === '' ? '' : ` ${bar.detail}`
  return `${bar.kind === 'step' ? 'Model step' : printable(bar.label, 60) + argument}: ${duration(bar.to - bar.from)}${share}, ${bar.status}`
}

function describeTimeline({ bars }: Timeline, view: SessionView): string {
  const calls = bars.filter(bar => bar.kind === 'call').length
  return [
    plural(view.turns.length, 'turn'),
    plural(bars.length - calls, 'model step'),
    plural(calls, 'call'),
  ].join(', ')
}

type CanvasProps = {
  timeline: Timeline
  range: Range
  setRange: (range: Range) => void
  selected: string | undefined
  isCritical: boolean
  onPoint: (key: string | undefined) => void
  onOpen: (bar: Bar) => void
  onKeyDown: (event: KeyboardEvent) => void
}

function Canvas(props: CanvasProps): ReactElement {
  const { timeline, range, selected, isCritical, onPoint, onOpen, onKeyDown } = props
  const canvas = useRef<HTMLCanvasElement>(null)
  const [width, setWidth] = useState(0)
  const height = timelineHeight(timeline)
  useEffect(() => {
    const element = canvas.current?.parentElement
    if (!element) return undefined
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const paint = useCallback(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    if (!element || !context || width === 0) return
    const ratio = devicePixelRatio
    element.width = width * ratio
    element.height = height * ratio
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    draw(context, timeline, {
      width,
      height,
      ...range,
      selected,
      critical: isCritical,
      colours: readColours(element),
    })
  }, [timeline, range, selected, isCritical, width, height])
  useEffect(paint, [paint])
  useThemeChange(paint)
  const barAt = (event: PointerEvent): Bar | undefined => {
    const { left, top } = event.currentTarget.getBoundingClientRect()
    const [x, y] = [event.clientX - left, event.clientY - top]
    return timeline.bars.findLast(bar => {
      const box = barBox(bar, timeline, { width, ...range })
      return x >= box.x - 3 && x <= box.x + box.width + 3 && y >= box.y - 4 && y <= box.y + laneHeight - 6
    })
  }
  return (
    <div
      className="timeline-canvas"
      role="application"
      aria-label="Timeline: arrow keys walk from bar to bar, plus and minus zoom, zero fits, Enter opens. The button “As a list” shows the same as text."
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <canvas
        ref={canvas}
        style={{ width, height }}
        onPointerMove={event => onPoint(barAt(event)?.key)}
        onPointerLeave={() => onPoint(undefined)}
        onClick={event => {
          const bar = barAt(event as unknown as PointerEvent) // both have the coordinates
          if (bar) onOpen(bar)
        }}
      />
    </div>
  )
}

function useThemeChange(paint: () => void): void {
  useEffect(() => {
    const observer = new MutationObserver(paint)
    observer.observe(document.documentElement, { attributes: true })
    const media = matchMedia('(prefers-color-scheme: dark)')
    media.addEventListener('change', paint)
    return () => {
      observer.disconnect()
      media.removeEventListener('change', paint)
    }
  }, [paint])
}

/** The page's colours, resolved for the theme that is on. */
function readColours(element: HTMLElement): Colours {
  const probe = document.createElement('span')
  element.parentElement?.append(probe)
  const colour = (name: string): string => {
    probe.style.color = `var(--tw-${name === 'background' ? 'bg' : name})`
    return getComputedStyle(probe).color
  }
  const names = [
    'text',
    'muted',
    'border',
    'background',
    'surface',
    'accent',
    'running',
    'waiting',
    'ok',
    'bad',
    'unknown',
  ] as const
  const found = Object.fromEntries(names.map(name => [name, colour(name)]))
  probe.remove()
  return found as Colours // every name is in it
}

const barKey = (bar: Bar): string => bar.key

function BarList({ timeline, onOpen }: { timeline: Timeline; onOpen: (bar: Bar) => void }): ReactElement {
  return (
    <div className="timeline-list">
      <VirtualRows
        items={timeline.bars}
        keyOf={barKey}
        estimate={28}
        label="Steps and calls in the order of time"
        role="list"
        render={useCallback((bar: Bar) => <BarRow bar={bar} onOpen={onOpen} />, [onOpen])}
      />
    </div>
  )
}

function BarRow({ bar, onOpen }: { bar: Bar; onOpen: (bar: Bar) => void }): ReactElement {
  const label = printable(bar.label, 60)
  return (
    <button type="button" className="bar-row" onClick={() => onOpen(bar)}>
      <span className="bar-name" data-depth={bar.depth}>
        {bar.kind === 'step' ? `Model step, ${label}` : label}{' '}
        <span className="bar-detail">{bar.detail}</span>
      </span>
      <Status status={bar.status} />
      <span className="tw-took">{duration(bar.to - bar.from)}</span>
    </button>
  )
}
