// The timeline as plain data: bars in lanes, and a scale in which idle time is folded. Pure; timeline.tsx draws it.
import { isFailure, type TurnStop } from '../../../../src/language/events.ts'
import type { CallStatus, CallView, SessionView, StepView } from '../../../../src/react/index.ts'

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
  /** The event that it leads to. */
  seq: number | undefined
  callId?: string
  /** How often it was tried again, or its stream started over. */
  notches: number
  isCritical: boolean
  /** Its share of its turn, 0 to 1. */
  share: number
}
export type Break = { at: number; ms: number }
export type Timeline = { bars: Bar[]; lanes: number; scale: Scale }

/** Idle time above this is folded. */
const foldAbove = 5000
const mostLanes = 60

export function layOut(view: SessionView, now: number): Timeline {
  const bars: Bar[] = []
  const turns = new Map(view.turns.map(turn => [turn.id, (turn.endedAt ?? now) - turn.startedAt]))
  const stops = new Map(view.turns.map(turn => [turn.id, turn.stop]))
  let lanes = 1
  for (const [index, step] of view.steps.entries()) {
    const length = turns.get(step.turn) ?? 0
    bars.push(stepBar(step, index, now, length, stops.get(step.turn)))
    const calls = step.calls.flatMap(id => view.calls.get(id) ?? [])
    const last = Math.max(...calls.map(call => call.settledAt ?? now))
    for (const [place, call] of calls.entries()) {
      const lane = 1 + (place % mostLanes)
      lanes = Math.max(lanes, lane + 1)
      bars.push(callBar(call, lane, now, length, (call.settledAt ?? now) === last))
    }
  }
  for (const call of view.calls.values())
    if (call.status === 'writing') bars.push(callBar(call, 1, now, 0, false))
  bars.sort((a, b) => a.from - b.from || a.lane - b.lane)
  return { bars, lanes, scale: makeScale(bars, view, now) }
}

/** A step that ended without an answer ended as its turn did. */
function stepStatus({ endedAt, seq }: StepView, stop: TurnStop | undefined): CallStatus {
  if (endedAt === undefined) return 'running'
  if (seq !== undefined) return 'ok'
  return isFailure(stop) ? 'error' : 'cancelled'
}

function stepBar(step: StepView, index: number, now: number, turn: number, stop: TurnStop | undefined): Bar {
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
    seq: step.seq,
    notches: step.resets,
    isCritical: true,
    share: turn > 0 ? (to - step.startedAt) / turn : 0,
  }
}

function callBar(call: CallView, lane: number, now: number, turn: number, isCritical: boolean): Bar {
  const from = call.proposedAt
  const to = Math.max(from, call.settledAt ?? now)
  const parts: BarPart[] = []
  const { approval, startedAt } = call
  const waitsFrom = approval?.at ?? (call.status === 'client' || !startedAt ? from : undefined)
  const waitsTo = approval ? (approval.decided?.at ?? startedAt ?? to) : (startedAt ?? to)
  if (waitsFrom !== undefined && waitsTo > waitsFrom) {
    if (waitsFrom > from) parts.push({ from, to: waitsFrom, look: 'thin' })
    parts.push({ from: waitsFrom, to: waitsTo, look: 'hatched' })
  } else if (startedAt !== undefined && startedAt > from) parts.push({ from, to: startedAt, look: 'thin' })
  if (startedAt !== undefined) parts.push({ from: startedAt, to, look: 'solid' })
  if (parts.length === 0) parts.push({ from, to, look: 'thin' })
  return {
    key: `c${call.id}`,
    kind: 'call',
    lane,
    from,
    to,
    parts,
    status: call.status,
    label: call.name,
    seq: call.seq,
    callId: call.id,
    notches: Math.max(0, call.attempts - 1),
    isCritical,
    share: turn > 0 ? (to - from) / turn : 0,
  }
}

// ---- the scale ------------------------------------------------------------------------------------------------

/** From a time to 0…1 of the width and back. */
export type Scale = { toUnit(at: number): number; toTime(unit: number): number; breaks: Break[] }

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
    breaks: gaps.map(([from, to]) => ({ at: from, ms: to - from })),
    toUnit: time => toUnit(pieces, length, time),
    toTime: unit => toTime(pieces, unit * length),
  }
}

function merged(spans: [number, number][]): [number, number][] {
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
