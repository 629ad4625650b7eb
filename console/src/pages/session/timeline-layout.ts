// The timeline as plain data: bars in lanes, and a scale in which idle time is folded. Pure; timeline.tsx draws it.
import { isFailure, type TurnStop } from '../../../../src/language/events.ts'
import type { CallStatus, CallView, SessionView, StepView } from '../../../../src/react/index.ts'
import { tellingArgument } from '../../../../src/react/words.ts'

export type BarPart = { from: number; to: number; look: 'thin' | 'hatched' | 'solid' }
export type Bar = {
  key: string
  kind: 'step' | 'call'
  lane: number
  from: number
  to: number
  parts: BarPart[]
  status: CallStatus
  label: string
  /** The most telling argument of a call. */
  detail: string
  /** How deep it is below a call of the model. */
  depth: number
  /** The event that it leads to. */
  seq: number | undefined
  callId?: string
  /** How often it was tried again, or its stream started over. */
  notches: number
  isCritical: boolean
  /** Its share of the time in which its turn worked, 0 to 1. */
  share: number
}
export type Break = { at: number; ms: number }
export type Timeline = { bars: Bar[]; lanes: number; scale: Scale; hasNested: boolean }

/** Idle time above this is folded. */
const foldAbove = 5000
const mostLanes = 60

/** `nested`: calls of agents that work for a call, and other calls that it made, have lanes of their own below it. */
export function layOut(view: SessionView, now: number, nested = false): Timeline {
  const bars: Bar[] = []
  const stops = new Map(view.turns.map(turn => [turn.id, turn.stop]))
  const children = groupNested(view)
  const turns = new Map<string, Bar[]>()
  let lanes = 1
  for (const [index, step] of view.steps.entries()) {
    const own = [stepBar(step, index, now, stops.get(step.turn))]
    const all = step.calls.flatMap(id => view.calls.get(id) ?? [])
    const calls = all.filter(({ parent }) => parent === undefined)
    const last = Math.max(...calls.map(call => call.settledAt ?? now))
    let lane = 1
    const add = (call: CallView, depth: number): void => {
      const made = children.get(call.id) ?? []
      const isCritical = depth === 0 && (call.settledAt ?? now) === last
      const parts = layOutParts(call, now, children)
      const place = { lane: 1 + ((lane - 1) % mostLanes), now, isCritical, depth, made: made.length }
      own.push(callBar(call, parts, place))
      lane += 1
      if (nested) for (const each of made) add(each, depth + 1)
    }
    for (const call of calls) add(call, 0)
    lanes = Math.max(lanes, Math.min(lane, mostLanes + 1))
    bars.push(...own)
    const before = turns.get(step.turn)
    if (before) before.push(...own)
    else turns.set(step.turn, own)
  }
  for (const call of view.calls.values())
    if (call.status === 'writing')
      bars.push(
        callBar(call, layOutParts(call, now, children), {
          lane: 1,
          now,
          isCritical: false,
          depth: 0,
          made: 0,
        }),
      )
  for (const own of turns.values()) setShares(own)
  bars.sort((a, b) => a.from - b.from || a.lane - b.lane)
  return { bars, lanes, scale: makeScale(bars, view, now), hasNested: children.size > 0 }
}

/** The calls that each call made. */
function groupNested(view: SessionView): Map<string, CallView[]> {
  const children = new Map<string, CallView[]>()
  for (const call of view.calls.values()) {
    if (call.parent === undefined) continue
    const siblings = children.get(call.parent)
    if (siblings) siblings.push(call)
    else children.set(call.parent, [call])
  }
  return children
}

type Span = [from: number, to: number]

const pickSpans = (parts: readonly BarPart[], wanted: BarPart['look']): Span[] =>
  parts.flatMap(({ look, from, to }): Span[] => (look === wanted ? [[from, to]] : []))
const solidParts = (bar: Bar): Span[] => pickSpans(bar.parts, 'solid')
const total = (spans: readonly [number, number][]): number =>
  spans.reduce((sum, [from, to]) => sum + to - from, 0)

/** Shares of the time in which something of the turn ran. Time in which people were waited for is in none of them. */
function setShares(bars: readonly Bar[]): void {
  const worked = total(merged(bars.flatMap(solidParts)))
  for (const bar of bars) bar.share = worked > 0 ? Math.min(1, total(merged(solidParts(bar))) / worked) : 0
}

/** A step that ended without an answer ended as its turn did. */
function stepStatus({ endedAt, seq }: StepView, stop: TurnStop | undefined): CallStatus {
  if (endedAt === undefined) return 'running'
  if (seq !== undefined) return 'ok'
  return isFailure(stop) ? 'error' : 'cancelled'
}

function stepBar(step: StepView, index: number, now: number, stop: TurnStop | undefined): Bar {
  const to = step.endedAt ?? now
  return {
    key: `s${index}`,
    kind: 'step',
    lane: 0,
    from: step.startedAt,
    to,
    parts: [{ from: step.startedAt, to, look: 'solid' }],
    status: stepStatus(step, stop),
    label: step.model ?? 'model',
    detail: '',
    depth: 0,
    seq: step.seq,
    notches: step.resets,
    isCritical: true,
    share: 0,
  }
}

type CallPlace = { lane: number; now: number; isCritical: boolean; depth: number; made: number }

const callEnd = ({ proposedAt, settledAt }: CallView, now: number): number =>
  Math.max(proposedAt, settledAt ?? now)

function callBar(call: CallView, parts: BarPart[], place: CallPlace): Bar {
  const { lane, now, isCritical, depth, made } = place
  const from = call.proposedAt
  const to = callEnd(call, now)
  const agent = call.delegated?.agent
  const calls = made === 0 ? '' : ` · ${made} ${made === 1 ? 'call' : 'calls'}`
  return {
    key: `c${call.id}`,
    kind: 'call',
    lane,
    from,
    to,
    parts,
    status: call.status,
    label: `${agent ?? call.name}${agent === undefined ? '' : calls}`,
    detail: tellingArgument(call, 100),
    depth,
    seq: call.seq,
    callId: call.id,
    notches: Math.max(0, call.attempts - 1),
    isCritical,
    share: 0,
  }
}

/** A call waits for people while the calls that it made do, and none of them runs. */
function layOutParts(
  call: CallView,
  now: number,
  children: ReadonlyMap<string, readonly CallView[]>,
): BarPart[] {
  const inner = (children.get(call.id) ?? []).flatMap(each => layOutParts(each, now, children))
  const waits = without(merged(pickSpans(inner, 'hatched')), merged(pickSpans(inner, 'solid')))
  return callParts(call, callEnd(call, now), waits)
}

/** The parts of these spans that are in none of the others. Both lists are in order, and no two spans of a list overlap. */
function without(spans: readonly Span[], others: readonly Span[]): Span[] {
  return others.reduce<Span[]>(
    (left, [from, to]) =>
      left.flatMap(([start, end]): Span[] =>
        [[start, Math.min(end, from)] as Span, [Math.max(start, to), end] as Span].filter(
          ([first, last]) => last > first,
        ),
      ),
    [...spans],
  )
}

/** Proposed, waiting for someone outside, running. A call that was never asked about and never ran is a thin line. */
function callParts(call: CallView, to: number, waits: readonly Span[]): BarPart[] {
  const from = call.proposedAt
  const parts: BarPart[] = []
  const { approval, startedAt, outcome, status } = call
  const isOutside = status === 'client' || (startedAt === undefined && outcome?.from.source === 'client')
  const waitsFrom = approval?.at ?? (isOutside ? from : undefined)
  const waitsTo = approval ? (approval.decided?.at ?? startedAt ?? to) : to
  if (waitsFrom !== undefined && waitsTo > waitsFrom) {
    if (waitsFrom > from) parts.push({ from, to: waitsFrom, look: 'thin' })
    parts.push({ from: waitsFrom, to: waitsTo, look: 'hatched' })
  } else if (startedAt !== undefined && startedAt > from) parts.push({ from, to: startedAt, look: 'thin' })
  if (startedAt !== undefined) parts.push(...runParts(call, startedAt, to, waits))
  if (parts.length === 0) parts.push({ from, to, look: 'thin' })
  return parts
}

/** A running call that asks a person waits for the answer. */
function runParts(call: CallView, from: number, to: number, waits: readonly Span[]): BarPart[] {
  const parts: BarPart[] = []
  let at = from
  const asked = (call.questions ?? []).map(({ at: since, closedAt = to }): Span => [since, closedAt])
  for (const [since, until] of merged([...asked, ...waits])) {
    if (since < at) continue
    parts.push({ from: at, to: since, look: 'solid' }, { from: since, to: until, look: 'hatched' })
    at = until
  }
  return [...parts, { from: at, to, look: 'solid' }]
}

// ---- the scale ------------------------------------------------------------------------------------------------

/** From a time to 0…1 of the width and back. */
export type Scale = {
  start: number
  toUnit(at: number): number
  toTime(unit: number): number
  breaks: Break[]
}

type TimelinePiece = { from: number; to: number; start: number; length: number }

function makeScale(bars: readonly Bar[], view: SessionView, now: number): Scale {
  const start = view.turns[0]?.startedAt ?? view.createdAt
  const end = Math.max(start + 1, view.active ? now : start, ...bars.slice(-2000).map(bar => bar.to))
  const busy = merged(
    bars.flatMap(bar =>
      bar.parts.filter(part => part.look === 'solid').map((part): [number, number] => [part.from, part.to]),
    ),
  )
  const gaps = findGaps(busy, start, end)
  const idle = gaps.reduce((sum, [from, to]) => sum + to - from, 0)
  const worked = Math.max(1, end - start - idle)
  // A break is as wide as a fortieth of the time in which something happened.
  const width = Math.max(1, worked / 40)
  const pieces: TimelinePiece[] = []
  let at = start
  let length = 0
  const add = (to: number, size: number): void => {
    pieces.push({ from: at, to, start: length, length: size })
    length += size
    at = to
  }
  for (const [from, to] of gaps) {
    if (from > at) add(from, from - at)
    add(to, width)
  }
  if (end > at) add(end, end - at)
  return {
    start,
    breaks: gaps.map(([from, to]) => ({ at: from, ms: to - from })),
    toUnit: time => toUnit(pieces, length, time),
    toTime: unit => toTime(pieces, unit * length),
  }
}

function merged(spans: Span[]): Span[] {
  spans.sort((a, b) => a[0] - b[0])
  const all: [number, number][] = []
  for (const [from, to] of spans) {
    const last = all.at(-1)
    if (last && from <= last[1]) last[1] = Math.max(last[1], to)
    else all.push([from, to])
  }
  return all
}

function findGaps(busy: readonly [number, number][], start: number, end: number): [number, number][] {
  const gaps: [number, number][] = []
  let at = start
  for (const [from, to] of [...busy, [end, end] as [number, number]]) {
    if (from - at > foldAbove) gaps.push([at, from])
    at = Math.max(at, to)
  }
  return gaps
}

function toUnit(pieces: readonly TimelinePiece[], length: number, time: number): number {
  const piece = find(pieces, each => each.to < time) ?? pieces.at(-1)
  if (!piece || length === 0) return 0
  const part = piece.to === piece.from ? 0 : (time - piece.from) / (piece.to - piece.from)
  return (piece.start + Math.max(0, Math.min(1, part)) * piece.length) / length
}

function toTime(pieces: readonly TimelinePiece[], place: number): number {
  const piece = find(pieces, each => each.start + each.length < place) ?? pieces.at(-1)
  if (!piece) return 0
  const part = piece.length === 0 ? 0 : (place - piece.start) / piece.length
  return piece.from + Math.max(0, Math.min(1, part)) * (piece.to - piece.from)
}

/** The first piece that is not before. */
function find(
  pieces: readonly TimelinePiece[],
  isBefore: (piece: TimelinePiece) => boolean,
): TimelinePiece | undefined {
  let low = 0
  let high = pieces.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(pieces[middle]!)) low = middle + 1
    else high = middle
  }
  return pieces[low]
}

const steps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
]
const hour = 3_600_000

/** A round number of milliseconds that is at least this many. */
export function tickStep(ms: number): number {
  return steps.find(each => each >= ms) ?? Math.ceil(ms / hour) * hour
}

/** In one unit along the whole axis, with as many digits as tell neighbours apart. */
export function tickLabel(ms: number, step: number, length: number): string {
  if (ms === 0) return '0'
  if (ms < 1000 && (length < 1000 || step < 10)) return `${ms} ms`
  const [hours, minutes, seconds] = [ms / hour, (ms % hour) / 60_000, (ms % 60_000) / 1000]
  const digits = step < 10 ? 3 : step < 100 ? 2 : step < 1000 ? 1 : 0
  return [
    hours >= 1 ? `${Math.floor(hours)} h` : '',
    minutes >= 1 ? `${Math.floor(minutes)} min` : '',
    seconds > 0 ? `${seconds.toFixed(digits)} s` : '',
  ]
    .filter(part => part !== '')
    .join(' ')
}
