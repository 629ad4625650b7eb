// Draws the bars of a timeline on a canvas. Only what is in sight is drawn, so 10,000 calls stay smooth.
import { statusShapes } from '../../../../src/react/icons.tsx'
import { duration } from '../../../../src/react/words.ts'
import type { Bar, Timeline } from './timeline-layout.ts'

export const laneHeight = 22
const barHeight = 12
const axisHeight = 18

export type DrawOptions = {
  width: number
  height: number
  /** The part of the whole width that is in sight, 0 to 1. */
  from: number
  to: number
  selected: string | undefined
  critical: boolean
  colours: Colours
}
export type Colours = Readonly<
  Record<
    'text' | 'muted' | 'border' | 'surface' | 'accent' | 'running' | 'waiting' | 'ok' | 'bad' | 'unknown',
    string
  >
>

export function heightOf({ lanes }: Timeline): number {
  return axisHeight + Math.min(lanes, 14) * laneHeight + 6
}

/** Where a bar is, in pixels. */
export function boxOf(
  bar: Bar,
  timeline: Timeline,
  { width, from, to }: Pick<DrawOptions, 'width' | 'from' | 'to'>,
): { x: number; y: number; width: number } {
  const x = (unit: number): number => ((unit - from) / (to - from)) * width
  const left = x(timeline.scale.toUnit(bar.from))
  const right = Math.max(left + 3, x(timeline.scale.toUnit(bar.to)))
  return {
    x: left,
    y: axisHeight + bar.lane * laneHeight + (laneHeight - barHeight) / 2,
    width: right - left,
  }
}

export function draw(canvas: CanvasRenderingContext2D, timeline: Timeline, options: DrawOptions): void {
  const { width, height } = options
  canvas.clearRect(0, 0, width, height)
  drawBreaks(canvas, timeline, options)
  for (const bar of timeline.bars) {
    const box = boxOf(bar, timeline, options)
    if (box.x > width || box.x + box.width < 0) continue
    drawBar(canvas, bar, timeline, options)
  }
}

function drawBreaks(canvas: CanvasRenderingContext2D, { scale }: Timeline, options: DrawOptions): void {
  const { width, height, from, to, colours } = options
  canvas.font = '11px system-ui, sans-serif'
  canvas.textBaseline = 'middle'
  let free = 0
  for (const { at, ms } of scale.breaks) {
    const left = ((scale.toUnit(at) - from) / (to - from)) * width
    const right = ((scale.toUnit(at + ms) - from) / (to - from)) * width
    if (right < 0 || left > width) continue
    canvas.fillStyle = colours.surface
    canvas.fillRect(left, axisHeight, Math.max(2, right - left), height)
    canvas.strokeStyle = colours.border
    canvas.setLineDash([3, 3])
    canvas.strokeRect(left + 0.5, axisHeight, Math.max(2, right - left) - 1, height)
    canvas.setLineDash([])
    const label = duration(ms)
    const middle = Math.max(2, (left + right) / 2 - canvas.measureText(label).width / 2)
    if (middle < free) continue
    canvas.fillStyle = colours.muted
    canvas.fillText(label, middle, axisHeight / 2)
    free = middle + canvas.measureText(label).width + 8
  }
}

export function colourOf(bar: Bar, { colours, critical }: DrawOptions): string {
  if (critical) return bar.isCritical ? colours.accent : colours.border
  switch (bar.status) {
    case 'ok':
      return bar.kind === 'step' ? colours.muted : colours.ok
    case 'waiting':
    case 'client':
      return colours.waiting
    case 'error':
    case 'timeout':
    case 'denied':
    case 'invalid':
      return colours.bad
    case 'unknown':
      return colours.unknown
    case 'cancelled':
    case 'abandoned':
      return colours.muted
    default:
      return colours.running
  }
}

function drawBar(canvas: CanvasRenderingContext2D, bar: Bar, timeline: Timeline, options: DrawOptions): void {
  const { colours } = options
  const { x, y, width } = boxOf(bar, timeline, options)
  const colour = colourOf(bar, options)
  for (const part of bar.parts) {
    const piece = boxOf({ ...bar, from: part.from, to: part.to }, timeline, options)
    canvas.fillStyle = colour
    if (part.look === 'thin') canvas.fillRect(piece.x, y + barHeight / 2 - 1, piece.width, 2)
    else if (part.look === 'solid') canvas.fillRect(piece.x, y, piece.width, barHeight)
    else hatch(canvas, piece.x, y, piece.width, options.critical ? colour : colours.waiting)
  }
  canvas.fillStyle = colours.surface
  for (let notch = 1; notch <= Math.min(bar.notches, 8); notch += 1)
    canvas.fillRect(x + (width * notch) / (bar.notches + 1) - 1, y, 2, barHeight)
  if (bar.key === options.selected) {
    canvas.strokeStyle = colours.accent
    canvas.lineWidth = 2
    canvas.strokeRect(x - 2, y - 2, width + 4, barHeight + 4)
    canvas.lineWidth = 1
  }
  label(canvas, bar, x, y, width, colour, options)
}

const marks: Readonly<Record<string, string>> = {
  check: '',
  cross: '✕',
  slash: '⊘',
  question: '?',
  pause: '‖',
  square: '▢',
  dashed: '▢',
  ring: '',
}

/** The name goes inside a wide bar and behind a narrow one. The outcome's shape goes to the end. */
function label(
  canvas: CanvasRenderingContext2D,
  bar: Bar,
  x: number,
  y: number,
  width: number,
  colour: string,
  options: DrawOptions,
): void {
  const mark = marks[statusShapes[bar.status]] ?? ''
  canvas.font = '11px system-ui, sans-serif'
  canvas.textBaseline = 'middle'
  const text = `${mark}${mark === '' ? '' : ' '}${bar.label}`
  const wide = canvas.measureText(text).width
  if (width < 14 && options.to - options.from > 0.2 && wide > 160) return
  const behind = x + width + 4
  const place = behind + wide < options.width ? behind : x - wide - 4
  if (place < 0) return
  canvas.fillStyle = mark === '' ? options.colours.muted : colour
  canvas.fillText(text, place, y + barHeight / 2)
}

function hatch(canvas: CanvasRenderingContext2D, x: number, y: number, width: number, colour: string): void {
  canvas.save()
  canvas.beginPath()
  canvas.rect(x, y, width, barHeight)
  canvas.clip()
  canvas.strokeStyle = colour
  canvas.lineWidth = 1.5
  const first = Math.max(x - barHeight, -barHeight)
  const last = Math.min(x + width, 10_000)
  canvas.beginPath()
  for (let at = first; at < last; at += 5) {
    canvas.moveTo(at, y + barHeight)
    canvas.lineTo(at + barHeight, y)
  }
  canvas.stroke()
  canvas.restore()
  canvas.strokeStyle = colour
  canvas.strokeRect(x + 0.5, y + 0.5, Math.max(1, width - 1), barHeight - 1)
}
