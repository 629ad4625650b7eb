// Draws the bars of a timeline on a canvas. Only what is in sight is drawn, so 10,000 calls stay smooth.
import { statusShapes } from '../../../../src/react/icons.tsx'
import { duration } from '../../../../src/react/words.ts'
import { type Bar, type Timeline, tickLabel, tickStep } from './timeline-layout.ts'

export const laneHeight = 22
const barHeight = 14
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
type Inside = Box & { isSolid: boolean }

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

/** Where a name can stand inside a bar: its longest part, the solid ones first. */
function insideBox(bar: Bar, timeline: Timeline, options: DrawOptions): Inside {
  const boxes = bar.parts.map(({ from, to, look }) => ({
    ...barBox({ ...bar, from, to }, timeline, options),
    isSolid: look === 'solid',
  }))
  const longest = (all: Inside[]): Inside | undefined => all.toSorted((a, b) => b.width - a.width)[0]
  const solid = longest(boxes.filter(({ isSolid }) => isSolid))
  const any = longest(boxes)
  return solid && solid.width > leastText + 10 ? solid : (any ?? { x: 0, y: 0, width: 0, isSolid: false })
}

/**
 * From the last bar to the first, so that each knows how much room is left before the next one in its lane. Steps of one model after
 * another name it once.
 */
function drawLabels(
  canvas: CanvasRenderingContext2D,
  seen: readonly { bar: Bar; box: Box }[],
  timeline: Timeline,
  options: DrawOptions,
): void {
  const nextIn = new Map<number, number>()
  const steps = seen.filter(({ bar }) => bar.kind === 'step')
  const unnamed = new Set(steps.filter(({ bar }, at) => steps[at - 1]?.bar.label === bar.label))
  canvas.font = typeface
  canvas.textBaseline = 'middle'
  for (const each of seen.toReversed()) {
    const { bar, box } = each
    const room = (nextIn.get(bar.lane) ?? options.width) - (box.x + box.width)
    const place = { box, inside: insideBox(bar, timeline, options), room }
    drawLabel(canvas, barLabel(bar, !unnamed.has(each)), bar, place, options)
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
  const length = scale.toTime(1) - scale.start
  const isFolded = (tick: number): boolean => scale.breaks.some(({ at, ms }) => tick > at && tick < at + ms)
  const place = (at: number): number => ((scale.toUnit(at) - from) / (to - from)) * width
  canvas.fillStyle = colours.border
  canvas.fillRect(0, axisHeight - 0.5, width, 1)
  let free = -tickRoom
  for (let slot = 0; slot < width; slot += tickRoom / 2) {
    const at = time(slot)
    const step = tickStep(time(slot + tickRoom) - at)
    const tick = scale.start + Math.ceil((at - scale.start) / step) * step
    const x = place(tick)
    const label = tickLabel(tick - scale.start, step, length)
    const wide = canvas.measureText(label).width
    const isTaken = taken.some(span => x < span.to + 8 && x + wide + 8 > span.from)
    if (isTaken || isFolded(tick) || x < free + 12 || x + wide > width) continue
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
    const label = `⋯ ${duration(ms)}`
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

function barColour(bar: Bar, { colours, critical }: DrawOptions): string {
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
    if (part.look === 'thin' && piece.width <= 3 && bar.parts.length > 1) continue
    if (part.look === 'thin') canvas.fillRect(piece.x, y + barHeight / 2 - 1, piece.width, 2)
    else if (part.look === 'solid') fillRounded(canvas, piece, y, { colour, isQuiet: isQuiet(bar) })
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

/** A bar that went well is pale, with an edge in its colour. The others are full, so that a person sees them first. */
function isQuiet({ status }: Bar): boolean {
  return status === 'ok'
}

type Fill = { colour: string; isQuiet: boolean }

function fillRounded(canvas: CanvasRenderingContext2D, box: Box, y: number, fill: Fill): void {
  const round = (inset: number): void => {
    canvas.beginPath()
    const width = Math.max(1, box.width - 2 * inset)
    canvas.roundRect(box.x + inset, y + inset, width, barHeight - 2 * inset, Math.min(3, width / 2))
  }
  round(0)
  canvas.globalAlpha = fill.isQuiet && box.width > 6 ? 0.2 : 1
  canvas.fill()
  canvas.globalAlpha = 1
  if (!fill.isQuiet || box.width <= 6) return
  canvas.strokeStyle = fill.colour
  canvas.globalAlpha = 0.75
  round(0.5)
  canvas.stroke()
  canvas.globalAlpha = 1
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

type Label = { mark: string; text: string }

/** The outcome's shape, the name, and the most telling argument. */
function barLabel(bar: Bar, isNamed: boolean): Label {
  const mark = marks[statusShapes[bar.status]] ?? ''
  const name = isNamed ? `${'↳ '.repeat(Math.min(bar.depth, 3))}${bar.label}` : ''
  return { mark, text: `${mark} ${name}  ${bar.detail}`.trim() }
}

const leastText = 36

/** It goes behind the bar, or inside it, cut to the room there is; where neither has room for a name, the shape alone. */
function drawLabel(
  canvas: CanvasRenderingContext2D,
  { mark, text: whole }: Label,
  bar: Bar,
  { box, inside, room }: { box: Box; inside: Inside; room: number },
  options: DrawOptions,
): void {
  if (whole === '') return
  const { colours } = options
  const line = box.y + barHeight / 2 + 0.5
  const behind = room - 10
  const within = inside.width - 10
  const wide = canvas.measureText(whole).width
  const isInside = wide > behind && within > Math.max(behind, leastText)
  const text = fitted(canvas, whole, isInside ? within : behind, mark)
  if (text === '') return
  if (isInside && inside.isSolid) {
    canvas.fillStyle = isQuiet(bar) ? colours.text : colours.background
    canvas.fillText(text, inside.x + 5, line)
    return
  }
  // On the colour of the page, so that neither hatching nor the lines of the axis cross the letters.
  const x = isInside ? inside.x + 8 : box.x + box.width + 5
  canvas.fillStyle = colours.background
  canvas.fillRect(x - 3, box.y + 1, canvas.measureText(text).width + 6, barHeight - 2)
  canvas.fillStyle = mark === '' ? colours.muted : barColour(bar, options)
  canvas.fillText(text, x, line)
}

/** As much of a text as the room takes; `least` where that is too little to be read. */
function fitted(canvas: CanvasRenderingContext2D, text: string, room: number, least: string): string {
  const wide = canvas.measureText(text).width
  if (wide <= room) return text
  if (room < leastText) return room > 6 ? least : ''
  return `${text.slice(0, Math.max(1, Math.floor((text.length * room) / wide) - 2)).trimEnd()}…`
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
