// Draws the bars of a timeline on a canvas. Only what is in sight is drawn, so 10,000 calls stay smooth.
import { statusShapes } from '../../../../src/react/icons.tsx'
import { duration } from '../../../../src/react/words.ts'
import { type Bar, type Timeline, tickStep } from './timeline-layout.ts'

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
    | 'text'
    | 'muted'
    | 'border'
    | 'background'
    | 'surface'
    | 'accent'
    | 'running'
    | 'waiting'
    | 'ok'
    | 'bad'
    | 'unknown',
    string
  >
>

export function timelineHeight({ lanes }: Timeline): number {
  return axisHeight + Math.min(lanes, 14) * laneHeight + 6
}

export type Box = { x: number; y: number; width: number }

/** Where a bar is, in pixels. */
export function barBox(
  bar: Bar,
  timeline: Timeline,
  { width, from, to }: Pick<DrawOptions, 'width' | 'from' | 'to'>,
): Box {
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
  drawAxis(canvas, timeline, options, drawBreaks(canvas, timeline, options))
  const seen: { bar: Bar; box: Box }[] = []
  for (const bar of timeline.bars) {
    const box = barBox(bar, timeline, options)
    if (box.x > width || box.x + box.width < 0) continue
    drawBar(canvas, bar, timeline, options)
    seen.push({ bar, box })
  }
  drawLabels(canvas, seen, timeline, options)
}

/** Where a name can stand inside a bar: its last solid part. */
function solidBox(bar: Bar, timeline: Timeline, options: DrawOptions): Box | undefined {
  const part = bar.parts.findLast(({ look }) => look === 'solid')
  return part && barBox({ ...bar, from: part.from, to: part.to }, timeline, options)
}

/** From the last bar to the first, so that each knows how much room is left before the next one in its lane. */
function drawLabels(
  canvas: CanvasRenderingContext2D,
  seen: readonly { bar: Bar; box: Box }[],
  timeline: Timeline,
  options: DrawOptions,
): void {
  const nextIn = new Map<number, number>()
  canvas.font = typeface
  canvas.textBaseline = 'middle'
  for (const { bar, box } of seen.toReversed()) {
    const room = (nextIn.get(bar.lane) ?? options.width) - (box.x + box.width)
    drawLabel(canvas, bar, { box, inside: solidBox(bar, timeline, options), room }, options)
    nextIn.set(bar.lane, Math.min(box.x, nextIn.get(bar.lane) ?? options.width))
  }
}

const typeface = '11px "Inter Variable", system-ui, sans-serif'
const tickRoom = 88

type Span = { from: number; to: number }

/** The time since the beginning, at round numbers. The lengths of breaks are in the same line, and are not written over. */
function drawAxis(
  canvas: CanvasRenderingContext2D,
  { scale }: Timeline,
  { width, height, from, to, colours }: DrawOptions,
  taken: readonly Span[],
): void {
  const time = (x: number): number => scale.toTime(from + (x / width) * (to - from))
  const place = (at: number): number => ((scale.toUnit(at) - from) / (to - from)) * width
  canvas.fillStyle = colours.border
  canvas.fillRect(0, axisHeight - 0.5, width, 1)
  let free = -tickRoom
  for (let slot = 0; slot < width; slot += tickRoom / 2) {
    const at = time(slot)
    const step = tickStep(time(slot + tickRoom) - at)
    const tick = scale.start + Math.ceil((at - scale.start) / step) * step
    const x = place(tick)
    const label = tick === scale.start ? '0' : duration(tick - scale.start)
    const wide = canvas.measureText(label).width
    if (x < free + 12 || x + wide > width || taken.some(span => x < span.to + 8 && x + wide + 8 > span.from))
      continue
    canvas.fillStyle = colours.border
    canvas.fillRect(x, axisHeight, 1, height - axisHeight)
    canvas.fillRect(x, axisHeight - 4, 1, 4)
    canvas.fillStyle = colours.muted
    canvas.fillText(label, x + 3, axisHeight / 2)
    free = x + wide
  }
}

/** Gives the places of the labels that were written. */
function drawBreaks(canvas: CanvasRenderingContext2D, { scale }: Timeline, options: DrawOptions): Span[] {
  const taken: Span[] = []
  const { width, height, from, to, colours } = options
  canvas.font = typeface
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
    const wide = canvas.measureText(label).width
    const start = Math.max(2, Math.min((left + right - wide) / 2, width - wide - 2))
    if (start < free) continue
    canvas.fillStyle = colours.muted
    canvas.fillText(label, start, axisHeight / 2)
    free = start + wide + 8
    taken.push({ from: start, to: start + wide })
  }
  return taken
}

export function barColour(bar: Bar, { colours, critical }: DrawOptions): string {
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
  const { x, y, width } = barBox(bar, timeline, options)
  const colour = barColour(bar, options)
  for (const part of bar.parts) {
    const piece = barBox({ ...bar, from: part.from, to: part.to }, timeline, options)
    canvas.fillStyle = colour
    if (part.look === 'thin') canvas.fillRect(piece.x, y + barHeight / 2 - 1, piece.width, 2)
    else if (part.look === 'solid') fillRounded(canvas, piece.x, y, piece.width)
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
}

function fillRounded(canvas: CanvasRenderingContext2D, x: number, y: number, width: number): void {
  canvas.beginPath()
  canvas.roundRect(x, y, width, barHeight, Math.min(2, width / 2))
  canvas.fill()
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

/** The outcome's shape and the name go behind the bar, or inside it; where neither has room for the name, the shape alone. */
function drawLabel(
  canvas: CanvasRenderingContext2D,
  bar: Bar,
  { box, inside, room }: { box: Box; inside: Box | undefined; room: number },
  options: DrawOptions,
): void {
  const { colours } = options
  const { x, y, width } = box
  const mark = marks[statusShapes[bar.status]] ?? ''
  const name = `${'↳ '.repeat(Math.min(bar.depth, 3))}${bar.label}`
  const short = mark === '' ? name : `${mark} ${name}`
  const long = bar.detail === '' ? short : `${short}  ${bar.detail}`
  const most = Math.max(room, inside?.width ?? 0)
  const text = canvas.measureText(long).width + 8 < most ? long : short
  const wide = canvas.measureText(text).width
  const line = y + barHeight / 2 + 0.5
  if (wide + 8 < room) {
    canvas.fillStyle = mark === '' ? colours.muted : barColour(bar, options)
    canvas.fillText(text, x + width + 4, line)
  } else if (inside && wide + 8 < inside.width) {
    canvas.fillStyle = colours.background
    canvas.fillText(text, inside.x + 4, line)
  } else if (mark !== '' && room > 14) {
    canvas.fillStyle = barColour(bar, options)
    canvas.fillText(mark, x + width + 3, line)
  }
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
