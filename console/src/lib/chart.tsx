// A chart with axes: stacked bars, or lines. Words above it describe the place under the pointer, or the one that the arrow keys chose.
// Drawn as SVG by hand: the console needs two forms, and a library of charts has more bytes than its pages.
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactElement,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { printable } from '../../../src/lib/text/index.ts'
import { labelEvery } from './scale.ts'

/** `tone`: a colour of the palette, or of a status. Undefined values are gaps. */
export type Series = { name: string; tone: string; values: readonly (number | undefined)[] }

export type ChartProps = {
  title: string
  /** What it counts, if the title does not say. */
  note?: string
  kind: 'bars' | 'lines'
  /** One for each place along the time axis: in full, and short for the axis. */
  places: readonly { full: string; short: string }[]
  series: readonly Series[]
  /** From zero up. */
  marks: (largest: number) => readonly number[]
  format: (value: number) => string
  /** Shown in place of a chart of nothing. */
  empty: string
  /** What a click, or Enter, on a place leads to. */
  opens?: { words: string; go: (index: number) => void }
}

const height = 148
const space = { top: 8, bottom: 22, right: 4 }
const leastAxis = 46
const digitWidth = 6.6
const widestBar = 72
const plot = height - space.top - space.bottom

export function Chart(props: ChartProps): ReactElement {
  const { title, note, places, series } = props
  const [at, setAt] = useState<number>()
  const heading = useId()
  const isEmpty = series.every(({ values }) => values.every(value => !value))
  const chosen = at !== undefined && at < places.length ? at : undefined
  return (
    <figure className="chart" aria-labelledby={heading}>
      <figcaption>
        <h3 id={heading}>{title}</h3>
        <p className="chart-read tw-muted" role="status">
          {chosen === undefined ? note : reading(props, chosen)}
        </p>
      </figcaption>
      {isEmpty ? (
        <p className="chart-empty tw-muted">{props.empty}</p>
      ) : (
        <Plot {...props} at={chosen} onAt={setAt} />
      )}
      {!isEmpty && series.length > 1 && <Legend series={series} />}
    </figure>
  )
}

function reading({ places, series, format }: ChartProps, at: number): string {
  const values = series.flatMap(({ name, values: all }) => {
    const value = all[at]
    return value ? [`${printable(name, 40)} ${format(value)}`] : []
  })
  return `${places[at]?.full ?? ''}: ${values.join(', ') || 'nothing'}`
}

function Legend({ series }: { series: readonly Series[] }): ReactElement {
  return (
    <ul className="chart-legend plain">
      {series.map(({ name, tone }) => (
        <li key={name}>
          <i className={`tone-${tone}`} aria-hidden="true" />
          {printable(name, 40)}
        </li>
      ))}
    </ul>
  )
}

type PlotProps = ChartProps & { at: number | undefined; onAt: (at: number | undefined) => void }

function Plot(props: PlotProps): ReactElement {
  const { title, places, series, kind, marks, format, at, onAt, opens } = props
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const top = Math.max(...places.map((_, index) => largestAt(series, kind, index)), 0)
  const ticks = marks(top)
  const ceiling = ticks.at(-1) || 1
  const longest = Math.max(...ticks.map(value => format(value).length))
  const axisWidth = Math.max(leastAxis, Math.ceil(longest * digitWidth) + 10)
  const inner = Math.max(0, width - axisWidth - space.right)
  const slot = inner / places.length
  const y = (value: number): number => space.top + plot * (1 - value / ceiling)
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && at !== undefined) opens?.go(at)
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const from = at ?? (step > 0 ? -1 : places.length)
    onAt(Math.min(places.length - 1, Math.max(0, from + step)))
  }
  const onMove = (event: PointerEvent): void => {
    const left = event.currentTarget.getBoundingClientRect().left
    const index = Math.floor((event.clientX - left - axisWidth) / slot)
    onAt(index >= 0 && index < places.length ? index : undefined)
  }
  return (
    <div
      ref={box}
      className={opens ? 'chart-plot chart-opens' : 'chart-plot'}
      tabIndex={0}
      role="img"
      aria-label={`${title}. Left and right read it.${opens ? ` Enter shows ${opens.words}.` : ''}`}
      title={opens && `A click shows ${opens.words}`}
      onClick={() => at !== undefined && opens?.go(at)}
      onKeyDown={onKey}
      onPointerMove={onMove}
      onPointerDown={onMove}
      onPointerLeave={() => onAt(undefined)}
      onBlur={() => onAt(undefined)}
    >
      <svg width={width} height={height} aria-hidden="true">
        <Axes {...{ places, ticks, format, width, slot, y, x: axisWidth }} />
        {at !== undefined && (
          <rect className="chart-at" x={axisWidth + at * slot} y={space.top} width={slot} height={plot} />
        )}
        {kind === 'bars'
          ? places.map((_, index) => (
              <Stack key={index} series={series} index={index} x={axisWidth} slot={slot} y={y} />
            ))
          : series.map(each => <Line key={each.name} series={each} x={axisWidth} slot={slot} y={y} />)}
      </svg>
    </div>
  )
}

type AxesProps = Pick<ChartProps, 'places' | 'format'> &
  MarkProps & { ticks: readonly number[]; width: number }

function Axes({ places, format, ticks, width, x, slot, y }: AxesProps): ReactElement {
  const every = labelEvery(places.length, slot * places.length, 52)
  return (
    <>
      {ticks.map(value => (
        <g key={value}>
          <line className="chart-line" x1={x} x2={width - space.right} y1={y(value)} y2={y(value)} />
          <text className="chart-mark" x={x - 8} y={y(value) + 4} textAnchor="end">
            {format(value)}
          </text>
        </g>
      ))}
      {places.map(
        ({ short }, index) =>
          index % every === 0 && (
            <text
              key={index}
              className="chart-mark"
              x={x + (index + 0.5) * slot}
              y={height - 6}
              textAnchor="middle"
            >
              {short}
            </text>
          ),
      )}
    </>
  )
}

function largestAt(series: readonly Series[], kind: ChartProps['kind'], index: number): number {
  const values = series.map(({ values: all }) => all[index] ?? 0)
  return kind === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values)
}

type MarkProps = { x: number; slot: number; y: (value: number) => number }

function Stack(props: MarkProps & { series: readonly Series[]; index: number }): ReactElement {
  const { series, index, x, slot, y } = props
  const wide = Math.max(1, Math.min(widestBar, slot - Math.min(slot * 0.3, 6)))
  let sum = 0
  return (
    <>
      {series.map(({ name, tone, values }) => {
        const value = values[index] ?? 0
        if (value === 0) return undefined
        const bottom = y(sum)
        sum += value
        // The smallest value is visible too.
        const tall = Math.max(1, bottom - y(sum))
        return (
          <rect
            key={name}
            className={`tone-${tone}`}
            x={x + index * slot + (slot - wide) / 2}
            y={bottom - tall}
            width={wide}
            height={tall}
            rx={slot > 8 ? 1.5 : 0}
          />
        )
      })}
    </>
  )
}

function Line({ series: { tone, values }, x, slot, y }: MarkProps & { series: Series }): ReactElement {
  let path = ''
  let isOpen = false
  values.forEach((value, index) => {
    if (value !== undefined) path += `${isOpen ? 'L' : 'M'}${x + (index + 0.5) * slot} ${y(value)}`
    isOpen = value !== undefined
  })
  return (
    <>
      <path className={`chart-path tone-${tone}`} d={path} />
      {values.length <= 96 &&
        values.map(
          (value, index) =>
            value !== undefined && (
              <circle
                key={index}
                className={`tone-${tone}`}
                cx={x + (index + 0.5) * slot}
                cy={y(value)}
                r="2.5"
              />
            ),
        )}
    </>
  )
}

function useWidth(box: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const look = (): void => setWidth(element.clientWidth)
    look()
    const observer = new ResizeObserver(look)
    observer.observe(element)
    return () => observer.disconnect()
  }, [box])
  return width
}

/** Tones of the palette, for series without a meaning. */
export const tones = ['1', '2', '3', '4', '5', '6'] as const
